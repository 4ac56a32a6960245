#include "daemon/service/store/capture_store.h"

#include <gmock/gmock.h>

#include "cache/memory/memory_action_index.h"
#include "cache/memory/memory_blob_store.h"
#include "cache/policy/complete_action_index.h"
#include "protocol/artifact/capture_envelope.h"
#include "protocol/wire/limits.h"
#include "tests/unit/daemon/service/forwarding_stack.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SigningKey KeyOf(char seed) {
  return SigningKey::FromSeed(std::string(SigningKey::kSeedSize, seed)).value();
}

const SigningKey kWriter = KeyOf('w');
const SigningKey kOther = KeyOf('o');

// As a client asks that is `asker`, for what it or `writers` may have written.
wire::CaptureDrop DropOf(const std::string& ns, const Digest& key, const Digest& capture,
                         const SigningKey& asker = kWriter,
                         const std::vector<SigningKey>& writers = {}) {
  wire::CaptureDrop drop{ns, key, capture, {asker.public_key()}, {}};
  for (const SigningKey& writer : writers) drop.writers.push_back(writer.public_key());
  drop.signature = asker.Sign(CaptureDropText(ns, key, capture));
  return drop;
}

class CaptureStoreTest : public testing::Test {
 protected:
  static wire::CaptureQuery Key(const std::string& entry, const std::string& torch = "2") {
    wire::CaptureQuery query;
    query.capture_key = Sha256Of(entry + "/" + torch);
    query.fields = {{"entry", entry, Sha256Of(entry)}, {"torch", torch, Sha256Of(torch)}};
    query.writers = {kWriter.public_key()};
    return query;
  }
  static wire::CaptureQuery Wanting(wire::CaptureQuery query,
                                    const std::vector<SigningKey>& writers) {
    query.writers.clear();
    for (const SigningKey& writer : writers) query.writers.push_back(writer.public_key());
    return query;
  }
  Status Put(const wire::CaptureQuery& key, const std::string& content,
             const SigningKey& writer = kWriter) {
    return store_.Put({key, "label of " + content, SealCapture(key.capture_key, content, writer)});
  }
  Status Drop(const wire::CaptureQuery& key, const std::string& content) {
    return store_.Drop(DropOf(key.ns, key.capture_key, DigestOf(key, content)));
  }
  // The contents under a key, as found.
  std::vector<std::string> Contents(const wire::CaptureQuery& key) {
    std::vector<std::string> contents;
    const auto found = store_.Find(key);
    if (!found.ok()) return contents;
    for (const wire::Blob& capture : found->captures) {
      EXPECT_EQ(Sha256Of(capture.data), capture.digest);
      contents.emplace_back(OpenCapture(capture.data)->content);
    }
    return contents;
  }
  static Digest DigestOf(const wire::CaptureQuery& key, const std::string& content,
                         const SigningKey& writer = kWriter) {
    return Sha256Of(SealCapture(key.capture_key, content, writer));
  }

  std::unique_ptr<CacheStack> stack_ = CacheStack::Open(StackConfig{}, nullptr).value();
  CaptureStore store_{*stack_};
};

TEST_F(CaptureStoreTest, Find_Nothing_NotFound) {
  EXPECT_EQ(store_.Find(Key("f")).error().code, ErrorCode::kNotFound);
}

TEST_F(CaptureStoreTest, Put_Several_MostRecentFirst) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(Put(Key("f"), "two").ok());
  ASSERT_TRUE(Put(Key("g"), "other").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("two", "one"));
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("one", "two"));
}

TEST_F(CaptureStoreTest, Put_BeyondLimit_OldestGoes) {
  for (std::size_t i = 0; i <= wire::kMaxCapturesPerKey; ++i) {
    ASSERT_TRUE(Put(Key("f"), std::to_string(i)).ok());
  }
  const auto contents = Contents(Key("f"));
  ASSERT_EQ(contents.size(), wire::kMaxCapturesPerKey);
  EXPECT_EQ(contents.front(), std::to_string(wire::kMaxCapturesPerKey));
  EXPECT_EQ(contents.back(), "1");
}

TEST_F(CaptureStoreTest, Put_NoEnvelope_Refused) {
  const Status status = store_.Put({Key("f"), "", "no envelope"});
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("'capture.capture'"));
  EXPECT_THAT(Contents(Key("f")), IsEmpty());
}

TEST_F(CaptureStoreTest, Drop_OneOfTwo_TheOtherStays) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(Put(Key("f"), "two").ok());
  ASSERT_TRUE(Drop(Key("f"), "two").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("one"));
}

