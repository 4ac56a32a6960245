#include "daemon/service/store/artifact_store.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <functional>

#include "compiler/compile.h"
#include "protocol/artifact/artifact_signature.h"
#include "tests/unit/daemon/service/fake_compiler.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ArtifactStoreTest : public testing::Test {
 protected:
  ArtifactStoreTest() {
    setenv(kFolderVariable, folder_.path().c_str(), 1);
    Open(StackConfig{});
  }

  // The store is a folder from now on, empty at first; called again: the daemon starts again.
  void OpenOnDisk() {
    store_.reset();
    stack_.reset();
    StackConfig config;
    config.path = folder_.path() + "/store";
    config.min_free_disk_bytes = 0;
    Open(config);
  }
  void Open(const StackConfig& config) {
    stack_ = CacheStack::Open(config, nullptr).value();
    store_ = std::make_unique<ArtifactStore>(*stack_, *ring_);
  }
  // The daemon's keys change.
  void UseKeys(std::unique_ptr<KeyRing> ring) {
    store_.reset();
    ring_ = std::move(ring);
    store_ = std::make_unique<ArtifactStore>(*stack_, *ring_);
  }
  std::unique_ptr<KeyRing> RingIn(const std::string& name, std::chrono::seconds overlap) {
    KeyRingConfig config;
    config.folder = folder_.path() + "/" + name;
    config.overlap = overlap;
    return KeyRing::Open(std::move(config)).value();
  }
  bool IsSignedBy(const StoredArtifact& artifact, const PublicKey& key) {
    return VerifyArtifact(artifact.artifact, {&key, 1}).ok();
  }

  // What a worker answers.
  wire::WorkerDone DoneOf(const wire::CompileCall& call, ReusedKernels& reused) {
    CompileRequest request{DecodeGraph(call.graph).value(), call.target, call.options,
                           call.compiler_epoch};
    CompileHooks hooks;
    hooks.find_kernels = [&](std::span<const Digest> keys) {
      std::vector<std::optional<KernelRef>> found;
      for (const auto& known :
           store_->FindKernels(call.ns, {{keys.begin(), keys.end()}}, reused).kernels) {
        found.emplace_back();
        if (!known.blob.IsZero()) found.back() = {known.kernel_key, known.blob, known.size_bytes};
      }
      return found;
    };
    CompileOutput output = Compile(request, hooks).value();
    wire::WorkerDone done;
    done.artifact = EncodeArtifact(output.artifact);
    for (CompiledKernel& kernel : output.kernels) done.kernels.push_back({kernel.key, kernel.elf});
    for (std::string& bytes : output.constants) done.constants.push_back({Sha256Of(bytes), bytes});
    done.compile_seconds = 1.5;
    return done;
  }

  CompiledArtifact Make(const wire::CompileCall& call) {
    ReusedKernels reused;
    wire::WorkerDone done = DoneOf(call, reused);
    auto made = store_->Assemble(call, std::move(done), reused);
    STOKER_CHECK(made.ok());
    EXPECT_TRUE(store_->Publish(call, *made).ok());
    return *std::move(made);
  }

  Result<StoredArtifact> Find(const wire::CompileCall& call, std::vector<Digest> held = {}) {
    return store_->Find(call.ns, call.request_key, held);
  }

  std::vector<wire::ListEntry> List(std::string ns = "", std::string kind = "",
                                    std::uint32_t limit = 0) {
    return store_->List({std::move(ns), std::move(kind), limit}).value().entries;
  }

  // Makes `call`'s entry name these bytes as its artifact. Their digest.
  Digest PointTo(const wire::CompileCall& call, const std::string& bytes) {
    ActionEntry entry = stack_->actions().Lookup(call.ns, call.request_key).value();
    entry.artifact = PutBytes(stack_->blobs(), bytes, BlobKind::kArtifact).value();
    STOKER_CHECK(
        stack_->actions().Publish(call.ns, call.request_key, entry, Durability::kSynced).ok());
    return entry.artifact;
  }

  TempFolder folder_;
  std::unique_ptr<KeyRing> ring_ = std::make_unique<KeyRing>(SigningKey::Make().value());
  std::unique_ptr<CacheStack> stack_;
  std::unique_ptr<ArtifactStore> store_;
};

