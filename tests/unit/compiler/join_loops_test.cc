// Which loops of a program for a GPU share a kernel.
#include "compiler/join_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/pipeline.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> LabelsOf(const std::string& text) {
  const auto graph = ParseGraph(text);
  if (!graph.ok()) return {graph.error().message};
  const auto result = RunPipeline(*graph, Target::Parse("cuda/sm_90a").value(), {});
  if (!result.ok()) return {result.error().message};
  std::vector<std::string> labels;
  for (const Step& step : result->program.steps) {
    const bool is_host = std::holds_alternative<HostOp>(step.work);
    labels.push_back(is_host ? "host" : step.label);
  }
  return labels;
}

TEST(JoinLoops, OfManySmallUpdates_IsOneKernel) {
  std::string inputs;
  std::string nodes;
  std::string outputs;
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    const std::string type = " : f32[" + std::to_string(100 + i) + "]";
    inputs +=
        (i == 0 ? "%p" : ", %p") + n + ":" + type.substr(2) + ", %g" + n + ":" + type.substr(2);
    nodes += "  %q" + n + " = subtract(%p" + n + ", %g" + n + ")" + type + "\n";
    outputs += (i == 0 ? "%q" : ", %q") + n + " updates %p" + n;
  }
  EXPECT_THAT(LabelsOf("graph @g(" + inputs + ") {\n" + nodes + "  return " + outputs + "\n}\n"),
              ElementsAre("subtract f32[100] and 19 beside it"));
}

TEST(JoinLoops, OfOneThatReadsWhatAnotherWritesOver_AreTwoKernels) {
  EXPECT_THAT(LabelsOf(R"(
graph @g(%x: f32[33,65], %y: f32[65,33]) {
  %t = transpose(%x) {dims=[1,0]} : f32[65,33]
  %a = add(%t, %y) : f32[65,33]
  %b = multiply(%x, %x) : f32[33,65]
  return %a, %b updates %x
})"),
              ElementsAre("add f32[65,33]", "multiply f32[33,65]"));
}

TEST(JoinLoops, OfOneThatNobodyReadsAnyMore_RunsWhereTheFirstOneStood) {
  EXPECT_THAT(LabelsOf(R"(
graph @g(%x: f32[33], %y: f32[65], %z: f32[9]) {
  %a = add(%y, %y) : f32[65]
  %b = multiply(%x, %x) : f32[33]
  %c = add(%z, %z) : f32[9]
  return %a updates %y, %b updates %x, %c
})"),
              ElementsAre("add f32[9] and 2 beside it"));
}

TEST(JoinLoops, OfUpdatesBehindACallOfTheHost_StayThere) {
  const std::vector<std::string> labels = LabelsOf(R"(
graph @g(%x: f32[33], %y: f32[65]) {
  %a = add(%y, %y) : f32[65]
  %h = extern_call(%a) {target="op"} : f32[65]
  %b = multiply(%x, %x) : f32[33]
  return %h, %b updates %x
})");
  EXPECT_THAT(labels, ElementsAre("add f32[65]", "host", "multiply f32[33]"));
}

}  // namespace
}  // namespace stoker
