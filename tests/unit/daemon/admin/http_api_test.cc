#include "daemon/admin/http_api.h"

#include <gmock/gmock.h>

#include <functional>
#include <future>

#include "protocol/artifact/capture_envelope.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/proto/proto_writer.h"
#include "tests/unit/daemon/admin/test_daemon.h"
#include "tests/unit/daemon/net/test_peer.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using wire::ProtoWriter;

TEST(HttpApi, Hello_TellsVersionsAndEpoch) {
  TestDaemon daemon;
  daemon.Compile(FakeCall(Behaviour::kGood));  // Only then a worker is known to be up.
  const HttpAnswer answer = daemon.Call("GET", "/v1/hello");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: application/x-protobuf\r\n"));
  const auto hello = wire::DecodeHello(answer.body);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->protocol_version, wire::kProtocolVersion);
  EXPECT_EQ(hello->compiler_epoch, "fake-1");
  EXPECT_EQ(hello->pid, static_cast<std::uint64_t>(getpid()));
  EXPECT_THAT(hello->target_kinds, ElementsAre("cpu", "cuda"));
  EXPECT_THAT(hello->signing_keys, ElementsAre(daemon.service().signing_keys().at(0)));
}

// Whatever a client sends, only what the daemon compiled is found under a request's key.
TEST(HttpApi, NoRouteButCompile_MakesAnEntryForARequest) {
  TestDaemon daemon;
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const std::string key = call.request_key.ToHex();
  // An artifact as good as the daemon's own, of somebody else.
  TestDaemon other;
  const auto theirs = std::get<wire::Bundle>(other.Compile(call).events().back());
  wire::LookupRequest lookup;
  lookup.request_key = call.request_key;
  const auto status_of_lookup = [&] {
    return daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup)).status;
  };
  const auto put = [&](const std::string& path, const std::string& body) {
    return daemon.Call("PUT", path, body).status;
  };

  EXPECT_EQ(put("/cas/" + Sha256Of(theirs.artifact).ToHex(), theirs.artifact), 200);
  for (const wire::Blob& blob : theirs.blobs) {
    EXPECT_EQ(put("/cas/" + blob.digest.ToHex(), blob.data), 200);
  }
  EXPECT_EQ(put("/ac/" + key, theirs.artifact), 200);
  EXPECT_EQ(status_of_lookup(), 404);

  const SigningKey writer = SigningKey::Make().value();
  wire::CapturePut capture;
  capture.key.capture_key = call.request_key;
  capture.capture = SealCapture(call.request_key, theirs.artifact, writer);
  EXPECT_EQ(daemon.Call("POST", "/v1/captures/put", wire::EncodeCapturePut(capture)).status, 204);
  EXPECT_EQ(status_of_lookup(), 404);
  for (const std::string_view ns : {kKernelNamespace, kBazelNamespace}) {
    capture.key.ns = ns;
    EXPECT_EQ(daemon.Call("POST", "/v1/captures/put", wire::EncodeCapturePut(capture)).status, 400);
    lookup.ns = ns;
    EXPECT_EQ(status_of_lookup(), 400);
  }
  lookup.ns = call.ns;

  // A call that names the key of another request.
  wire::CompileCall foreign = FakeCall(Behaviour::kGood, 1);
  foreign.request_key = call.request_key;
  EXPECT_EQ(daemon.Compile(foreign).status, 409);
  EXPECT_EQ(status_of_lookup(), 404);

  // And once the daemon has compiled it, nothing takes its place.
  const auto own = std::get<wire::Bundle>(daemon.Compile(call).events().back());
  EXPECT_NE(own.artifact, theirs.artifact);
  EXPECT_EQ(put("/ac/" + key, theirs.artifact), 200);
  capture.key.ns = call.ns;
  EXPECT_EQ(daemon.Call("POST", "/v1/captures/put", wire::EncodeCapturePut(capture)).status, 409);
  const HttpAnswer found = daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  EXPECT_EQ(wire::DecodeBundle(found.body)->artifact, own.artifact);
}