TEST_F(ArtifactStoreTest, Find_Published_GivesItAlsoAfterARestart) {
  OpenOnDisk();
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const CompiledArtifact made = Make(call);
  for (const char* tier : {"memory", "disk"}) {
    const auto found = Find(call);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->artifact, made.artifact.artifact);
    EXPECT_THAT(found->blobs, SizeIs(3));
    for (const auto& [digest, blob] : found->blobs) EXPECT_EQ(Sha256Of(blob.bytes()), digest);
    EXPECT_EQ(found->compile_seconds, 1.5);
    EXPECT_EQ(found->tier, tier);
    OpenOnDisk();
  }
  EXPECT_EQ(store_->FindGraph(call.graph_digest).value(), call.graph);
  EXPECT_TRUE(store_->HasGraph(call.graph_digest));
}

TEST_F(ArtifactStoreTest, Find_IsSignedByThisDaemon) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const PublicKey own = ring_->keys()->Announced().at(0);
  EXPECT_TRUE(IsSignedBy(Make(call).artifact, own));
  EXPECT_TRUE(IsSignedBy(*Find(call), own));
}

// A worker may say what it likes: what it made has the daemon's signatures, and no others.
TEST_F(ArtifactStoreTest, Assemble_SignaturesOfAWorker_AreNotKept) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const SigningKey stranger = SigningKey::Make().value();
  ReusedKernels reused;
  wire::WorkerDone done = DoneOf(call, reused);
  done.artifact = SignArtifact(done.artifact, {&stranger, 1}).value();
  const auto made = store_->Assemble(call, std::move(done), reused);
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(IsSignedBy(made->artifact, stranger.public_key()));
  EXPECT_TRUE(IsSignedBy(made->artifact, ring_->keys()->Announced().at(0)));
}

TEST_F(ArtifactStoreTest, Find_AfterARotation_IsSignedAnew_AndStored) {
  UseKeys(RingIn("keys", std::chrono::seconds(0)));
  const PublicKey before = ring_->keys()->Announced().at(0);
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  Make(call);
  const ActionEntry entry = stack_->actions().Lookup(call.ns, call.request_key).value();
  ASSERT_TRUE(RotateKey(folder_.path() + "/keys").ok());
  UseKeys(RingIn("keys", std::chrono::seconds(0)));
  const PublicKey after = ring_->keys()->Announced().at(0);
  const auto found = Find(call);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE(IsSignedBy(*found, after));
  EXPECT_FALSE(IsSignedBy(*found, before));
  EXPECT_THAT(found->blobs, SizeIs(3));
  // Once: the entry names what was signed anew, and is the same otherwise.
  ActionEntry renewed = stack_->actions().Lookup(call.ns, call.request_key).value();
  EXPECT_EQ(stack_->blobs().Get(renewed.artifact)->bytes(), found->artifact);
  renewed.artifact = entry.artifact;
  EXPECT_EQ(renewed, entry);
  EXPECT_EQ(Find(call)->artifact, found->artifact);
}

TEST_F(ArtifactStoreTest, Find_SignedByAnotherDaemon_IsAMiss_AndMadeAgain) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const StoredArtifact theirs = Make(call).artifact;
  UseKeys(std::make_unique<KeyRing>(SigningKey::Make().value()));
  const auto found = Find(call);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(found.error().message, HasSubstr("signed by no key of this daemon"));
  EXPECT_EQ(Find(call).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(stack_->Snapshot().quarantined_count, 0U);  // It is no damage.
  Make(call);
  EXPECT_NE(Find(call)->artifact, theirs.artifact);
}

TEST_F(ArtifactStoreTest, Find_Unsigned_IsAMiss) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  ReusedKernels reused;
  const std::string unsigned_one = DoneOf(call, reused).artifact;
  Make(call);
  PointTo(call, unsigned_one);
  EXPECT_EQ(Find(call).error().code, ErrorCode::kFailedPrecondition);
}

TEST_F(ArtifactStoreTest, Find_WhatTheClientHolds_IsLeftOut) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const CompiledArtifact made = Make(call);
  const Digest held = made.manifest.kernels[0].blob;
  const auto found = Find(call, {held});
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(found->blobs, SizeIs(2));
  EXPECT_FALSE(found->blobs.contains(held));
}

