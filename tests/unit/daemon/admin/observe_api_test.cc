#include "daemon/admin/api/observe_api.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <fstream>

#include "tests/unit/daemon/admin/test_daemon.h"
#include "tests/unit/daemon/net/test_peer.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

namespace json = boost::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::SizeIs;

constexpr char kJob[] = "X-Stoker-Job: train.py\r\n";

std::string Hex(const wire::CompileCall& call) { return call.request_key.ToHex(); }

void MissIt(TestDaemon& daemon, const wire::CompileCall& call, const std::string& headers = kJob) {
  wire::LookupRequest lookup;
  lookup.ns = call.ns;
  lookup.request_key = call.request_key;
  lookup.graph_digest = call.graph_digest;
  lookup.fields = FieldsOf(call.graph_digest, call.target, call.options, call.compiler_epoch);
  EXPECT_EQ(daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup), headers).status,
            404);
}

json::value Get(TestDaemon& daemon, const std::string& path) {
  const HttpAnswer answer = daemon.Call("GET", path);
  EXPECT_EQ(answer.status, 200) << path << ": " << answer.error().message;
  return answer.status == 200 ? json::parse(answer.body) : json::value();
}

std::vector<std::string> NamesOf(const json::value& trace, std::string_view category) {
  std::vector<std::string> names;
  for (const json::value& event : trace.at("traceEvents").as_array()) {
    if (event.at("ph").as_string() == "X" && event.at("cat").as_string() == category) {
      names.emplace_back(event.at("name").as_string());
    }
  }
  return names;
}

TEST(ObserveApi, Misses_OfAJobAndAKey_NameTheNearestAndItsField) {
  TestDaemon daemon;
  const wire::CompileCall stored = FakeCall(Behaviour::kGood);
  const wire::CompileCall missed = FakeCall(Behaviour::kGood, 1);
  ASSERT_EQ(daemon.Compile(stored).status, 200);
  MissIt(daemon, missed);
  MissIt(daemon, missed);
  for (const std::string& path :
       {std::string("/v1/misses?job=train.py"), "/v1/misses?key=" + Hex(missed),
        "/v1/misses?key=" + Hex(missed).substr(0, 8)}) {
    const json::value known = Get(daemon, path);
    ASSERT_THAT(known.at("misses").as_array(), SizeIs(1)) << path;
    const json::value& miss = known.at("misses").at(0);
    EXPECT_EQ(miss.at("key").as_string(), Hex(missed));
    EXPECT_EQ(miss.at("job").as_string(), "train.py");
    EXPECT_EQ(miss.at("namespace").as_string(), "default");
    EXPECT_EQ(miss.at("times").as_int64(), 2);
    EXPECT_EQ(miss.at("reason").as_string(), "graph is new");
    EXPECT_EQ(miss.at("nearest").at("key").as_string(), Hex(stored));
    EXPECT_EQ(miss.at("nearest").at("field").as_string(), "graph");
    EXPECT_NE(miss.at("nearest").at("theirs"), miss.at("nearest").at("ours"));
  }
  EXPECT_THAT(Get(daemon, "/v1/misses?job=other").at("jobs").as_array(),
              Contains(json::value("train.py")));
}

TEST(ObserveApi, Misses_OfAStoredKey_CompareItWithTheOthers) {
  TestDaemon daemon;
  const wire::CompileCall a = FakeCall(Behaviour::kGood);
  const wire::CompileCall b = FakeCall(Behaviour::kGood, 1);
  ASSERT_EQ(daemon.Compile(a).status, 200);
  json::value known = Get(daemon, "/v1/misses?key=" + Hex(a));
  ASSERT_THAT(known.at("stored").as_array(), SizeIs(1));
  EXPECT_EQ(known.at("stored").at(0).at("label").as_string(), "fake 0");
  EXPECT_TRUE(known.at("stored").at(0).at("nearest").is_null());  // It is alone.
  ASSERT_EQ(daemon.Compile(b).status, 200);
  known = Get(daemon, "/v1/misses?key=" + Hex(a));
  EXPECT_EQ(known.at("stored").at(0).at("nearest").at("key").as_string(), Hex(b));
  EXPECT_EQ(known.at("stored").at(0).at("nearest").at("field").as_string(), "graph");
  EXPECT_THAT(known.at("keys").as_array(), SizeIs(1));
  EXPECT_THAT(Get(daemon, "/v1/misses?key=" + std::string(64, '0')).at("keys").as_array(),
              SizeIs(0));
}