// An entry that somebody wrote into the database itself is none of this daemon's.
TEST(HttpApi, Lookup_ArtifactOfAnotherSigner_IsAMissThatSaysSo) {
  TestDaemon daemon;
  TestDaemon other;
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  const auto theirs = std::get<wire::Bundle>(other.Compile(call).events().back());
  ActionEntry entry;
  entry.artifact = *PutBytes(daemon.stack().blobs(), theirs.artifact, BlobKind::kArtifact);
  ASSERT_TRUE(
      daemon.stack().actions().Publish(call.ns, call.request_key, entry, Durability::kSynced).ok());
  wire::LookupRequest lookup;
  lookup.request_key = call.request_key;
  const HttpAnswer answer = daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(wire::DecodeMiss(answer.body)->reason, HasSubstr("signed by no key of this daemon"));
  EXPECT_EQ(daemon.statistics().Total("misses.reason.signer is unknown"), 1);
}

TEST(HttpApi, Road_MissCompileHitListInspectExplain) {
  TestDaemon daemon;
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  wire::LookupRequest lookup;
  lookup.request_key = call.request_key;
  HttpAnswer answer = daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(wire::DecodeMiss(answer.body)->reason, "no entry is stored under this key");

  answer = daemon.Compile(call);
  EXPECT_EQ(answer.status, 200);
  const auto events = answer.events();
  ASSERT_FALSE(events.empty());
  ASSERT_TRUE(std::holds_alternative<wire::Bundle>(events.back()));

  answer = daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(wire::DecodeBundle(answer.body)->artifact,
            std::get<wire::Bundle>(events.back()).artifact);

  answer = daemon.Call("POST", "/v1/list", wire::EncodeListRequest({}));
  ASSERT_THAT(wire::DecodeListReply(answer.body)->entries, SizeIs(1));
  EXPECT_EQ(wire::DecodeListReply(answer.body)->entries[0].hits, 1U);

  wire::InspectRequest inspect;
  inspect.key_prefix = call.request_key.ToHex().substr(0, 8);
  answer = daemon.Call("POST", "/v1/inspect", wire::EncodeInspectRequest(inspect));
  EXPECT_THAT(wire::DecodeInspectReply(answer.body)->sections, SizeIs(7));

  ASSERT_EQ(daemon.Compile(FakeCall(Behaviour::kGood, 1)).status, 200);
  const wire::ExplainRequest explain{"", call.request_key.ToHex(),
                                     FakeCall(Behaviour::kGood, 1).request_key.ToHex()};
  answer = daemon.Call("POST", "/v1/explain", wire::EncodeExplainRequest(explain));
  ASSERT_THAT(wire::DecodeExplainReply(answer.body)->differences, SizeIs(1));
  EXPECT_EQ(wire::DecodeExplainReply(answer.body)->differences[0].tag, "graph");

  answer = daemon.Call("POST", "/v1/report",
                       wire::EncodeReport({"default", {{"x", 2}}, {{"aten.foo", 1}}}));
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(daemon.statistics().Total("client.x"), 2);
}