TEST_F(CaptureStoreTest, Put_ForAnotherKey_OrUnderAnothersName_IsRefused) {
  const std::string moved = SealCapture(Key("g").capture_key, "one", kWriter);
  Status status = store_.Put({Key("f"), "", moved});
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("'capture.capture' is not signed by its writer"));
  std::string forged = SealCapture(Key("f").capture_key, "one", kOther);
  forged.replace(kCaptureMagic.size() + Digest::kSize, PublicKey::kSize,
                 kWriter.public_key().AsBytes());
  status = store_.Put({Key("f"), "", forged});
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr(kWriter.public_key().ToString()));
  EXPECT_THAT(Contents(Key("f")), IsEmpty());
}

TEST_F(CaptureStoreTest, Find_GivesTheWritersThatAreAskedFor_InTheirOrder) {
  ASSERT_TRUE(Put(Key("f"), "own").ok());
  ASSERT_TRUE(Put(Key("f"), "theirs", kOther).ok());
  ASSERT_TRUE(Put(Key("f"), "own later").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("own later", "own"));
  EXPECT_THAT(Contents(Wanting(Key("f"), {kOther})), ElementsAre("theirs"));
  EXPECT_THAT(Contents(Wanting(Key("f"), {kOther, kWriter})),
              ElementsAre("theirs", "own later", "own"));
  EXPECT_THAT(Contents(Wanting(Key("f"), {KeyOf('n')})), IsEmpty());
  EXPECT_THAT(Contents(Wanting(Key("f"), {})), IsEmpty());
}

// However many captures and writers a stranger makes up.
TEST_F(CaptureStoreTest, Put_ByOthers_PushesNothingOut) {
  ASSERT_TRUE(Put(Key("f"), "own").ok());
  for (std::size_t i = 0; i <= wire::kMaxCapturesPerKey; ++i) {
    ASSERT_TRUE(Put(Key("f"), std::to_string(i), kOther).ok());
  }
  for (std::size_t i = 0; i <= 2 * CaptureStore::kMaxNamedWriters; ++i) {
    ASSERT_TRUE(Put(Key("f"), "x", SigningKey::Make().value()).ok());
  }
  EXPECT_THAT(Contents(Key("f")), ElementsAre("own"));
  EXPECT_THAT(Contents(Wanting(Key("f"), {kOther})), testing::SizeIs(wire::kMaxCapturesPerKey));
}

TEST_F(CaptureStoreTest, Find_OfManyWriters_IsBounded_OwnOnesFirst) {
  for (std::size_t i = 0; i < wire::kMaxCapturesPerKey; ++i) {
    ASSERT_TRUE(Put(Key("f"), "own " + std::to_string(i)).ok());
    ASSERT_TRUE(Put(Key("f"), "theirs " + std::to_string(i), kOther).ok());
  }
  const auto contents = Contents(Wanting(Key("f"), {kWriter, kOther}));
  ASSERT_EQ(contents.size(), wire::kMaxCapturesPerKey);
  EXPECT_EQ(contents.back(), "own 0");
}

TEST_F(CaptureStoreTest, Drop_WhatAnotherWrote_IsRefused_AndStays) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  const Digest key = Key("f").capture_key;
  const Digest capture = DigestOf(Key("f"), "one");
  // Who trusts the writer is not the writer; nor is who says so without a signature, or with one of
  // something else.
  wire::CaptureDrop unsigned_one = DropOf("default", key, capture);
  unsigned_one.signature = {};
  for (const wire::CaptureDrop& drop :
       {DropOf("default", key, capture, kOther, {kWriter}), unsigned_one, [&] {
          wire::CaptureDrop other = DropOf("default", key, capture);
          other.signature = DropOf("team", key, capture).signature;
          return other;
        }()}) {
    const Status status = store_.Drop(drop);
    EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
    EXPECT_THAT(status.error().message, HasSubstr(kWriter.public_key().ToString()));
  }
  EXPECT_EQ(store_.Drop(DropOf("default", key, capture, kOther)).error().code,
            ErrorCode::kNotFound);
  EXPECT_THAT(Contents(Key("f")), ElementsAre("one"));
}

