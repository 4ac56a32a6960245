#include "daemon/admin/api/captures_api.h"

#include <gmock/gmock.h>

#include "daemon/service/statistics/statistics.h"
#include "protocol/artifact/capture_envelope.h"
#include "tests/unit/daemon/admin/test_daemon.h"

namespace stoker {
namespace {

using testing::HasSubstr;

const SigningKey kWriter = SigningKey::FromSeed(std::string(SigningKey::kSeedSize, 'w')).value();

wire::CaptureQuery Key() {
  wire::CaptureQuery query;
  query.capture_key = Sha256Of("key");
  query.fields = {{"entry", "models:f", Sha256Of("models:f")}};
  query.writers = {kWriter.public_key()};
  return query;
}

TEST(CapturesApi, Road_MissPutHitDrop) {
  TestDaemon daemon;
  HttpAnswer answer = daemon.Call("POST", "/v1/captures/find", wire::EncodeCaptureQuery(Key()));
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(wire::DecodeMiss(answer.body)->reason, HasSubstr("no capture is stored"));

  const std::string capture = SealCapture(Key().capture_key, "{}", kWriter);
  answer = daemon.Call("POST", "/v1/captures/put", wire::EncodeCapturePut({Key(), "f", capture}));
  EXPECT_EQ(answer.status, 204);
  answer = daemon.Call("POST", "/v1/captures/find", wire::EncodeCaptureQuery(Key()));
  EXPECT_EQ(answer.status, 200);
  const auto found = wire::DecodeCaptureList(answer.body);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->captures.size(), 1U);
  EXPECT_EQ(found->captures[0].data, capture);

  wire::CaptureQuery stranger = Key();
  stranger.writers = {SigningKey::Make()->public_key()};
  answer = daemon.Call("POST", "/v1/captures/find", wire::EncodeCaptureQuery(stranger));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(wire::DecodeMiss(answer.body)->untrusted_writers, 1U);

  wire::CaptureDrop drop{"default", Key().capture_key, Sha256Of(capture), Key().writers, {}};
  answer = daemon.Call("POST", "/v1/captures/drop", wire::EncodeCaptureDrop(drop));
  EXPECT_EQ(answer.status, 409);
  drop.signature = kWriter.Sign(CaptureDropText(drop.ns, drop.capture_key, drop.capture));
  EXPECT_EQ(daemon.Call("POST", "/v1/captures/drop", wire::EncodeCaptureDrop(drop)).status, 204);
  EXPECT_EQ(daemon.Call("POST", "/v1/captures/drop", wire::EncodeCaptureDrop(drop)).status, 404);
  answer = daemon.Call("POST", "/v1/captures/find", wire::EncodeCaptureQuery(Key()));
  EXPECT_EQ(answer.status, 404);
}

TEST(CapturesApi, WrongRequests_AreRefusedByName) {
  TestDaemon daemon;
  wire::CapturePut put{Key(), "f", "no envelope"};
  HttpAnswer answer = daemon.Call("POST", "/v1/captures/put", wire::EncodeCapturePut(put));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error().field, "capture.capture");
  put.key.ns = kKernelNamespace;
  answer = daemon.Call("POST", "/v1/captures/put", wire::EncodeCapturePut(put));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.error().field, "capture.namespace");
  EXPECT_EQ(daemon.Call("POST", "/v1/captures/steal").status, 404);
  EXPECT_EQ(daemon.Call("GET", "/v1/captures/find").status, 404);
}

TEST(CapturesApi, Notes_AreCountedByOutcomeAndReason) {
  TestDaemon daemon;
  const auto note = [&](const char* outcome, const char* reason, const char* detail) {
    const wire::CaptureNote message{"default", "models:f", outcome, reason, detail};
    EXPECT_EQ(daemon.Call("POST", "/v1/captures/note", wire::EncodeCaptureNote(message)).status,
              204);
  };
  note("miss", "tensor", "x has other strides");
  note("hit", "", "");
  note("hit", "", "");
  note("local", "a module with hooks", "");
  note("failed", "resource exhausted", "no memory");
  note("recorded", "", "");
  note("damaged", "damaged", "");
  note("audited", "", "");
  note("differing", "a guard", "one more");
  EXPECT_EQ(daemon.statistics().Total("captures.hits"), 2);
  EXPECT_EQ(daemon.statistics().Total("captures.misses"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.misses.reason.tensor"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.local.reason.a module with hooks"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.failed"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.failed.reason.resource exhausted"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.recorded"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.damaged"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.audited"), 1);
  EXPECT_EQ(daemon.statistics().Total("captures.differing"), 1);

  const HttpAnswer status = daemon.Call("GET", "/status");
  EXPECT_THAT(status.body,
              HasSubstr(R"("captures":{"hits":2,"misses":1,"miss_reasons":{"tensor":1})"));
  const HttpAnswer metrics = daemon.Call("GET", "/metrics");
  EXPECT_THAT(metrics.body, HasSubstr("stoker_capture_hits_total 2\n"));
  EXPECT_THAT(metrics.body, HasSubstr("stoker_captures_audited_total 1\n"));
  EXPECT_THAT(metrics.body, HasSubstr("stoker_captures_differing_total 1\n"));
  EXPECT_THAT(metrics.body, HasSubstr("stoker_capture_misses_total{reason=\"tensor\"} 1\n"));
  EXPECT_THAT(metrics.body,
              HasSubstr("stoker_captures_failed_total{reason=\"resource exhausted\"} 1\n"));
}

TEST(CapturesApi, Notes_AreRemembered_NewestFirst_UpToALimit) {
  TestDaemon daemon;
  for (std::size_t i = 0; i <= CapturesApi::kMaxNotes; ++i) {
    daemon.Call("POST", "/v1/captures/note",
                wire::EncodeCaptureNote({"default", "f", "miss", "r", std::to_string(i) + "!"}));
  }
  const HttpAnswer answer = daemon.Call("GET", "/v1/captures/notes");
  EXPECT_EQ(answer.status, 200);
  const auto newest = answer.body.find("\"" + std::to_string(CapturesApi::kMaxNotes) + "!\"");
  const auto older = answer.body.find("\"1!\"");
  ASSERT_NE(newest, std::string::npos);
  ASSERT_NE(older, std::string::npos);
  EXPECT_LT(newest, older);
  EXPECT_EQ(answer.body.find("\"0!\""), std::string::npos);
}

}  // namespace
}  // namespace stoker
