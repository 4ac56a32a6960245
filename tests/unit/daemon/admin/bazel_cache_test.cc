#include "daemon/admin/api/bazel_cache.h"

#include <gmock/gmock.h>

#include "daemon/service/statistics/statistics.h"
#include "tests/unit/daemon/admin/test_daemon.h"

namespace stoker {
namespace {

using testing::HasSubstr;

const std::string kBody = "some bytes\0of any kind";

std::string Cas(const std::string& body) { return "/cas/" + Sha256Of(body).ToHex(); }
std::string Ac(const std::string& key) { return "/ac/" + Sha256Of(key).ToHex(); }

TEST(BazelCache, Cas_PutThenGetAndHead) {
  TestDaemon daemon;
  EXPECT_EQ(daemon.Call("GET", Cas(kBody)).status, 404);
  EXPECT_EQ(daemon.Call("HEAD", Cas(kBody)).status, 404);
  EXPECT_EQ(daemon.Call("PUT", Cas(kBody), kBody).status, 200);
  const HttpAnswer got = daemon.Call("GET", Cas(kBody));
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, kBody);
  EXPECT_THAT(got.head, HasSubstr("Content-Type: application/octet-stream\r\n"));
  const HttpAnswer head = daemon.Call("HEAD", Cas(kBody));
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_THAT(head.head, HasSubstr("Content-Length: " + std::to_string(kBody.size()) + "\r\n"));
  EXPECT_EQ(daemon.Call("PUT", Cas(kBody), kBody).status, 200);
}

TEST(BazelCache, Cas_BodyThatIsNotWhatThePathNames_IsRefusedAndNotStored) {
  TestDaemon daemon;
  const HttpAnswer answer = daemon.Call("PUT", Cas(kBody), kBody + "x");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error().field, "body");
  EXPECT_THAT(answer.error().message, HasSubstr(Sha256Of(kBody).ToHex()));
  EXPECT_EQ(daemon.Call("GET", Cas(kBody)).status, 404);
  EXPECT_EQ(daemon.Call("GET", Cas(kBody + "x")).status, 404);
}

TEST(BazelCache, Cas_EmptyBlob_IsABlob) {
  TestDaemon daemon;
  EXPECT_EQ(daemon.Call("PUT", Cas(""), "").status, 200);
  EXPECT_EQ(daemon.Call("GET", Cas("")).status, 200);
}

TEST(BazelCache, Ac_LastPutCounts_LookupsAreCounted) {
  TestDaemon daemon;
  EXPECT_EQ(daemon.Call("GET", Ac("key")).status, 404);
  EXPECT_EQ(daemon.Call("PUT", Ac("key"), "one").status, 200);
  EXPECT_EQ(daemon.Call("PUT", Ac("key"), "two").status, 200);
  EXPECT_EQ(daemon.Call("GET", Ac("key")).body, "two");
  EXPECT_EQ(daemon.Call("HEAD", Ac("key")).status, 200);
  EXPECT_EQ(daemon.statistics().Total("ns.bazel.hits"), 2);
  EXPECT_EQ(daemon.statistics().Total("ns.bazel.misses"), 1);
  // Not to be mistaken for blobs or for requests of ours.
  EXPECT_EQ(daemon.Call("GET", "/cas/" + Sha256Of("key").ToHex()).status, 404);
  EXPECT_EQ(daemon.statistics().Total("hits"), 0);
}

TEST(BazelCache, Ac_OversizedResult_Answers413) {
  TestDaemon daemon;
  const HttpAnswer answer =
      daemon.Call("PUT", Ac("key"), std::string(kMaxActionResultBytes + 1, 'x'));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.error().field, "body");
  EXPECT_EQ(daemon.Call("PUT", Ac("key"), std::string(kMaxActionResultBytes, 'x')).status, 200);
}

TEST(BazelCache, OtherMethods_AreRefusedByName) {
  TestDaemon daemon;
  for (const char* method : {"POST", "DELETE", "PATCH"}) {
    const HttpAnswer answer = daemon.Call(method, Cas(kBody));
    EXPECT_EQ(answer.status, 422) << method;
    EXPECT_EQ(answer.error().field, "method");
  }
}

TEST(BazelCache, ArtifactsOfOurs_CanBeReadByDigest) {
  TestDaemon daemon;
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const auto events = daemon.Compile(call).events();
  const auto& bundle = std::get<wire::Bundle>(events.back());
  EXPECT_EQ(daemon.Call("GET", Cas(bundle.artifact)).body, bundle.artifact);
  EXPECT_EQ(daemon.Call("GET", Cas(bundle.blobs[0].data)).body, bundle.blobs[0].data);
}

}  // namespace
}  // namespace stoker