TEST_F(CaptureStoreTest, Drop_WholeBytesUnderTwoNamespaces_TheOtherKeepsThem) {
  wire::CaptureQuery other = Key("f");
  other.ns = "team";
  ASSERT_TRUE(Put(Key("f"), "equal").ok());
  ASSERT_TRUE(Put(other, "equal").ok());
  ASSERT_TRUE(Drop(Key("f"), "equal").ok());
  EXPECT_THAT(Contents(Key("f")), IsEmpty());
  EXPECT_THAT(Contents(other), ElementsAre("equal"));
}

TEST_F(CaptureStoreTest, Put_WhatWasDropped_IsFoundAgain) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(Drop(Key("f"), "one").ok());
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("one"));
}

TEST_F(CaptureStoreTest, Drop_Last_KeyIsGone) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(Drop(Key("f"), "one").ok());
  EXPECT_EQ(store_.Find(Key("f")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Drop(Key("f"), "one").error().code, ErrorCode::kNotFound);
}

TEST_F(CaptureStoreTest, Find_KeyOfAnArtifact_NotFound) {
  const NamedBlob blob = NamedBlob::Of(Blob("artifact", BlobKind::kArtifact));
  ASSERT_TRUE(stack_->blobs().Put(blob).ok());
  ActionEntry entry;
  entry.artifact = blob.digest();
  ASSERT_TRUE(
      stack_->actions().Publish("default", Key("f").capture_key, entry, Durability::kSynced).ok());
  EXPECT_EQ(store_.Find(Key("f")).error().code, ErrorCode::kNotFound);
}

TEST_F(CaptureStoreTest, Put_KeyOfAnArtifact_IsRefused_AndTheEntryStays) {
  ActionEntry artifact;
  artifact.artifact = *PutBytes(stack_->blobs(), "artifact", BlobKind::kArtifact);
  ASSERT_TRUE(stack_->actions()
                  .Publish("default", Key("f").capture_key, artifact, Durability::kSynced)
                  .ok());
  const Status status = Put(Key("f"), "one");
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status.error().message, HasSubstr("kind 'artifact'"));
  EXPECT_EQ(stack_->actions().Lookup("default", Key("f").capture_key)->artifact, artifact.artifact);
}

TEST_F(CaptureStoreTest, ExplainMiss_NamesNearestKeyAndFirstDifference) {
  EXPECT_THAT(store_.ExplainMiss(Key("f")).reason, HasSubstr("no capture is stored"));
  ASSERT_TRUE(Put(Key("g", "1"), "far").ok());
  ASSERT_TRUE(Put(Key("f", "1"), "near").ok());
  const wire::Miss miss = store_.ExplainMiss(Key("f", "2"));
  EXPECT_THAT(miss.reason, HasSubstr("torch is new"));
  EXPECT_THAT(miss.reason, HasSubstr("has 1, this one 2"));
  EXPECT_THAT(miss.reason, HasSubstr(Key("f", "1").capture_key.ToHex().substr(0, 16)));
  EXPECT_EQ(miss.untrusted_writers, 0U);
}

TEST_F(CaptureStoreTest, ExplainMiss_OnlyOthersWroteThere_NamesThem) {
  ASSERT_TRUE(Put(Key("f"), "theirs", kOther).ok());
  ASSERT_TRUE(Put(Key("f"), "theirs, too", KeyOf('t')).ok());
  const wire::Miss miss = store_.ExplainMiss(Key("f"));
  EXPECT_EQ(miss.untrusted_writers, 2U);
  EXPECT_THAT(miss.reason, HasSubstr(kOther.public_key().ToString()));
  EXPECT_THAT(miss.reason, HasSubstr("STOKER_TRUSTED_WRITERS"));
  EXPECT_EQ(store_.ExplainMiss(Wanting(Key("f"), {kOther, KeyOf('t')})).untrusted_writers, 0U);
}