TEST(HttpApi, UnknownRoutes_Answer404WithTheRoute) {
  TestDaemon daemon;
  for (const auto& [method, path] :
       std::vector<std::pair<std::string, std::string>>{{"GET", "/v2/hello"},
                                                        {"GET", "/v1/lookup"},
                                                        {"POST", "/status"},
                                                        {"PUT", "/v1/list"},
                                                        {"DELETE", "/-/quit"},
                                                        {"GET", "/-/quit"},
                                                        {"GET", "/metrics/"}}) {
    const HttpAnswer answer = daemon.Call(method, path);
    EXPECT_EQ(answer.status, 404) << method << path;
    EXPECT_EQ(answer.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(answer.error().message, HasSubstr(method + " " + path));
  }
  EXPECT_EQ(daemon.quits(), 0);
}

TEST(HttpApi, Quit_AsksForIt) {
  TestDaemon daemon;
  EXPECT_EQ(daemon.Call("POST", "/-/quit").status, 202);
  EXPECT_EQ(daemon.quits(), 1);
}

struct Malformed {
  std::string name;
  std::string path;
  std::string body;
  int status;
  std::string field;
};

std::string Written(const std::function<void(ProtoWriter&)>& write) {
  ProtoWriter writer;
  write(writer);
  return std::move(writer).Take();
}

// A good message, followed by a field that is wrong: the last one counts.
std::string WithField(std::string good, const std::function<void(ProtoWriter&)>& write) {
  return good + Written(write);
}

std::string GoodCall() { return wire::EncodeCompileCall(FakeCall(Behaviour::kGood)); }
std::string CallWith(const std::function<void(wire::CompileCall&)>& change) {
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  change(call);
  return wire::EncodeCompileCall(call);
}

const std::string kDigest(32, 'd');

std::vector<Malformed> MalformedRequests() {
  const auto lookup = [](const std::function<void(ProtoWriter&)>& write) {
    return WithField(Written([](ProtoWriter& w) { w.Bytes(2, kDigest); }), write);
  };
  const auto compile = [](const std::function<void(ProtoWriter&)>& write) {
    return WithField(GoodCall(), write);
  };
  return {
      {"lookup: no protobuf", "/v1/lookup", "\xff\xff\xff", 400, "lookup"},
      {"lookup: cut in the middle", "/v1/lookup", "\x12\x20short", 400, "lookup"},
      {"lookup: nothing", "/v1/lookup", "", 400, "lookup.request_key"},
      {"lookup: short key", "/v1/lookup", Written([](auto& w) { w.Bytes(2, "short"); }), 400,
       "lookup.request_key"},
      {"lookup: key of another type", "/v1/lookup", Written([](auto& w) { w.UInt(2, 7); }), 400,
       "lookup.request_key"},
      {"lookup: namespace", "/v1/lookup", lookup([](auto& w) { w.Bytes(1, "Up per"); }), 400,
       "lookup.namespace"},
      {"lookup: long namespace", "/v1/lookup",
       lookup([](auto& w) { w.Bytes(1, std::string(65, 'n')); }), 413, "lookup.namespace"},
      {"lookup: reserved namespace", "/v1/lookup",
       lookup([](auto& w) { w.Bytes(1, kKernelNamespace); }), 400, "lookup.namespace"},
      {"lookup: graph digest", "/v1/lookup", lookup([](auto& w) { w.Bytes(3, "x"); }), 400,
       "lookup.graph_digest"},
      {"lookup: held kernel", "/v1/lookup", lookup([](auto& w) { w.Element(4, "x"); }), 400,
       "lookup.have_kernels"},
      {"lookup: key field", "/v1/lookup",
       lookup([](auto& w) { w.Message(5, [](auto& f) { f.Bytes(3, "x"); }); }), 400,
       "lookup.fields.digest"},
      {"lookup: too many key fields", "/v1/lookup", lookup([](auto& w) {
         for (std::size_t i = 0; i <= wire::kMaxKeyFields; ++i) {
           w.Message(5, [](auto& f) { f.Bytes(3, kDigest); });
         }
       }),
       413, "lookup.fields"},
      {"compile: nothing", "/v1/compile", "", 400, "compile.request_key"},
      {"compile: no graph", "/v1/compile", Written([](auto& w) { w.Bytes(2, kDigest); }), 400,
       "compile.graph"},
      {"compile: cut", "/v1/compile", GoodCall().substr(0, GoodCall().size() - 3), 400, "compile"},
      {"compile: target", "/v1/compile", compile([](auto& w) { w.Bytes(7, "mips"); }), 400,
       "compile.target"},
      {"compile: numerics", "/v1/compile",
       compile([](auto& w) { w.Message(8, [](auto& o) { o.UInt(2, 99); }); }), 400,
       "options.numerics"},
      {"compile: graph name", "/v1/compile", compile([](auto& w) { w.Bytes(5, "\xff\xfe"); }), 400,
       "compile.graph_name"},
      {"compile: graph", "/v1/compile", CallWith([](auto& c) { c.graph = "nonsense"; }), 400,
       "compile.graph"},
      {"compile: truncated graph", "/v1/compile", CallWith([](auto& c) { c.graph.pop_back(); }),
       400, "compile.graph"},
      {"compile: other graph", "/v1/compile",
       CallWith([](auto& c) { c.graph = EncodeGraph(FakeGraph(Behaviour::kGood, 7)); }), 400,
       "compile.graph"},
      {"compile: other graph, no digest", "/v1/compile", CallWith([](auto& c) {
         c.graph = EncodeGraph(FakeGraph(Behaviour::kGood, 7));
         c.graph_digest = Digest();
       }),
       409, "compile.request_key"},
      // Its key is right, so that a worker finds what is wrong with it.
      {"compile: malformed graph", "/v1/compile", CallWith([](auto& c) {
         c.graph = "nonsense";
         c.graph_digest = Sha256Of(c.graph);
         c.request_key = KeyOf(c.graph_digest, c.target, c.options, c.compiler_epoch).digest;
       }),
       400, "compile.graph"},
      {"compile: unknown graph", "/v1/compile", CallWith([](auto& c) { c.graph.clear(); }), 409,
       "compile.graph_digest"},
      {"compile: epoch", "/v1/compile", CallWith([](auto& c) { c.compiler_epoch = "older"; }), 409,
       "compile.compiler_epoch"},
      {"compile: key", "/v1/compile", CallWith([](auto& c) { c.request_key = Sha256Of("x"); }), 409,
       "compile.request_key"},
      {"compile: other machine", "/v1/compile",
       CallWith([](auto& c) { c.target = Target::Parse("cuda/sm_90a").value(); }), 409,
       "compile.request_key"},
      {"report: counter", "/v1/report",
       Written([](auto& w) { w.Message(2, [](auto& m) { m.UInt(1, 1); }); }), 400,
       "report.counters"},
      {"report: no number", "/v1/report",
       wire::EncodeReport({"default", {{"x", std::numeric_limits<double>::quiet_NaN()}}, {}}), 400,
       "report.counters"},
      {"report: namespace", "/v1/report", Written([](auto& w) { w.Bytes(1, "\n"); }), 400,
       "report.namespace"},
      {"list: namespace", "/v1/list", Written([](auto& w) { w.Bytes(1, "a/b"); }), 400,
       "list.namespace"},
      {"inspect: nothing", "/v1/inspect", "", 400, "inspect.key_prefix"},
      {"inspect: short prefix", "/v1/inspect", Written([](auto& w) { w.Bytes(2, "abc"); }), 400,
       "inspect.key_prefix"},
      {"inspect: no hex", "/v1/inspect", Written([](auto& w) { w.Bytes(2, "nothex"); }), 400,
       "inspect.key_prefix"},
      {"explain: one key", "/v1/explain", Written([](auto& w) { w.Bytes(2, "abcd"); }), 400,
       "explain.key_b"},
      {"explain: no hex", "/v1/explain", Written([](auto& w) { w.Bytes(2, "../.."); }), 400,
       "explain.key_a"},
      {"cas: short", "/cas/abc", "", 400, "path"},
      {"cas: upper case", "/cas/" + std::string(64, 'A'), "", 400, "path"},
      {"cas: climbing", "/cas/../../etc/passwd", "", 400, "path"},
      {"ac: nothing", "/ac/", "", 400, "path"},
  };
}

TEST(HttpApi, MalformedRequests_GetA4xxThatNamesTheField_AndOthersAreServed) {
  TestDaemon daemon;
  for (const Malformed& malformed : MalformedRequests()) {
    SCOPED_TRACE(malformed.name);
    const bool bazel = malformed.path.find("/v1/") != 0;
    const HttpAnswer answer = daemon.Call(bazel ? "GET" : "POST", malformed.path, malformed.body);
    EXPECT_EQ(answer.status, malformed.status);
    EXPECT_EQ(answer.error().field, malformed.field) << answer.error().message;
    EXPECT_THAT(answer.error().message, HasSubstr("'" + malformed.field));
    EXPECT_EQ(daemon.Call("GET", "/-/healthy").status, 200);
  }
  EXPECT_EQ(CompilesOf(Behaviour::kGood), 0);
  EXPECT_EQ(daemon.Compile(FakeCall(Behaviour::kGood)).status, 200);
  EXPECT_EQ(daemon.statistics().Total("compile_failures"), 1);
  EXPECT_EQ(daemon.statistics().Total("compile_failures.class.diagnostic"), 1);
}

// Whatever a flipped bit or a cut makes of a good request, the daemon answers and lives on.
TEST(HttpApi, MutatedRequests_AreAnswered) {
  TestDaemon daemon;
  const std::string good = GoodCall();
  std::map<int, int> statuses;
  for (std::size_t i = 0; i < good.size(); i += 3) {
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    ++statuses[daemon.Call("POST", "/v1/compile", flipped).status];
    ++statuses[daemon.Call("POST", "/v1/compile", good.substr(0, i)).status];
  }
  for (const auto& [status, count] : statuses) {
    EXPECT_THAT(status, testing::AnyOf(200, 400, 409, 413, 422)) << count << " times";
  }
  EXPECT_GT(statuses[400], 10);
  EXPECT_EQ(daemon.Call("GET", "/-/healthy").status, 200);
}

TEST(HttpApi, FullQueue_Answers503WithRetryAfter) {
  ServiceConfig config = TestDaemon::Config();
  config.queue_limit = 1;
  TestDaemon daemon(config);
  auto running =
      std::async(std::launch::async, [&] { return daemon.Compile(FakeCall(Behaviour::kWait)); });
  WaitUntil("the compile has begun", [] { return CompilesOf(Behaviour::kWait) > 0; });
  const HttpAnswer refused = daemon.Compile(FakeCall(Behaviour::kGood));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: 2\r\n"));
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("queue is full"));
  // A compile that runs delays nobody who does not want one.
  EXPECT_EQ(daemon.Call("GET", "/status").status, 200);
  ReleaseWaiting();
  EXPECT_TRUE(std::holds_alternative<wire::Bundle>(running.get().events().back()));
}

