#include "daemon/admin/pages/admin_pages.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "daemon/service/worker/worker_sandbox.h"
#include "tests/unit/daemon/admin/test_daemon.h"

namespace stoker {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Samples of a page in the Prometheus text format 0.0.4, by name and labels as written. What breaks
// the format fails the test.
std::map<std::string, double> SamplesOf(const std::string& page) {
  static const std::regex kSample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*")*\})? ([^ ]+))re");
  static const std::regex kType(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram))");
  static const std::regex kHelp(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) \S[^\n]*)");
  std::map<std::string, double> samples;
  std::set<std::string> families;
  std::string helped;
  std::string typed;
  EXPECT_TRUE(page.ends_with("\n"));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, kHelp)) {
      helped = match[1];
      EXPECT_TRUE(families.insert(helped).second) << "family comes twice: " << line;
    } else if (std::regex_match(line, match, kType)) {
      typed = match[1];
      EXPECT_EQ(typed, helped) << line;
      EXPECT_EQ(typed.ends_with("_total"), match[2] == "counter") << line;
    } else if (std::regex_match(line, match, kSample)) {
      const std::string name = match[1];
      const bool of_histogram =
          name == typed + "_bucket" || name == typed + "_sum" || name == typed + "_count";
      EXPECT_TRUE(of_histogram ? typed.ends_with("_seconds") : name == typed) << line;
      std::size_t used = 0;
      const double value = std::stod(match[3], &used);
      EXPECT_EQ(used, match[3].str().size()) << line;
      EXPECT_TRUE(samples.emplace(match[1].str() + match[2].str(), value).second) << line;
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }
  return samples;
}

