// The C boundary: what goes wrong comes back as a status that says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "stoker/stoker.h"
#include "tests/unit/temp_folder.h"

namespace {

using stoker::TempFolder;

using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  bool ok;
  stoker_code code;
  std::string message;
};

Outcome Take(stoker_status* status) {
  if (status == nullptr) return {true, STOKER_INTERNAL, ""};
  Outcome outcome{false, stoker_status_code(status), stoker_status_message(status)};
  stoker_status_free(status);
  return outcome;
}

constexpr char kGraph[] = "graph @g(%0: f32[2]) {\n  %1 = negate(%0) : f32[2]\n  return %1\n}\n";

TEST(CInterface, GraphParse_Valid_PrintsAndHashes) {
  stoker_graph* graph = nullptr;
  ASSERT_TRUE(Take(stoker_graph_parse(kGraph, sizeof kGraph - 1, &graph)).ok);
  char* text = nullptr;
  ASSERT_TRUE(Take(stoker_graph_print(graph, &text)).ok);
  EXPECT_THAT(text, StartsWith("graph @g(%0: f32[2])"));
  stoker_text_free(text);
  char hex[65];
  stoker_graph_digest(graph, hex);
  EXPECT_EQ(std::string(hex).size(), 64U);
  stoker_graph_free(graph);
}

TEST(CInterface, GraphParse_Bad_NamesTheLine) {
  stoker_graph* graph = nullptr;
  const std::string text = "graph @g(%0: f32[2]) {\n  %1 = frobnicate(%0) : f32[2]\n  return %1\n}";
  const Outcome outcome = Take(stoker_graph_parse(text.data(), text.size(), &graph));
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.code, STOKER_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("frobnicate"));
  EXPECT_EQ(graph, nullptr);
}

TEST(CInterface, NullArguments_AreErrorsThatNameThem) {
  EXPECT_THAT(Take(stoker_graph_parse(nullptr, 0, nullptr)).message, HasSubstr("'text'"));
  EXPECT_THAT(Take(stoker_client_create(nullptr, nullptr)).message, HasSubstr("'client'"));
  EXPECT_THAT(Take(stoker_compile(nullptr, nullptr, nullptr, nullptr)).message,
              HasSubstr("'client'"));
  EXPECT_THAT(Take(stoker_executable_bind(nullptr, nullptr, nullptr, 0, nullptr)).message,
              HasSubstr("'executable'"));
}

TEST(CInterface, ClientOptions_TooSmall_NamesTheSize) {
  stoker_client_options options{};
  options.struct_size = 8;
  stoker_client* client = nullptr;
  EXPECT_THAT(Take(stoker_client_create(&options, &client)).message, HasSubstr("struct_size is 8"));
}

TEST(CInterface, SetDeviceAllocator_Half_IsRefused) {
  const auto allocate = [](void*, int32_t, size_t, void*) -> void* { return nullptr; };
  EXPECT_THAT(Take(stoker_set_device_allocator(allocate, nullptr, nullptr)).message,
              HasSubstr("both NULL, or none"));
  EXPECT_TRUE(Take(stoker_set_device_allocator(nullptr, nullptr, nullptr)).ok);
}

class UnreachableDaemon : public testing::Test {
 protected:
  void SetUp() override {
    stoker_client_options options{};
    options.struct_size = sizeof options;
    options.url = "unix:/nonexistent/stokerd.sock";
    ASSERT_TRUE(Take(stoker_client_create(&options, &client_)).ok);
    ASSERT_TRUE(Take(stoker_graph_parse(kGraph, sizeof kGraph - 1, &graph_)).ok);
  }
  void TearDown() override {
    stoker_graph_free(graph_);
    stoker_client_free(client_);
  }
  stoker_client* client_ = nullptr;
  stoker_graph* graph_ = nullptr;
};

TEST_F(UnreachableDaemon, Compile_IsUnavailable) {
  stoker_executable* executable = nullptr;
  const Outcome outcome = Take(stoker_compile(client_, graph_, nullptr, &executable));
  EXPECT_EQ(outcome.code, STOKER_UNAVAILABLE);
  EXPECT_THAT(outcome.message, HasSubstr("/nonexistent/stokerd.sock"));
}