TEST(HttpApi, Token_MayWhatItsScopesSay_InItsNamespaces) {
  TempFolder folder;
  const std::string reader = "the-token-of-the-reader";
  const std::string owner = "the-token-of-the-owner";
  AccessConfig access{.own_uid = geteuid()};
  const auto entry_of = [](const std::string& name, const std::string& token, const char* scopes) {
    return "[[token]]\nname = \"" + name + "\"\nsha256 = \"" + Sha256Of(token).ToHex() +
           "\"\nscopes = [" + scopes + "]\nnamespaces = [\"team\"]\n";
  };
  access.token_file =
      folder.Write("tokens", entry_of("reader", reader, "\"read\"") +
                                 entry_of("owner", owner, "\"read\", \"write\", \"admin\""));
  TestDaemon daemon(TestDaemon::Config(), {}, access);
  const auto call = [&](std::string_view method, std::string_view path, const std::string& body,
                        const std::string& token) {
    return daemon.Call(method, path, body, "Authorization: Bearer " + token + "\r\n");
  };
  wire::LookupRequest lookup;
  lookup.request_key = Sha256Of("k");
  lookup.ns = "team";
  EXPECT_EQ(call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup), reader).status, 404);
  lookup.ns = "other";
  const HttpAnswer elsewhere =
      call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup), reader);
  EXPECT_EQ(elsewhere.status, 403);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("in namespace 'other'"));
  EXPECT_EQ(call("GET", "/metrics", "", reader).status, 200);
  EXPECT_EQ(call("POST", "/v1/compile", wire::EncodeCompileCall(FakeCall(Behaviour::kGood)), reader)
                .status,
            403);
  EXPECT_EQ(call("PUT", "/cas/" + Sha256Of("x").ToHex(), "x", reader).status, 403);
  EXPECT_EQ(call("POST", "/-/quit", "", reader).status, 403);
  const HttpAnswer of_one = call("POST", "/-/quit", "", owner);
  EXPECT_EQ(of_one.status, 403);
  EXPECT_THAT(of_one.error().message, HasSubstr("in all namespaces"));
  EXPECT_EQ(daemon.quits(), 0);
  const HttpAnswer unknown = call("GET", "/metrics", "", reader + "x");
  EXPECT_EQ(unknown.status, 401);
  EXPECT_THAT(unknown.head, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_EQ(call("GET", "/-/healthy", "", "none").status, 200);
}

