// Artifacts that go from one daemon to another.
#include "daemon/admin/api/entries_api.h"

#include <gmock/gmock.h>

#include "daemon/service/compile_service.h"
#include "protocol/artifact/trailer.h"
#include "tests/unit/daemon/admin/test_daemon.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// What one daemon compiled, as it is stored there.
class EntriesApiTest : public testing::Test {
 protected:
  EntriesApiTest() {
    EXPECT_EQ(from_.Compile(call_).status, 200);
    const HttpAnswer answer = from_.Call("POST", "/v1/entries/get",
                                         wire::EncodeEntryQuery({"default", call_.request_key}));
    EXPECT_EQ(answer.status, 200);
    entry_ = wire::DecodeStoredEntry(answer.body).value();
  }

  static HttpAnswer Put(TestDaemon& daemon, const wire::StoredEntry& entry) {
    return daemon.Call("POST", "/v1/entries/put", wire::EncodeStoredEntry(entry));
  }
  void Carry(const Digest& digest) {
    const std::string path = "/cas/" + digest.ToHex();
    const HttpAnswer blob = from_.Call("GET", path);
    ASSERT_EQ(blob.status, 200);
    ASSERT_EQ(to_.Call("PUT", path, blob.body).status, 200);
  }
  void CarryAll() {
    for (int round = 0; round < 2; ++round) {
      const auto reply = wire::DecodeEntryReply(Put(to_, entry_).body);
      ASSERT_TRUE(reply.ok());
      for (const Digest& digest : reply->missing) Carry(digest);
    }
  }
  // What is signed, and what signs it, of the artifact that a lookup finds.
  static std::string SignedBytes(const std::string& artifact) {
    return std::string(TrailerOf(artifact)->signed_bytes);
  }
  static std::vector<PublicKey> Signers(const std::string& artifact) {
    std::vector<PublicKey> signers;
    const Trailer trailer = TrailerOf(artifact).value();
    for (const ArtifactSignature& each : trailer.signatures) signers.push_back(each.signer);
    return signers;
  }
  static std::string Lookup(TestDaemon& daemon, const Digest& key) {
    wire::LookupRequest lookup;
    lookup.request_key = key;
    const HttpAnswer answer = daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
    return answer.status == 200 ? wire::DecodeBundle(answer.body)->artifact : std::string();
  }

  const wire::CompileCall call_ = FakeCall(Behaviour::kGood);
  TestDaemon from_;
  TestDaemon to_{TestDaemon::Config(), {}, {.own_uid = geteuid()}, from_.service().signing_keys()};
  wire::StoredEntry entry_;
};

TEST_F(EntriesApiTest, Put_NamesWhatIsMissing_ThenIsServed) {
  // The artifact alone says what else it needs.
  auto reply = wire::DecodeEntryReply(Put(to_, entry_).body).value();
  EXPECT_THAT(reply.missing, SizeIs(2));
  EXPECT_EQ(Lookup(to_, call_.request_key), "");
  CarryAll();
  EXPECT_EQ(Lookup(to_, call_.request_key), "");
  const HttpAnswer stored = Put(to_, entry_);
  EXPECT_EQ(stored.status, 200);
  EXPECT_THAT(wire::DecodeEntryReply(stored.body)->missing, IsEmpty());
  const std::string carried = Lookup(to_, call_.request_key);
  const std::string original = Lookup(from_, call_.request_key);
  EXPECT_EQ(SignedBytes(carried), SignedBytes(original));
  EXPECT_EQ(Signers(original), from_.service().signing_keys());
  EXPECT_EQ(Signers(carried), to_.service().signing_keys());
  EXPECT_EQ(to_.statistics().Total("compiles"), 0);
  EXPECT_EQ(Put(to_, entry_).status, 200);

  // Its kernels serve others.
  ASSERT_EQ(to_.Compile(FakeCall(Behaviour::kGood, 1)).status, 200);
  EXPECT_EQ(to_.statistics().Total("kernels.reused"), 1);
}