TEST_F(UnreachableDaemon, Compile_BadOptions_AreRefusedBeforeAnythingIsSent) {
  stoker_compile_options options{};
  options.struct_size = sizeof options;
  options.numerics = "fastest";
  stoker_executable* executable = nullptr;
  const Outcome outcome = Take(stoker_compile(client_, graph_, &options, &executable));
  EXPECT_EQ(outcome.code, STOKER_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("'fastest'"));
}

TEST_F(UnreachableDaemon, RecordRequest_WithoutAManifest_IsRefused) {
  const Outcome outcome = Take(stoker_record_request(client_, graph_, nullptr));
  EXPECT_EQ(outcome.code, STOKER_FAILED_PRECONDITION);
  EXPECT_THAT(outcome.message, HasSubstr("STOKER_RECORD is not set"));
}

// A client that writes into `path`.
class Recording {
 public:
  explicit Recording(const std::string& path) {
    setenv("STOKER_RECORD", path.c_str(), 1);
    stoker_client_options options{};
    options.struct_size = sizeof options;
    options.url = "unix:/nonexistent/stokerd.sock";
    EXPECT_TRUE(Take(stoker_client_create(&options, &client_)).ok);
    unsetenv("STOKER_RECORD");
  }
  ~Recording() { stoker_client_free(client_); }
  stoker_client* client() { return client_; }

 private:
  stoker_client* client_ = nullptr;
};

TEST_F(UnreachableDaemon, RecordRequest_WritesItAndAsksNobody) {
  const TempFolder folder;
  const std::string path = folder.path() + "/manifest";
  Recording recording(path);
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = Take(stoker_record_request(recording.client(), graph_, nullptr));
    EXPECT_TRUE(outcome.ok) << outcome.message;
  }
  stoker_compile_options options{};
  options.struct_size = sizeof options;
  options.numerics = "high";
  EXPECT_TRUE(Take(stoker_record_request(recording.client(), graph_, &options)).ok);
  char* json = nullptr;
  ASSERT_TRUE(Take(stoker_manifest_describe(path.c_str(), &json)).ok);
  EXPECT_THAT(json, HasSubstr("\"requests\":2,"));
  stoker_text_free(json);
}

TEST_F(UnreachableDaemon, RecordRequest_WhereNothingCanBeWritten_SaysSo) {
  const TempFolder folder;
  Recording recording(folder.path() + "/none/manifest");
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = Take(stoker_record_request(recording.client(), graph_, nullptr));
    EXPECT_EQ(outcome.code, STOKER_UNAVAILABLE);
    EXPECT_THAT(outcome.message, HasSubstr("No such file"));
  }
}

TEST_F(UnreachableDaemon, Report_BadJson_NamesTheField) {
  EXPECT_THAT(Take(stoker_client_report(client_, "[]")).message, HasSubstr("JSON object"));
  EXPECT_THAT(Take(stoker_client_report(client_, R"({"gauges": {"a": 1}})")).message,
              HasSubstr("'gauges'"));
  EXPECT_THAT(Take(stoker_client_report(client_, R"({"counters": {"a": "1"}})")).message,
              HasSubstr("'a'"));
}

TEST_F(UnreachableDaemon, Describe_SaysThatNobodyAnswers) {
  char* json = nullptr;
  ASSERT_TRUE(Take(stoker_client_describe(client_, &json)).ok);
  EXPECT_THAT(json, HasSubstr("\"reachable\":false"));
  stoker_text_free(json);
}

TEST_F(UnreachableDaemon, DeviceTarget_OfTheCpu_AsksNobody) {
  char* target = nullptr;
  ASSERT_TRUE(Take(stoker_device_target("cpu", &target)).ok);
  char* json = nullptr;
  ASSERT_TRUE(Take(stoker_client_describe(client_, &json)).ok);
  EXPECT_THAT(json, HasSubstr("\"target\":\"" + std::string(target) + "\""));
  stoker_text_free(json);
  stoker_text_free(target);
}

TEST_F(UnreachableDaemon, DeviceWarmUp_NothingOnTheCpu_ElseNamesTheDevice) {
  EXPECT_TRUE(Take(stoker_device_warm_up("cpu")).ok);
  EXPECT_TRUE(Take(stoker_device_warm_up(nullptr)).ok);
  EXPECT_EQ(Take(stoker_device_warm_up("gpu")).code, STOKER_INVALID_ARGUMENT);
}

TEST_F(UnreachableDaemon, Stop_IsNotFound) {
  EXPECT_EQ(Take(stoker_client_stop(client_)).code, STOKER_NOT_FOUND);
}

}  // namespace