TEST(HttpApi, UploadThatBreaks_IsCounted_AndGoesOnForItsSenderAlone) {
  TempFolder folder;
  AccessConfig access{.own_uid = geteuid()};
  std::string tokens;
  for (const std::string token : {"the-token-of-the-sender", "the-token-of-another"}) {
    tokens += "[[token]]\nname = \"" + token + "\"\nsha256 = \"" + Sha256Of(token).ToHex() +
              "\"\nscopes = [\"read\", \"write\"]\n";
  }
  access.token_file = folder.Write("tokens", tokens);
  TestDaemon daemon(TestDaemon::Config(), {}, access);
  const std::string own = "Authorization: Bearer the-token-of-the-sender\r\n";
  const std::string path = "/cas/" + Sha256Of("hello").ToHex();
  std::string location;
  {
    net::TestPeer peer(daemon.socket_path());
    peer.Send("PUT " + path +
              " HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nUpload-Complete: ?1\r\n" +
              "Upload-Draft-Interop-Version: 8\r\n" + own + "\r\nhe");
    const std::string offer = peer.ReadUntil("\r\n\r\n");
    const std::size_t at = offer.find("/uploads/");
    ASSERT_NE(at, std::string::npos) << offer;
    location = offer.substr(at, offer.find("\r\n", at) - at);
  }
  WaitUntil("it is kept", [&] {
    return daemon.Call("GET", "/status").body.find("\"kept_uploads\":{\"count\":1,\"bytes\":5}") !=
           std::string::npos;
  });
  EXPECT_THAT(
      daemon.Call("GET", "/metrics").body,
      AllOf(HasSubstr("\nstoker_kept_uploads 1\n"), HasSubstr("\nstoker_kept_upload_bytes 5\n")));
  const std::string rest =
      "Content-Type: application/partial-upload\r\nUpload-Complete: ?1\r\nUpload-Offset: 2\r\n";
  EXPECT_EQ(daemon.Call("PATCH", location, "llo", rest).status, 404);
  EXPECT_EQ(
      daemon.Call("PATCH", location, "llo", rest + "Authorization: Bearer the-token-of-another\r\n")
          .status,
      404);
  EXPECT_EQ(daemon.Call("PATCH", location, "llo", rest + own).status, 200);
  EXPECT_EQ(daemon.Call("GET", path).body, "hello");
  EXPECT_THAT(daemon.Call("GET", "/metrics").body, HasSubstr("\nstoker_kept_uploads 0\n"));
}