TEST_F(ArtifactStoreTest, Find_KeyOfSomethingElse_IsAMiss_AndItStays) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  ActionEntry captures;
  captures.kind = BlobKind::kCapture;
  captures.artifact = *PutBytes(stack_->blobs(), "captures", BlobKind::kCapture);
  ASSERT_TRUE(
      stack_->actions().Publish(call.ns, call.request_key, captures, Durability::kSynced).ok());
  EXPECT_EQ(Find(call).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(stack_->blobs().Get(captures.artifact)->bytes(), "captures");
  EXPECT_EQ(stack_->actions().Lookup(call.ns, call.request_key)->kind, BlobKind::kCapture);
  Make(call);  // What the daemon compiled takes the place.
  EXPECT_TRUE(Find(call).ok());
}

TEST_F(ArtifactStoreTest, Find_OtherKeyOrNamespace_IsAMiss) {
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  Make(call);
  EXPECT_EQ(Find(FakeCall(Behaviour::kGood, 1)).error().code, ErrorCode::kNotFound);
  call.ns = "other";
  EXPECT_EQ(Find(call).error().code, ErrorCode::kNotFound);
}

struct Damage {
  std::string name;
  std::function<std::string(std::string artifact, std::string other)> apply;
  std::string said;
};

class ArtifactStoreDamage : public ArtifactStoreTest, public testing::WithParamInterface<Damage> {};

// Bytes that are what their digest says, and yet not this request's artifact.
TEST_P(ArtifactStoreDamage, Find_IsRefusedAndQuarantined_AndMadeAgain) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const std::string good = Make(call).artifact.artifact;
  const std::string other = Make(FakeCall(Behaviour::kGood, 1)).artifact.artifact;
  const Digest named = PointTo(call, GetParam().apply(good, other));
  const auto found = Find(call);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(found.error().message, HasSubstr(GetParam().said));
  EXPECT_FALSE(stack_->blobs().Contains(named).value());
  EXPECT_EQ(Find(call).error().code, ErrorCode::kNotFound);
  Make(call);
  EXPECT_TRUE(Find(call).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Table, ArtifactStoreDamage,
    testing::Values(Damage{"Empty", [](auto, auto) { return ""; }, "is refused"},
                    Damage{"Truncated", [](auto a, auto) { return a.substr(0, a.size() - 1); },
                           "is refused"},
                    Damage{"Flipped",
                           [](auto a, auto) {
                             a[a.size() / 2] ^= 1;
                             return a;
                           },
                           "is refused"},
                    Damage{"Longer", [](auto a, auto) { return a + "x"; }, "is refused"},
                    Damage{"FlippedSignature",
                           [](auto a, auto) {
                             a[a.size() - 8] ^= 1;
                             return a;
                           },
                           "does not fit"},
                    Damage{"SignatureOfAnother",
                           [](auto a, auto other) {
                             constexpr std::size_t kSignature = Signature::kSize + 4;
                             return a.substr(0, a.size() - kSignature) +
                                    other.substr(other.size() - kSignature);
                           },
                           "does not fit"},
                    Damage{"NoArtifact",
                           [](auto, auto) {
                             return "\x7f"
                                    "ELF";
                           },
                           "is refused"},
                    Damage{"OfAnotherRequest", [](auto, auto other) { return other; },
                           "it belongs to request"}),
    [](const auto& row) { return row.param.name; });

TEST_F(ArtifactStoreTest, Find_Refused_IsCountedByTheStore) {
  OpenOnDisk();
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  Make(call);
  PointTo(call, "no artifact");
  EXPECT_FALSE(Find(call).ok());
  EXPECT_EQ(stack_->Snapshot().quarantined_count, 1U);
}

TEST_F(ArtifactStoreTest, Find_BlobIsGone_SaysWhich_AndTheEntryGoes) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const CompiledArtifact made = Make(call);
  for (const Digest& gone : {made.manifest.kernels[1].blob, made.manifest.constants[0].blob}) {
    ASSERT_TRUE(stack_->blobs().Quarantine(gone, "test").ok());
    const auto found = Find(call);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kDataLoss);
    EXPECT_THAT(found.error().message, HasSubstr(gone.ToHex()));
    EXPECT_EQ(Find(call).error().code, ErrorCode::kNotFound);
    Make(call);
    EXPECT_TRUE(Find(call).ok());
  }
}