TEST(AdminPages, Metrics_FreshDaemon_IsValid) {
  TestDaemon daemon;
  const HttpAnswer answer = daemon.Call("GET", "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  const auto samples = SamplesOf(answer.body);
  EXPECT_EQ(samples.at("stoker_compiles_total"), 0);
  EXPECT_EQ(samples.at("stoker_quarantined_total"), 0);
}

TEST(AdminPages, Metrics_CountWhatHappened_LabelsAreEscaped) {
  TestDaemon daemon;
  const wire::CompileCall call = FakeCall(Behaviour::kGood);
  wire::LookupRequest lookup;
  lookup.request_key = call.request_key;
  daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  daemon.Compile(call);
  daemon.Compile(FakeCall(Behaviour::kError));
  daemon.Compile(FakeCall(Behaviour::kError));
  daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  daemon.Call("POST", "/v1/report",
              wire::EncodeReport({"default", {}, {{"a\"b\\c\nd}", 4}, {"aten.x", 1}}}));
  const auto samples = SamplesOf(daemon.Call("GET", "/metrics").body);
  EXPECT_EQ(samples.at("stoker_hits_total{tier=\"memory\"}"), 1);
  EXPECT_EQ(samples.at("stoker_misses_total{reason=\"no entry\"}"), 1);
  for (const std::string label : {"kind_", "namespace_"}) {
    const auto of = [&](const std::string& name) {
      return samples.at("stoker_" + label + name + "_total{" +
                        (label == "kind_" ? "kind=\"artifact\"}" : "namespace=\"default\"}"));
    };
    EXPECT_EQ(of("hits"), 1);
    EXPECT_EQ(of("misses"), 1);
    EXPECT_EQ(of("compiles"), 1);
    EXPECT_GT(of("compile_seconds"), 0);
    EXPECT_GT(of("seconds_saved"), 0);
  }
  EXPECT_EQ(samples.at("stoker_compiles_total"), 1);
  EXPECT_EQ(samples.at("stoker_compile_failures_total"), 1);
  EXPECT_EQ(samples.at("stoker_compile_failures_by_class_total{class=\"diagnostic\"}"), 1);
  EXPECT_EQ(samples.at("stoker_diagnostics_served_total"), 1);
  EXPECT_EQ(samples.at("stoker_compile_queue_duration_seconds_count"), 2);
  EXPECT_EQ(samples.at("stoker_compile_duration_seconds_count"), 2);
  EXPECT_EQ(samples.at("stoker_compile_duration_seconds_bucket{le=\"+Inf\"}"), 2);
  EXPECT_EQ(samples.at("stoker_worker_restarts_total{reason=\"crash\"}"), 0);
  EXPECT_EQ(samples.at("stoker_kernels_compiled_total"), 2);
  EXPECT_GT(samples.at("stoker_compile_seconds_total"), 0);
  EXPECT_GT(samples.at("stoker_seconds_saved_total"), 0);
  EXPECT_GT(samples.at("stoker_cache_bytes{tier=\"memory\"}"), 0);
  EXPECT_EQ(samples.at("stoker_fallback_ops_total{op=\"a\\\"b\\\\c?d}\"}"), 4);
  EXPECT_EQ(samples.at("stoker_fallback_ops_total{op=\"aten.x\"}"), 1);
  const std::string lookups = "{route=\"/v1/lookup\"";
  EXPECT_EQ(samples.at("stoker_http_requests_total" + lookups + ",code=\"404\"}"), 1);
  EXPECT_EQ(samples.at("stoker_http_requests_total" + lookups + ",code=\"200\"}"), 1);
  EXPECT_EQ(samples.at("stoker_http_request_duration_seconds_count" + lookups + "}"), 2);
  EXPECT_EQ(samples.at("stoker_http_request_duration_seconds_bucket" + lookups + ",le=\"+Inf\"}"),
            2);
}

TEST(AdminPages, PreparedWeights_AreCountedInMetricsAndStatus) {
  TestDaemon daemon;
  EXPECT_EQ(SamplesOf(daemon.Call("GET", "/metrics").body).at("stoker_prepared_found_total"), 0);
  const auto report = [&](std::string_view event) {
    daemon.Call("POST", "/v1/report",
                wire::EncodeReport({"default", {{std::string(event), 1}}, {}}));
  };
  report(wire::kPreparedFound);
  report(wire::kPreparedFound);
  report(wire::kPreparedMade);
  const auto samples = SamplesOf(daemon.Call("GET", "/metrics").body);
  EXPECT_EQ(samples.at("stoker_prepared_found_total"), 2);
  EXPECT_EQ(samples.at("stoker_prepared_made_total"), 1);
  const json::value status = json::parse(daemon.Call("GET", "/status").body);
  EXPECT_EQ(status.at("stats").at("prepared").at("found"), 2);
  EXPECT_EQ(status.at("stats").at("prepared").at("made"), 1);
}

TEST(AdminPages, Status_HasWhatStatsPrints) {
  TestDaemon daemon;
  wire::CompileCall call = FakeCall(Behaviour::kGood);
  call.ns = "team-a";
  wire::LookupRequest lookup;
  lookup.ns = call.ns;
  lookup.request_key = call.request_key;
  daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  daemon.Compile(call);
  daemon.Call("POST", "/v1/lookup", wire::EncodeLookupRequest(lookup));
  const HttpAnswer answer = daemon.Call("GET", "/status");
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: application/json\r\n"));
  const json::value status = json::parse(answer.body);
  EXPECT_EQ(status.at("ready"), true);
  EXPECT_EQ(status.at("compiler_epoch"), "fake-1");
  EXPECT_EQ(status.at("pid"), getpid());
  EXPECT_EQ(status.at("queue").at("running"), 0);
  EXPECT_EQ(status.at("queue").at("limit"), TestDaemon::Config().queue_limit);
  EXPECT_EQ(status.at("workers").at("protections").as_array().size(), kWorkerProtections.size());
  EXPECT_EQ(status.at("workers").at("missing_protections").as_array().size(), 0U);
  EXPECT_EQ(status.at("workers").at("target_kinds"), json::array({"cpu", "cuda"}));
  EXPECT_EQ(status.at("workers").at("restarts").at("crash"), 0);
  const json::value& stats = status.at("stats");
  EXPECT_EQ(stats.at("hits").at("total"), 1);
  EXPECT_EQ(stats.at("hits").at("memory"), 1);
  EXPECT_EQ(stats.at("misses").at("total"), 1);
  EXPECT_EQ(stats.at("misses").at("reasons").at("no entry"), 1);
  EXPECT_EQ(stats.at("compiles"), 1);
  EXPECT_EQ(stats.at("kernels").at("compiled"), 2);
  EXPECT_EQ(stats.at("quarantined"), 0);
  EXPECT_GT(stats.at("seconds_saved").to_number<double>(), 0);
  EXPECT_GT(stats.at("bytes").at("stored").to_number<double>(), 0);
  const json::value& team = stats.at("namespaces").at("team-a");
  EXPECT_EQ(team.at("hits"), 1);
  EXPECT_EQ(team.at("misses"), 1);
  EXPECT_EQ(team.at("compiles"), 1);
  EXPECT_GT(team.at("seconds_saved").to_number<double>(), 0);
  EXPECT_GT(team.at("bytes").to_number<double>(), 0);
  for (const char* kind : {"artifact", "kernel", "constant", "graph"}) {
    EXPECT_GT(stats.at("kinds").at(kind).at("bytes").to_number<double>(), 0) << kind;
  }
  EXPECT_EQ(stats.at("kinds").at("kernel").at("compiles"), 2);
  EXPECT_EQ(stats.at("kinds").at("artifact").at("hits"), 1);
}

TEST(AdminPages, Status_Since_CountsWhatWasAddedAfterAndSaysWhenThatBegins) {
  TestDaemon daemon;
  daemon.Compile(FakeCall(Behaviour::kGood));
  const json::value status = json::parse(daemon.Call("GET", "/status?since=60").body);
  EXPECT_EQ(status.at("stats").at("compiles"), 1);
  const json::value& window = status.at("window");
  EXPECT_EQ(window.at("end").as_int64() - window.at("begin").as_int64(), 60);
  EXPECT_FALSE(json::parse(daemon.Call("GET", "/status").body).as_object().contains("window"));
}

TEST(AdminPages, Status_WrongQuery_IsRefusedWithItsLimit) {
  TestDaemon daemon;
  for (const std::string query : {"since=0", "since=-1", "since=7776001", "since=1h",
                                  "since=", "since=99999999999999999999"}) {
    const HttpAnswer answer = daemon.Call("GET", "/status?" + query);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_THAT(answer.error().message, AllOf(HasSubstr(query), HasSubstr("7776000")));
  }
}

TEST(AdminPages, HealthAndReadiness_DifferWhileDraining) {
  TestDaemon daemon;
  EXPECT_EQ(daemon.Call("GET", "/-/healthy").status, 200);
  EXPECT_EQ(daemon.Call("GET", "/-/ready").status, 200);
  EXPECT_EQ(daemon.Call("HEAD", "/-/ready").body, "");
  daemon.service().Drain();
  EXPECT_EQ(daemon.Call("GET", "/-/healthy").status, 200);
  const HttpAnswer ready = daemon.Call("GET", "/-/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, "draining\n");
  EXPECT_THAT(ready.head, HasSubstr("Retry-After: "));
}

}  // namespace
}  // namespace stoker
