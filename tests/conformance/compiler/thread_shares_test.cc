// What 16 threads get of each launch of whole models: the longest share beside the mean. It needs
// no processor of 16 cores, and says nothing of what memory and waking cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "compiler/launch_plan_of.h"
#include "compiler/pipeline.h"
#include "runtime/cpu/threads/cut.h"
#include "tests/unit/compiler/codegen/x86_targets.h"

namespace stoker {
namespace {

// As captured from transformers (one layer of each) and torchvision, for one sequence of 128 tokens
// and one image.
constexpr const char* kModels[] = {"gpt2_f32",  "gpt2_bf16",    "bert_f32",
                                   "bert_bf16", "resnet50_f32", "resnet50_bf16"};
constexpr std::array kThreads = {1, 2, 4, 8, 16};
// Chunks of min_tasks_per_chunk, each of some ten microseconds, from which on a launch must be
// shared evenly: two for each of 16 threads.
constexpr std::int64_t kLargeChunks = 32;
constexpr double kMaxImbalance = 1.15;
// From four threads to 16, of all launches' compute.
constexpr double kMinSpeedup = 2.5;

std::string TextOf(const std::string& model) {
  std::ifstream file(std::string(STOKER_CONFORMANCE_GRAPHS) + "/" + model + ".txt");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Shares {
  std::string label;
  std::int64_t tasks = 0;
  std::int64_t worth = 0;                         // Chunks.
  double us = 0;                                  // On one thread, at the roofline of one core.
  std::array<double, kThreads.size()> longest{};  // Of all tasks.
};

Shares SharesOf(const Launch& launch) {
  Shares shares{launch.label, launch.tasks.constant(), 0, 0, {}};
  shares.worth = shares.tasks / launch.min_tasks_per_chunk;
  shares.us = std::max(static_cast<double>(launch.flops.constant()) / 250e3,
                       static_cast<double>(launch.bytes.constant()) / 20e3);
  for (std::size_t i = 0; i < kThreads.size(); ++i) {
    const cpu::Cut cut = cpu::CutTasks(
        shares.tasks, {launch.min_tasks_per_chunk, launch.min_tasks_per_call}, kThreads[i]);
    std::int64_t longest = 0;
    for (int thread = 0; thread < cut.threads; ++thread) {
      longest = std::max(longest,
                         cut.BeginOf(cut.FirstOf(thread + 1)) - cut.BeginOf(cut.FirstOf(thread)));
    }
    shares.longest[i] = static_cast<double>(longest) / static_cast<double>(shares.tasks);
  }
  return shares;
}

class ThreadSharesTest : public testing::TestWithParam<Target> {
 protected:
  static std::vector<Shares> Of(const std::string& model, const Target& target) {
    const Result<Graph> graph = ParseGraph(TextOf(model));
    EXPECT_TRUE(graph.ok()) << model << ": " << (graph.ok() ? "" : graph.error().message);
    const PipelineResult pipeline = RunPipeline(*graph, target, CompileOptions()).value();
    const LaunchPlan plan = PlanLaunches(pipeline, target, "test").plan;
    std::vector<Shares> all;
    for (const PlanStep& step : plan.steps) {
      const auto& launch = std::get<Launch>(step);
      if (launch.tasks.constant() > 0) all.push_back(SharesOf(launch));
    }
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, ThreadSharesTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

TEST_P(ThreadSharesTest, Models_SixteenThreads_HaveEqualSharesOfLargeLaunches) {
  std::printf(
      "%-14s launches, of them alone; times as fast on 2, 4, 8, 16 threads by shares alone; "
      "worst large launch\n",
      "");
  for (const char* const model : kModels) {
    std::array<double, kThreads.size()> us{};
    int alone = 0;
    double worst = 1;
    std::string worst_label;
    const std::vector<Shares> all = Of(model, GetParam());
    for (const Shares& shares : all) {
      for (std::size_t i = 0; i < kThreads.size(); ++i) us[i] += shares.us * shares.longest[i];
      alone += shares.longest.back() == 1;
      const double imbalance = shares.longest.back() * kThreads.back();
      if (shares.worth < kLargeChunks) continue;
      EXPECT_LE(imbalance, kMaxImbalance)
          << model << ": " << shares.label << ", " << shares.tasks << " tasks";
      if (imbalance > worst) {
        worst = imbalance;
        worst_label = shares.label + ", " + std::to_string(shares.tasks) + " tasks";
      }
    }
    std::printf("%-14s %3zu, %2d;  %5.2f %5.2f %5.2f %5.2f;  %.3f %s\n", model, all.size(), alone,
                us[0] / us[1], us[0] / us[2], us[0] / us[3], us[0] / us[4], worst,
                worst_label.c_str());
    EXPECT_GE(us[2] / us[4], kMinSpeedup) << model;
  }
}

TEST_P(ThreadSharesTest, Models_MoreThreads_NeverMakeAShareLonger) {
  for (const char* const model : kModels) {
    for (const Shares& shares : Of(model, GetParam())) {
      EXPECT_TRUE(std::is_sorted(shares.longest.rbegin(), shares.longest.rend()))
          << model << ": " << shares.label;
    }
  }
}

}  // namespace
}  // namespace stoker