TEST(HttpApi, OversizedBody_Answers413_BeforeItIsRead) {
  net::ServerLimits limits;
  limits.max_body_bytes = 1000;
  TestDaemon daemon(TestDaemon::Config(), limits);
  net::TestPeer peer(daemon.socket_path());
  peer.Send("POST /v1/compile HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_THAT(peer.ReadAll(), AllOf(HasSubstr("HTTP/1.1 413 "), HasSubstr("1000 bytes")));
}

TEST(HttpApi, FailedCompile_EndsTheStreamWithItsError) {
  TestDaemon daemon;
  const HttpAnswer answer = daemon.Compile(FakeCall(Behaviour::kError));
  EXPECT_EQ(answer.status, 200);  // Sent with the first progress.
  const auto events = answer.events();
  ASSERT_TRUE(std::holds_alternative<wire::ErrorReply>(events.back()));
  EXPECT_EQ(std::get<wire::ErrorReply>(events.back()).code, ErrorCode::kUnimplemented);
}

TEST(HttpApi, ClientThatLeaves_CostsNothingButItself) {
  TestDaemon daemon;
  const std::string body = wire::EncodeCompileCall(FakeCall(Behaviour::kWait));
  {
    net::TestPeer peer(daemon.socket_path());
    peer.Send("POST /v1/compile HTTP/1.1\r\nHost: h\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
    WaitUntil("the compile has begun", [] { return CompilesOf(Behaviour::kWait) > 0; });
  }
  EXPECT_EQ(daemon.Call("GET", "/-/ready").status, 200);
  ReleaseWaiting();
  WaitUntil("the job has ended", [&] { return daemon.service().jobs() == 0; });
  wire::LookupRequest lookup;
  lookup.request_key = FakeCall(Behaviour::kWait).request_key;
  EXPECT_EQ(daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup)).status, 200);
}

}  // namespace
}  // namespace stoker