TEST_F(ArtifactStoreTest, FindKernels_SharedOneIsReused_DamagedOneIsNot) {
  const CompiledArtifact first = Make(FakeCall(Behaviour::kGood, 0));
  EXPECT_THAT(first.compiled_keys, SizeIs(2));
  const CompiledArtifact second = Make(FakeCall(Behaviour::kGood, 1));
  EXPECT_THAT(second.compiled_keys, ElementsAre(second.manifest.kernels[1].key));
  EXPECT_EQ(second.manifest.kernels[0].blob, first.manifest.kernels[0].blob);
  // The artifact has the reused kernel with it.
  EXPECT_TRUE(second.artifact.blobs.contains(first.manifest.kernels[0].blob));

  ASSERT_TRUE(stack_->blobs().Quarantine(first.manifest.kernels[0].blob, "test").ok());
  EXPECT_THAT(Make(FakeCall(Behaviour::kGood, 2)).compiled_keys, SizeIs(2));
}

TEST_F(ArtifactStoreTest, FindKernels_OfAnotherNamespace_AreNotReused) {
  Make(FakeCall(Behaviour::kGood, 0));
  wire::CompileCall elsewhere = FakeCall(Behaviour::kGood, 1);
  elsewhere.ns = "elsewhere";
  EXPECT_THAT(Make(elsewhere).compiled_keys, SizeIs(2));
}

TEST_F(ArtifactStoreTest, Assemble_WhatIsNotWholeOrNotAskedFor_IsOurError) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  ReusedKernels none;
  const wire::WorkerDone good = DoneOf(call, none);
  const auto refused = [&](wire::WorkerDone done) {
    const auto made = store_->Assemble(call, std::move(done), none);
    EXPECT_FALSE(made.ok());
    if (made.ok()) return std::string();
    EXPECT_EQ(made.error().code, ErrorCode::kInternal);
    return made.error().message;
  };
  wire::WorkerDone done = good;
  done.artifact.pop_back();
  EXPECT_THAT(refused(done), HasSubstr("does not decode"));
  done = good;
  done.kernels.pop_back();
  EXPECT_THAT(refused(done), HasSubstr("did not deliver"));
  done = good;
  done.constants[0].data += "x";
  EXPECT_THAT(refused(done), HasSubstr("does not name"));
  done = good;
  done.constants.push_back({Sha256Of("y"), "y"});
  EXPECT_THAT(refused(done), HasSubstr("does not name"));
  done = good;
  done.constants.clear();
  EXPECT_THAT(refused(done), HasSubstr("did not deliver"));
  done = good;
  std::swap(done.kernels[0].kernel_key, done.kernels[1].kernel_key);
  EXPECT_THAT(refused(done), HasSubstr("does not say"));
  done = DoneOf(FakeCall(Behaviour::kGood, 1), none);
  EXPECT_THAT(refused(done), HasSubstr("made an artifact of request"));
  wire::CompileCall other = call;
  other.target = Target::Parse("cpu/x86-64-v3").value();
  const auto made = store_->Assemble(other, good, none);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("cpu/x86-64-v4"));
}

wire::LookupRequest LookupOf(const wire::CompileCall& call) {
  wire::LookupRequest lookup;
  lookup.ns = call.ns;
  lookup.request_key = call.request_key;
  lookup.graph_digest = call.graph_digest;
  lookup.fields = FieldsOf(call.graph_digest, call.target, call.options, call.compiler_epoch);
  return lookup;
}

wire::CompileCall WithKey(wire::CompileCall call) {
  call.request_key =
      KeyOf(call.graph_digest, call.target, call.options, call.compiler_epoch).digest;
  return call;
}

TEST_F(ArtifactStoreTest, ExplainMiss_NamesTheFieldOfTheNearestRequest) {
  const wire::CompileCall base = FakeCall(Behaviour::kGood);
  EXPECT_EQ(store_->ExplainMiss(LookupOf(base)).name, "namespace is empty");
  Make(base);

  wire::CompileCall other_target = base;
  other_target.target = Target::Parse("cpu/x86-64-v3").value();
  const MissReason target = store_->ExplainMiss(LookupOf(WithKey(other_target)));
  EXPECT_EQ(target.name, "target.arch is new");
  EXPECT_THAT(target.text, HasSubstr("x86-64-v4"));
  EXPECT_THAT(target.text, HasSubstr("x86-64-v3"));

  // Two fields away from the first request, one from the second.
  Make(WithKey(other_target));
  wire::CompileCall other_numerics = other_target;
  other_numerics.options.numerics = Numerics::kMedium;
  EXPECT_EQ(store_->ExplainMiss(LookupOf(WithKey(other_numerics))).name, "options.numerics is new");
  EXPECT_EQ(store_->ExplainMiss(LookupOf(FakeCall(Behaviour::kGood, 1))).name, "graph is new");

  wire::LookupRequest blank = LookupOf(other_numerics);
  blank.fields.clear();
  EXPECT_EQ(store_->ExplainMiss(blank).name, "no entry");
}