// What an earlier version stored: a list of captures under the capture key itself.
TEST_F(CaptureStoreTest, Unsigned_IsAMissThatSaysSo_AndIsReplaced) {
  const std::string unsigned_one = "stokcap1" + std::string(Sha256Of("{}").AsBytes()) + "{}";
  const Digest capture = *PutBytes(stack_->blobs(), unsigned_one, BlobKind::kCapture);
  ActionEntry entry;
  entry.kind = BlobKind::kCapture;
  entry.artifact =
      *PutBytes(stack_->blobs(), "stokcaps" + std::string(capture.AsBytes()), BlobKind::kCapture);
  entry.references = {capture};
  ASSERT_TRUE(
      stack_->actions().Publish("default", Key("f").capture_key, entry, Durability::kSynced).ok());
  EXPECT_EQ(store_.Find(Key("f")).error().code, ErrorCode::kNotFound);
  const wire::Miss miss = store_.ExplainMiss(Key("f"));
  EXPECT_EQ(miss.untrusted_writers, 1U);
  EXPECT_THAT(miss.reason, HasSubstr("not signed"));
  EXPECT_EQ(store_.Put({Key("f"), "", unsigned_one}).error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(Put(Key("f"), "signed").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("signed"));
  EXPECT_EQ(store_.ExplainMiss(Key("f")).untrusted_writers, 0U);
}

TEST_F(CaptureStoreTest, List_ShowsCapturesByKind) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  const KeyRing ring(SigningKey::Make().value());
  ArtifactStore artifacts(*stack_, ring);
  const auto listed = artifacts.List({"", "capture", 0}).value().entries;
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].key, Key("f").capture_key);
  EXPECT_EQ(listed[0].label, "label of one");
  EXPECT_EQ(listed[0].size_bytes, SealCapture(Key("f").capture_key, "one", kWriter).size());
  EXPECT_EQ(listed[0].writer, kWriter.public_key().ToString());
}

// Gives other bytes than were put for one blob, or an error.
class RottingBlobs : public MemoryBlobStore {
 public:
  RottingBlobs() : MemoryBlobStore(Watermarks::Of(std::uint64_t{1} << 20)) {}

  Result<Blob> Get(const Digest& digest) override {
    STOKER_TRY(Blob blob, MemoryBlobStore::Get(digest));
    if (digest != rotten) return blob;
    if (failure) return *failure;
    std::string bytes(blob.bytes());
    bytes.back() ^= 1;
    return Blob(std::move(bytes), blob.kind());
  }

  Digest rotten;
  std::optional<Error> failure;
};

class RottingStack : public ForwardingStack {
 public:
  RottingBlobs& blobs() override { return blobs_; }
  ActionIndex& actions() override { return actions_; }

 private:
  RottingBlobs blobs_;
  CompleteActionIndex actions_{std::make_unique<MemoryActionIndex>(), blobs_};
};

class DamagedCaptureTest : public testing::Test {
 protected:
  wire::CaptureQuery Query() const { return {"default", key_, {}, {kWriter.public_key()}}; }
  Status Put() { return store_.Put({Query(), "", capture_}); }
  // By somebody who trusts the writer.
  Status Drop(const SigningKey& asker = kOther) {
    return store_.Drop(DropOf("default", key_, digest_, asker, {kWriter}));
  }
  ErrorCode CodeOfFind() {
    const auto found = store_.Find(Query());
    return found.ok() ? ErrorCode::kInternal : found.error().code;
  }

  const Digest key_ = Sha256Of("one key");
  const std::string capture_ = SealCapture(key_, "content", kWriter);
  const Digest digest_ = Sha256Of(capture_);
  RottingStack stack_;
  CaptureStore store_{stack_};
};

TEST_F(DamagedCaptureTest, Drop_DamagedBytes_ByAnybody_AreQuarantined) {
  ASSERT_TRUE(Put().ok());
  EXPECT_EQ(Drop().error().code, ErrorCode::kFailedPrecondition);  // They are whole.
  stack_.blobs().rotten = digest_;
  EXPECT_TRUE(Drop().ok());
  EXPECT_FALSE(*stack_.blobs().Contains(digest_));
  EXPECT_EQ(CodeOfFind(), ErrorCode::kNotFound);
  stack_.blobs().rotten = Digest();
  EXPECT_TRUE(Put().ok());
  EXPECT_EQ(store_.Find(Query())->captures.at(0).data, capture_);
}

TEST_F(DamagedCaptureTest, Drop_StoreSawTheDamageItself_Ok) {
  ASSERT_TRUE(Put().ok());
  stack_.blobs().rotten = digest_;
  stack_.blobs().failure = NotFound("damaged");
  EXPECT_TRUE(Drop().ok());
  EXPECT_EQ(CodeOfFind(), ErrorCode::kNotFound);
}

TEST_F(DamagedCaptureTest, Drop_BytesCannotBeReadNow_TheWriterTakesThemFromTheKeyAllTheSame) {
  ASSERT_TRUE(Put().ok());
  stack_.blobs().rotten = digest_;
  stack_.blobs().failure = Unavailable("away");
  EXPECT_EQ(Drop().error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Drop(kWriter).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(*stack_.blobs().Contains(digest_));
  EXPECT_EQ(CodeOfFind(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace stoker
