#include "daemon/admin/api/upkeep_api.h"

#include <gmock/gmock.h>

#include <map>

#include "daemon/service/compile_service.h"
#include "protocol/artifact/capture_envelope.h"
#include "protocol/wire/capture_messages.h"
#include "protocol/wire/framing.h"
#include "protocol/wire/upkeep_messages.h"
#include "tests/unit/daemon/admin/test_daemon.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::SizeIs;
using Counts = std::map<std::string, std::uint64_t>;

// The events of a stream.
std::vector<wire::UpkeepEvent> EventsOf(const HttpAnswer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  wire::FrameReader frames;
  frames.Feed(answer.body);
  std::vector<wire::UpkeepEvent> events;
  while (auto frame = frames.Next().value()) {
    events.push_back(wire::DecodeUpkeepEvent(*frame).value());
  }
  return events;
}

// Of the report that ends the stream.
Counts CountsOf(const HttpAnswer& answer) {
  const auto events = EventsOf(answer);
  if (events.empty() || !std::holds_alternative<wire::UpkeepReport>(events.back())) {
    ADD_FAILURE() << "no report";
    return {};
  }
  Counts counts;
  for (const auto& [name, value] : std::get<wire::UpkeepReport>(events.back()).counts) {
    counts[name] = value;
  }
  return counts;
}

wire::CompileCall CallOf(const std::string& ns, int number = 0) {
  wire::CompileCall call = FakeCall(Behaviour::kGood, number);
  call.ns = ns;
  return call;
}

int StatusOfLookup(TestDaemon& daemon, const wire::CompileCall& call) {
  wire::LookupRequest lookup;
  lookup.ns = call.ns;
  lookup.request_key = call.request_key;
  return daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup)).status;
}

HttpAnswer Purge(TestDaemon& daemon, const wire::PurgeRequest& request) {
  return daemon.Call("POST", "/v1/cache/purge", wire::EncodePurgeRequest(request));
}

TEST(UpkeepApi, Purge_OfANamespace_LeavesTheOthers) {
  TestDaemon daemon;
  const wire::CompileCall mine = CallOf("team-a", 0);
  const wire::CompileCall other = CallOf("team-b", 1);
  daemon.Compile(mine);
  daemon.Compile(other);
  Counts would = CountsOf(Purge(daemon, {"team-a", "", 0.0, /*dry_run=*/true}));
  EXPECT_EQ(would["entries"], 1u);
  EXPECT_GT(would["bytes"], 0u);
  EXPECT_EQ(StatusOfLookup(daemon, mine), 200);
  const Counts did = CountsOf(Purge(daemon, {"team-a", "", 0.0, false}));
  EXPECT_EQ(did, would);
  EXPECT_EQ(StatusOfLookup(daemon, mine), 404);
  EXPECT_EQ(StatusOfLookup(daemon, other), 200);
  EXPECT_EQ(CountsOf(Purge(daemon, {"team-a", "", 0.0, false}))["entries"], 0u);
}

TEST(UpkeepApi, Purge_OfAnEpochOrOfWhatIsUnused_TakesWhatFits) {
  TestDaemon daemon;
  const wire::CompileCall call = CallOf("team");
  daemon.Compile(call);
  EXPECT_EQ(CountsOf(Purge(daemon, {"", "another epoch", 0.0, false}))["entries"], 0u);
  EXPECT_EQ(CountsOf(Purge(daemon, {"", "", 3600.0, false}))["entries"], 0u);
  EXPECT_EQ(StatusOfLookup(daemon, call), 200);
  EXPECT_EQ(CountsOf(Purge(daemon, {"", "fake-1", 0.0, false}))["entries"], 1u);
  EXPECT_EQ(StatusOfLookup(daemon, call), 404);
  daemon.Compile(call);
  EXPECT_EQ(CountsOf(Purge(daemon, {"", "", 1e-9, false}))["entries"], 1u);
}

TEST(UpkeepApi, Pin_ByPrefix_OutlivesAPurge_UntilItIsUnpinned) {
  TestDaemon daemon;
  const wire::CompileCall call = CallOf("team");
  daemon.Compile(call);
  const std::string request =
      wire::EncodePinRequest({"team", call.request_key.ToHex().substr(0, 8)});
  const HttpAnswer pinned = daemon.Call("POST", "/v1/cache/pin", request);
  ASSERT_EQ(pinned.status, 200) << pinned.body;
  EXPECT_EQ(wire::DecodePin(pinned.body)->key, call.request_key);
  EXPECT_EQ(wire::DecodePin(pinned.body)->kind, "artifact");
  EXPECT_EQ(CountsOf(Purge(daemon, {"team", "", 0.0, false})),
            (Counts{{"entries", 0}, {"pinned_entries", 1}, {"blobs", 0}, {"bytes", 0}}));
  EXPECT_EQ(StatusOfLookup(daemon, call), 200);
  const auto pins = [&](const std::string& ns) {
    return *wire::DecodePinList(
        daemon.Call("POST", "/v1/cache/pins", wire::EncodePinsRequest({ns})).body);
  };
  EXPECT_THAT(pins("").pins, SizeIs(1));
  EXPECT_THAT(pins("team").pins, SizeIs(1));
  EXPECT_THAT(pins("other").pins, SizeIs(0));
  EXPECT_GT(pins("").bytes, 0u);
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/unpin", request).status, 200);
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/unpin", request).status, 404);
  EXPECT_THAT(pins("").pins, SizeIs(0));
  EXPECT_EQ(CountsOf(Purge(daemon, {"team", "", 0.0, false}))["entries"], 1u);
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/pin", request).status, 404);
}