TEST_F(EntriesApiTest, Put_OfADaemonThatIsNotTrusted_IsRefused) {
  CarryAll();
  TestDaemon stranger;
  // Its key signs here, and is no key of whom the other one trusts.
  EXPECT_NE(stranger.service().signing_keys(), from_.service().signing_keys());
  ASSERT_EQ(stranger.Compile(call_).status, 200);
  const auto get = wire::EncodeEntryQuery({"default", call_.request_key});
  const auto entry =
      wire::DecodeStoredEntry(stranger.Call("POST", "/v1/entries/get", get).body).value();
  std::vector<Digest> blobs = entry.references;
  blobs.push_back(entry.artifact);
  for (const Digest& digest : blobs) {
    const std::string path = "/cas/" + digest.ToHex();
    ASSERT_EQ(to_.Call("PUT", path, stranger.Call("GET", path).body).status, 200);
  }
  const HttpAnswer answer = Put(to_, entry);
  EXPECT_EQ(answer.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(answer.error().message,
              HasSubstr(stranger.service().signing_keys().front().ToString()));
  EXPECT_EQ(Lookup(to_, call_.request_key), "");
}

TEST_F(EntriesApiTest, Put_UnderAnotherKey_IsRefused) {
  CarryAll();
  wire::StoredEntry other = entry_;
  other.key = Sha256Of("another");
  HttpAnswer answer = Put(to_, other);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error().field, "entry.key");

  // The request of one, the artifact of another.
  const wire::CompileCall second = FakeCall(Behaviour::kGood, 2);
  ASSERT_EQ(from_.Compile(second).status, 200);
  other = wire::DecodeStoredEntry(from_
                                      .Call("POST", "/v1/entries/get",
                                            wire::EncodeEntryQuery({"default", second.request_key}))
                                      .body)
              .value();
  other.artifact = entry_.artifact;
  Carry(second.graph_digest);
  answer = Put(to_, other);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error().field, "entry.key");
  EXPECT_EQ(Lookup(to_, second.request_key), "");
}

TEST_F(EntriesApiTest, Put_WhatIsNoEntry_NamesTheField) {
  CarryAll();
  const auto field_of = [&](auto change) {
    wire::StoredEntry entry = entry_;
    change(entry);
    const HttpAnswer answer = Put(to_, entry);
    EXPECT_EQ(answer.status, 400);
    return answer.error().field;
  };
  EXPECT_EQ(field_of([](auto& e) { e.ns = kKernelNamespace; }), "entry.namespace");
  EXPECT_EQ(field_of([](auto& e) { e.kind = "capture"; }), "entry.kind");
  EXPECT_EQ(field_of([](auto& e) { e.metadata = "?"; }), "entry.metadata");
  EXPECT_EQ(field_of([&](auto& e) { e.artifact = call_.graph_digest; }), "entry.artifact");
  EXPECT_EQ(to_.Call("POST", "/v1/entries/put", "\xff").error().field, "entry");
  EXPECT_EQ(to_.Call("GET", "/v1/entries/put").status, 404);
  EXPECT_EQ(to_.Call("POST", "/v1/entries/take").status, 404);
}

TEST_F(EntriesApiTest, Put_NeedsAdmin_GetNeedsRead) {
  const std::string token = "a-token-that-is-long-enough";
  TempFolder folder;
  const auto daemon_with = [&](const std::string& scopes) {
    AccessConfig access{.own_uid = geteuid()};
    access.token_file =
        folder.Write("tokens", "[[token]]\nname = \"ci\"\nsha256 = \"" + Sha256Of(token).ToHex() +
                                   "\"\nscopes = [" + scopes + "]\n");
    return std::make_unique<TestDaemon>(TestDaemon::Config(), net::ServerLimits{}, access);
  };
  const std::string header = "Authorization: Bearer " + token + "\r\n";
  const std::string query = wire::EncodeEntryQuery({"default", call_.request_key});
  auto daemon = daemon_with("\"read\", \"write\"");
  EXPECT_EQ(daemon->Call("POST", "/v1/entries/get", query, header).status, 404);
  EXPECT_EQ(daemon->Call("POST", "/v1/entries/put", wire::EncodeStoredEntry(entry_), header).status,
            403);
  daemon = daemon_with("\"write\", \"admin\"");
  EXPECT_EQ(daemon->Call("POST", "/v1/entries/get", query, header).status, 403);
}

TEST_F(EntriesApiTest, Get_WhatIsNotThere_NotFound) {
  const std::string query = wire::EncodeEntryQuery({"default", Sha256Of("nothing")});
  EXPECT_EQ(from_.Call("POST", "/v1/entries/get", query).status, 404);
  const std::string kernels =
      wire::EncodeEntryQuery({std::string(kKernelNamespace), call_.request_key});
  EXPECT_EQ(from_.Call("POST", "/v1/entries/get", kernels).status, 404);
}

}  // namespace
}  // namespace stoker