TEST_F(ArtifactStoreTest, ExplainMiss_ForeignTags_DoNotBecomeCounterNames) {
  Make(FakeCall(Behaviour::kGood));
  wire::LookupRequest lookup = LookupOf(FakeCall(Behaviour::kGood));
  lookup.fields = {{"evil", "x", Sha256Of("x")}};
  EXPECT_EQ(store_->ExplainMiss(lookup).name, "a field is new");
}

TEST_F(ArtifactStoreTest, List_ShowsArtifacts_ByNamespaceKindAndLimit) {
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  const CompiledArtifact made = Make(call);
  Make(FakeCall(Behaviour::kGood, 1));
  wire::CompileCall elsewhere = FakeCall(Behaviour::kGood, 2);
  elsewhere.ns = "elsewhere";
  Make(elsewhere);

  EXPECT_THAT(List(), SizeIs(3));
  EXPECT_THAT(List("", "", 2), SizeIs(2));
  EXPECT_THAT(List("", "capture"), IsEmpty());
  EXPECT_THAT(List("", "kernel"), SizeIs(5));  // One of both namespaces.
  EXPECT_THAT(List("nowhere"), IsEmpty());
  const auto listed = List("elsewhere");
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].key, elsewhere.request_key);
  EXPECT_EQ(listed[0].ns, "elsewhere");
  EXPECT_EQ(listed[0].kind, "artifact");
  EXPECT_EQ(listed[0].label, "fake 2");
  EXPECT_EQ(listed[0].target, "cpu/x86-64-v4");
  EXPECT_EQ(listed[0].compile_seconds, 1.5);
  EXPECT_GE(listed[0].last_used_unix_s, listed[0].created_unix_s - 1);
  EXPECT_GT(listed[0].created_unix_s, 1.7e9);
  EXPECT_GT(listed[0].size_bytes, made.artifact.artifact.size());
}

TEST_F(ArtifactStoreTest, List_LookingUp_MovesLastUsed) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  Make(call);
  const double before = List().at(0).last_used_unix_s;
  ASSERT_TRUE(Find(call).ok());
  EXPECT_GT(List().at(0).last_used_unix_s, before);
}

TEST_F(ArtifactStoreTest, FindRequest_ByPrefix_OneNoneOrSeveral) {
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  Make(call);
  const std::string hex = call.request_key.ToHex();
  const auto found = store_->FindRequest("", hex.substr(0, 12));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->request_key, call.request_key);
  EXPECT_EQ(found->graph_digest, call.graph_digest);
  EXPECT_EQ(found->graph_name, "fake 0");
  EXPECT_EQ(found->graph, "");
  EXPECT_EQ(store_->FindRequest("elsewhere", hex).error().code, ErrorCode::kNotFound);
  // A key of two namespaces is one key.
  wire::CompileCall elsewhere = call;
  elsewhere.ns = "elsewhere";
  Make(elsewhere);
  EXPECT_TRUE(store_->FindRequest("", hex).ok());
  Make(FakeCall(Behaviour::kGood, 1));
  const auto several = store_->FindRequest("", "");
  EXPECT_EQ(several.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(several.error().message, HasSubstr(hex));
}

TEST_F(ArtifactStoreTest, Explain_ListsTheFieldsInWhichTwoRequestsDiffer) {
  const wire::CompileCall a = FakeCall(Behaviour::kGood);
  wire::CompileCall b = FakeCall(Behaviour::kGood, 1);
  b.options.numerics = Numerics::kMedium;
  b = WithKey(b);
  Make(a);
  Make(b);
  const auto reply = store_->Explain({"", a.request_key.ToHex(), b.request_key.ToHex()});
  ASSERT_TRUE(reply.ok());
  ASSERT_THAT(reply->differences, SizeIs(2));
  EXPECT_EQ(reply->differences[0].tag, "options.numerics");
  EXPECT_EQ(reply->differences[0].a, "highest");
  EXPECT_EQ(reply->differences[0].b, "medium");
  EXPECT_EQ(reply->differences[1].tag, "graph");
  const auto same = store_->Explain({"", a.request_key.ToHex(), a.request_key.ToHex()});
  EXPECT_THAT(same.value().differences, IsEmpty());
}

}  // namespace
}  // namespace stoker