TEST(ObserveApi, WhatIsNoKeyOrJob_IsRefused) {
  TestDaemon daemon;
  for (const std::string query : {"", "?", "?key=0123456", "?key=0123456789ABCDEF", "?key=wxyzwxyz",
                                  "?job=", "?job=a,b", "?job=a&key=01234567", "?what=1"}) {
    EXPECT_EQ(daemon.Call("GET", "/v1/misses" + query).status, 400) << query;
  }
  EXPECT_EQ(daemon.Call("GET", "/v1/misses?key=" + std::string(65, '0')).status, 400);
  for (const std::string path : {"", "0123456", "wxyzwxyz", "latest?anew=1", "latest?what=1"}) {
    EXPECT_EQ(daemon.Call("GET", "/v1/traces/" + path).status, 400) << path;
  }
}

TEST(ObserveApi, Trace_OfACompile_HasTheDaemonsAndTheWorkersSteps) {
  TestDaemon daemon;
  EXPECT_EQ(daemon.Call("GET", "/v1/traces/latest").status, 404);
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  ASSERT_EQ(daemon
                .Call("POST", "/v1/compile", wire::EncodeCompileCall(call),
                      std::string(kJob) + "X-Request-Id: id-1\r\n")
                .status,
            200);
  for (const std::string& which : {Hex(call), Hex(call).substr(0, 8), std::string("latest")}) {
    const json::value trace = Get(daemon, "/v1/traces/" + which);
    EXPECT_EQ(trace.at("otherData").at("key").as_string(), Hex(call));
    EXPECT_EQ(trace.at("otherData").at("request_id").as_string(), "id-1");
    EXPECT_EQ(trace.at("otherData").at("job").as_string(), "train.py");
    EXPECT_EQ(NamesOf(trace, "daemon"),
              (std::vector<std::string>{"queue", "hand over", "compile", "check", "store"}));
    EXPECT_THAT(NamesOf(trace, "compile"), IsSupersetOf({"decode", "verify", "fake", "encode"}));
    EXPECT_EQ(NamesOf(trace, "request"), std::vector<std::string>{"fake 0"});
  }
  EXPECT_EQ(daemon.Call("GET", "/v1/traces/latest?namespace=other").status, 404);
  EXPECT_EQ(daemon.Call("GET", "/v1/traces/" + std::string(64, '0')).status, 404);
}

TEST(ObserveApi, Trace_Anew_CompilesAndStoresNothing) {
  TestDaemon daemon;
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  EXPECT_EQ(daemon.Call("GET", "/v1/traces/" + Hex(call) + "?anew=1").status, 404);
  ASSERT_EQ(daemon.Compile(call).status, 200);
  const json::value trace = Get(daemon, "/v1/traces/" + Hex(call) + "?anew=1");
  EXPECT_EQ(CompilesOf(Behaviour::kGood), 2);
  EXPECT_EQ(NamesOf(trace, "daemon"),
            (std::vector<std::string>{"queue", "hand over", "compile", "check"}));
  EXPECT_THAT(NamesOf(trace, "compile"), Contains("fake"));
  EXPECT_EQ(daemon.statistics().Total("compiles"), 1);
}

