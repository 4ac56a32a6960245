#include "client/cli/commands/top_view.h"

#include <gmock/gmock.h>

#include <sstream>
#include <vector>

namespace stoker::cli {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

json::value StatusOf(double hits, double misses, double requests) {
  return {{"version", "1.2.3"},
          {"pid", 42},
          {"uptime_s", 100},
          {"ready", true},
          {"requests", requests},
          {"queue", {{"running", 1}, {"waiting", 2}, {"limit", 256}, {"oldest_waiting_s", 7.5}}},
          {"connections", {{"idle", 3}, {"answering", 1}, {"reading", 0}, {"opening", 0}}},
          {"workers", {{"restarts", {{"crash", 2}, {"timeout", 0}}}}},
          {"cache", {{"max_bytes", 2048}}},
          {"stats",
           {{"hits", {{"total", hits}}},
            {"misses", {{"total", misses}}},
            {"compiles", 5},
            {"compile_failures", 1},
            {"evicted", 4},
            {"bytes", {{"stored", 1024}, {"on_disk", 512}}}}},
          {"active", json::array{{{"key", "0123456789abcdef"},
                                  {"namespace", "team"},
                                  {"model", "gpt2"},
                                  {"job", "train.py"},
                                  {"stage", "kernels"},
                                  {"done", 3},
                                  {"total", 9},
                                  {"waited_s", 1},
                                  {"running_s", 12.5}},
                                 {{"key", "fedcba9876543210"},
                                  {"namespace", "team"},
                                  {"model", "bert\x1b[2J"},
                                  {"job", ""},
                                  {"stage", "queued"},
                                  {"done", 0},
                                  {"total", 0},
                                  {"waited_s", 7.5},
                                  {"running_s", nullptr}}}},
          {"busy",
           {{"jobs", json::array{{{"name", "train.py"},
                                  {"namespace", "team"},
                                  {"hits", 10},
                                  {"misses", 1},
                                  {"compiles", 1},
                                  {"compile_seconds", 2}},
                                 {{"name", "sweep"},
                                  {"namespace", "team"},
                                  {"hits", 0},
                                  {"misses", 5},
                                  {"compiles", 5},
                                  {"compile_seconds", 1}}}},
            {"models", json::array()}}}};
}

TopFrame Frame() {
  TopFrame frame;
  frame.before.emplace();
  frame.before->unix_s = 1000;
  frame.before->status = StatusOf(100, 100, 500);
  frame.now.unix_s = 1002;
  frame.now.status = StatusOf(109, 101, 525);
  frame.now.last_minute = StatusOf(3, 1, 0);
  frame.now.last_five = StatusOf(1, 1, 0);
  frame.now.last_fifteen = StatusOf(0, 0, 0);
  return frame;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TopView, ShowsWhatSomebodyOnCallWants) {
  const std::string text = RenderTop(Frame(), 0, 0);
  const auto lines = LinesOf(text);
  EXPECT_THAT(lines, Contains("hit rate     now 90.0 %   1 min 75.0 %   5 min 50.0 %   15 min -"));
  EXPECT_THAT(lines, Contains("requests     12.5/s   connections 4 (1 answering, 3 idle)"));
  EXPECT_THAT(lines, Contains("compiles     1 running, 2 waiting of 256, oldest 7.50 s; 15 min: "
                              "5 done, 1 failed"));
  EXPECT_THAT(lines, Contains("cache        1.0 KiB of 2.0 KiB (50 %), 512 B on disk; evicted 15 "
                              "min 4, all 4"));
  EXPECT_THAT(lines, Contains("restarts     workers: 2 crash"));
  EXPECT_THAT(lines,
              Contains(AllOf(HasSubstr("12.50 s"), HasSubstr("kernels 3/9"), HasSubstr("gpt2"),
                             HasSubstr("train.py"), HasSubstr("01234567"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("7.50 s"), HasSubstr("queued"))));
  EXPECT_THAT(lines, Contains(StartsWith("q quit")));
}

TEST(TopView, WhatClientsSay_DoesNotSteerTheTerminal) {
  EXPECT_THAT(RenderTop(Frame(), 0, 0), AllOf(HasSubstr("bert?[2J"), Not(HasSubstr("\x1b"))));
}

TEST(TopView, TheFirstSampleAndARestart_HaveNoRates) {
  TopFrame frame = Frame();
  frame.before->status.as_object()["pid"] = 41;
  EXPECT_THAT(RenderTop(frame, 0, 0), HasSubstr("hit rate     now -   1 min 75.0 %"));
  frame.before.reset();
  EXPECT_THAT(RenderTop(frame, 0, 0), AllOf(HasSubstr("hit rate     now -   1 min 75.0 %"),
                                            HasSubstr("requests     -   connections")));
}

TEST(TopView, Sort_OrdersJobs) {
  TopFrame frame = Frame();
  const auto first_job = [&] {
    const std::string text = RenderTop(frame, 0, 0);
    const std::string jobs = text.substr(text.find("JOBS, 15 MIN"));
    return jobs.find("sweep") < jobs.find("train.py") ? "sweep" : "train.py";
  };
  EXPECT_STREQ(first_job(), "train.py");
  frame.sort = After(frame.sort);
  EXPECT_EQ(frame.sort, TopSort::kMisses);
  EXPECT_STREQ(first_job(), "sweep");
  frame.sort = After(frame.sort);
  EXPECT_STREQ(first_job(), "sweep");
  frame.sort = After(frame.sort);
  EXPECT_EQ(Name(frame.sort), "time");
  EXPECT_STREQ(first_job(), "train.py");
  EXPECT_EQ(After(frame.sort), TopSort::kRequests);
}

TEST(TopView, Pause_Stopping_AndErrors_Show) {
  TopFrame frame = Frame();
  frame.is_paused = true;
  frame.error = "Nobody answers.";
  frame.now.status.as_object()["ready"] = false;
  frame.now.status.as_object()["not_ready"] = "draining";
  EXPECT_THAT(RenderTop(frame, 0, 0),
              AllOf(HasSubstr("[paused]"), HasSubstr("p go on"), HasSubstr("NOT READY: draining"),
                    HasSubstr("NOT ANSWERING: Nobody answers.")));
  frame.has_keys = false;
  EXPECT_THAT(RenderTop(frame, 0, 0), Not(HasSubstr("q quit")));
}

TEST(TopView, FitsAnyTerminal) {
  TopFrame frame = Frame();
  frame.now.status.as_object()["version"] = "é模é模é模é模";
  for (std::size_t rows = 1; rows < 40; ++rows) {
    for (const std::size_t columns : {1U, 7U, 20U, 80U, 200U}) {
      const auto lines = LinesOf(RenderTop(frame, rows, columns));
      EXPECT_LE(lines.size(), rows);
      for (const std::string& line : lines) {
        const auto characters = std::count_if(line.begin(), line.end(), [](char c) {
          return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
        });
        EXPECT_LE(characters, static_cast<std::ptrdiff_t>(columns));
      }
    }
  }
  EXPECT_THAT(LinesOf(RenderTop(frame, 5, 80)).back(), StartsWith("q quit"));
}

TEST(TopView, AnAnswerOfAnotherVersion_IsShownAsFarAsItGoes) {
  TopFrame frame;
  frame.now.status = json::object{{"version", "0"}};
  frame.now.last_minute = frame.now.last_five = frame.now.last_fifteen = json::object{};
  EXPECT_THAT(RenderTop(frame, 24, 80), HasSubstr("0 running, 0 waiting"));
}

}  // namespace
}  // namespace stoker::cli