TEST(UpkeepApi, Pin_OfACaptureKey_KeepsWhatEachWriterStored) {
  TestDaemon daemon;
  const SigningKey first = SigningKey::Make().value();
  const SigningKey second = SigningKey::Make().value();
  wire::CaptureQuery query;
  query.ns = "team";
  query.capture_key = Sha256Of("key");
  query.fields = {{"compiler", "fake-1", Sha256Of("fake-1")}};
  for (const SigningKey& writer : {first, second}) {
    query.writers.push_back(writer.public_key());
    const std::string capture = SealCapture(query.capture_key, "{}", writer);
    const auto put = wire::EncodeCapturePut({query, "f", capture});
    ASSERT_EQ(daemon.Call("POST", "/v1/captures/put", put).status, 204);
  }
  const auto captures = [&] {
    const HttpAnswer found =
        daemon.Call("POST", "/v1/captures/find", wire::EncodeCaptureQuery(query));
    return found.status == 200 ? wire::DecodeCaptureList(found.body)->captures.size() : 0;
  };
  const std::string pin = wire::EncodePinRequest({"team", query.capture_key.ToHex()});
  ASSERT_EQ(daemon.Call("POST", "/v1/cache/pin", pin).status, 200);
  Purge(daemon, {"team", "", 0.0, false});
  EXPECT_EQ(captures(), 2u);
  ASSERT_EQ(daemon.Call("POST", "/v1/cache/unpin", pin).status, 200);
  const auto pins = daemon.Call("POST", "/v1/cache/pins", wire::EncodePinsRequest({"team"}));
  EXPECT_THAT(wire::DecodePinList(pins.body)->pins, SizeIs(0));
  // Nothing of them stays, not even who wrote.
  EXPECT_EQ(CountsOf(Purge(daemon, {"", "fake-1", 0.0, false}))["entries"], 3u);
  EXPECT_EQ(captures(), 0u);
}

TEST(UpkeepApi, Verify_ReportsWhatItRead) {
  TestDaemon daemon;
  daemon.Compile(CallOf("team"));
  Counts counts = CountsOf(daemon.Call("POST", "/v1/cache/verify"));
  EXPECT_GT(counts["blobs"], 0u);
  EXPECT_GT(counts["bytes"], 0u);
  EXPECT_EQ(counts["damaged"], 0u);
}

TEST(UpkeepApi, Gc_DropsWhatNothingNames) {
  TestDaemon daemon;
  daemon.Compile(CallOf("team"));
  ASSERT_TRUE(PutBytes(daemon.stack().blobs(), "left behind", BlobKind::kKernel).ok());
  Counts counts =
      CountsOf(daemon.Call("POST", "/v1/cache/gc", wire::EncodeGcRequest({std::nullopt, 0.0})));
  EXPECT_EQ(counts["unnamed_blobs"], 1u);
  EXPECT_EQ(counts["unnamed_bytes"], 11u);
  EXPECT_EQ(StatusOfLookup(daemon, CallOf("team")), 200);
}

TEST(UpkeepApi, Tokens_OfANamespace_MayPurgeItAndNothingElse) {
  TempFolder folder;
  const std::string token = "the-token-of-the-team";
  AccessConfig access{.own_uid = geteuid()};
  access.token_file =
      folder.Write("tokens", "[[token]]\nname = \"team\"\nsha256 = \"" + Sha256Of(token).ToHex() +
                                 "\"\nscopes = [\"read\", \"admin\"]\nnamespaces = [\"team\"]\n");
  TestDaemon daemon(TestDaemon::Config(), {}, access);
  const auto status = [&](const std::string& route, const std::string& body) {
    return daemon
        .Call("POST", "/v1/cache/" + route, body, "Authorization: Bearer " + token + "\r\n")
        .status;
  };
  EXPECT_EQ(status("purge", wire::EncodePurgeRequest({"team", "", 0.0, false})), 200);
  EXPECT_EQ(status("purge", wire::EncodePurgeRequest({"other", "", 0.0, false})), 403);
  EXPECT_EQ(status("purge", wire::EncodePurgeRequest({"", "fake-1", 0.0, false})), 403);
  EXPECT_EQ(status("gc", ""), 403);
  EXPECT_EQ(status("verify", ""), 403);
  EXPECT_EQ(status("pins", wire::EncodePinsRequest({"team"})), 200);
  EXPECT_EQ(status("pins", ""), 403);
  EXPECT_EQ(status("pin", wire::EncodePinRequest({"team", "0123"})), 403);  // It may not write.
}

TEST(UpkeepApi, MalformedRequests_AreRefusedWithTheField) {
  TestDaemon daemon;
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/purge").status, 400);
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/purge", "\xff\xff").error().field, "purge");
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/gc", "\xff\xff").error().field, "gc");
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/pin").error().field, "pin.key_prefix");
  EXPECT_EQ(daemon.Call("GET", "/v1/cache/verify").status, 404);
  EXPECT_EQ(daemon.Call("POST", "/v1/cache/else").status, 404);
}

}  // namespace
}  // namespace stoker