TEST(ObserveApi, OtherNamespaces_AreNotSeen) {
  TempFolder folder;
  const std::string token = "secret-token-of-team-a-only";
  const std::string path = folder.path() + "/tokens.toml";
  std::ofstream(path) << "[[token]]\nname = \"a\"\nsha256 = \"" << Sha256Of(token).ToHex()
                      << "\"\nscopes = [\"read\", \"write\"]\nnamespaces = [\"a\"]\n";
  TestDaemon daemon(TestDaemon::Config(), {}, {.own_uid = geteuid(), .token_file = path});
  const std::string as_a = "Authorization: Bearer " + token + "\r\n";
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  call.ns = "b";
  MissIt(daemon, call);
  ASSERT_EQ(daemon.Compile(call).status, 200);
  const auto get = [&](const std::string& what) { return daemon.Call("GET", what, "", as_a); };
  EXPECT_EQ(get("/v1/traces/" + Hex(call)).status, 404);
  EXPECT_EQ(get("/v1/traces/latest").status, 404);
  EXPECT_EQ(get("/v1/traces/latest?namespace=b").status, 403);
  EXPECT_EQ(get("/v1/traces/" + Hex(call) + "?anew=1").status, 404);
  for (const std::string& what :
       {"/v1/misses?key=" + Hex(call), std::string("/v1/misses?job=train.py")}) {
    const json::value known = json::parse(get(what).body);
    EXPECT_THAT(known.at("misses").as_array(), SizeIs(0)) << what;
  }
  EXPECT_THAT(json::parse(get("/v1/misses?key=" + Hex(call)).body).at("stored").as_array(),
              SizeIs(0));
  EXPECT_THAT(json::parse(get("/v1/misses?job=train.py").body).at("jobs").as_array(), SizeIs(0));
  const json::value status = json::parse(get("/status").body);
  EXPECT_THAT(status.at("busy").at("jobs").as_array(), SizeIs(0));
  EXPECT_THAT(status.at("busy").at("models").as_array(), SizeIs(0));
  EXPECT_THAT(Get(daemon, "/status").at("busy").at("jobs").as_array(), SizeIs(1));
  EXPECT_EQ(daemon.Call("GET", "/v1/traces/" + Hex(call)).status, 200);
}

TEST(ObserveApi, Status_ShowsWhatRunsAndWhatWaits) {
  TestDaemon daemon;
  net::TestPeer running(daemon.socket_path());
  net::TestPeer waiting(daemon.socket_path());
  const auto ask = [](net::TestPeer& peer, int variant) {
    const std::string body = wire::EncodeCompileCall(FakeCall(Behaviour::kWait, variant));
    peer.Send("POST /v1/compile HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + std::string(kJob) +
              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  ask(running, 0);
  WaitUntil("it runs", [] { return CompilesOf(Behaviour::kWait) == 1; });
  ask(waiting, 1);
  json::value status;
  WaitUntil("both are there", [&] {
    status = Get(daemon, "/status");
    return status.at("active").as_array().size() == 2;
  });
  const json::value& first = status.at("active").at(0);
  EXPECT_EQ(first.at("model").as_string(), "fake 0");
  EXPECT_EQ(first.at("job").as_string(), "train.py");
  EXPECT_TRUE(first.at("running_s").is_number());
  const json::value& second = status.at("active").at(1);
  EXPECT_EQ(second.at("stage").as_string(), "queued");
  EXPECT_TRUE(second.at("running_s").is_null());
  EXPECT_GT(status.at("queue").at("oldest_waiting_s").to_number<double>(), 0);
  EXPECT_GE(status.at("connections").at("answering").to_number<int>(), 3);
  std::string metrics;
  WaitUntil("those who asked before are gone", [&] {
    metrics = daemon.Call("GET", "/metrics").body;
    return metrics.find("\nstoker_connections{state=\"answering\"} 3\n") != std::string::npos;
  });
  EXPECT_THAT(metrics, HasSubstr("\nstoker_connections{state=\"reading\"} 0\n"));
  ReleaseWaiting();
  running.ReadAll();
  waiting.ReadAll();
  EXPECT_THAT(Get(daemon, "/status").at("active").as_array(), SizeIs(0));
}

}  // namespace
}  // namespace stoker
