// Reductions in two phases give what they gave in one, whatever dims are cut.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/machine/gpu_machine.h"
#include "compiler/transform/passes.h"
#include "protocol/graph/interpret/interpreter.h"

namespace stoker {
namespace {

struct Row {
  const char* name;
  const char* graph;
  bool is_split;
};

// Of whole numbers, so that sums are exact in any order.
InterpreterTensor Numbers(const TensorType& type) {
  std::vector<std::int64_t> shape;
  for (const SymDim& size : type.shape) shape.push_back(size.constant());
  std::vector<float> values(static_cast<std::size_t>(type.shape.NumElements().constant()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 13) - 6;
  return InterpreterTensor::FromBytes(
      type.dtype, shape,
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

class SplitReductionsTest : public testing::TestWithParam<Row> {};

TEST_P(SplitReductionsTest, GivesTheSame) {
  const auto graph = ParseGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto machine = GpuMachineOf(Target::Parse("cuda/sm_90a").value()).value();
  const auto split = SplitReductions(*graph, machine.fusion_limits());
  ASSERT_TRUE(split.ok()) << split.error().message;
  EXPECT_EQ(split->nodes().size() > graph->nodes().size(), GetParam().is_split);
  std::vector<InterpreterTensor> inputs;
  for (const auto& input : graph->inputs()) inputs.push_back(Numbers(graph->type(input.value)));
  const auto expected = Interpret(*graph, inputs).value();
  const auto found = Interpret(*split, inputs).value();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].ToBytes(), expected[i].ToBytes());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SplitReductionsTest,
    testing::Values(Row{"ChannelsLast",
                        "graph @g(%x: f32[4,28,28,96]) {\n"
                        "  %t = transpose(%x) {dims=[0,3,1,2]} : f32[4,96,28,28]\n"
                        "  %s = reduce(%t) {dims=[0,2,3], kind=\"add\"} : f32[96]\n"
                        "  return %s\n}\n",
                        true},
                    Row{"ChannelsFirst",
                        "graph @g(%x: f32[4,96,28,28]) {\n"
                        "  %s = reduce(%x) {dims=[0,2,3], kind=\"add\"} : f32[96]\n"
                        "  return %s\n}\n",
                        false},
                    Row{"Groups",
                        "graph @g(%x: f32[4,28,28,96]) {\n"
                        "  %t = transpose(%x) {dims=[0,3,1,2]} : f32[4,96,28,28]\n"
                        "  %r = reshape(%t) : f32[4,8,12,784]\n"
                        "  %s = reduce(%r) {dims=[0,3], kind=\"maximum\"} : f32[8,12]\n"
                        "  return %s\n}\n",
                        true},
                    Row{"PrimeLength",
                        "graph @g(%x: f32[16,197,96]) {\n"
                        "  %s = reduce(%x) {dims=[0,1], kind=\"add\"} : f32[96]\n"
                        "  return %s\n}\n",
                        true},
                    Row{"MiddleDims",
                        "graph @g(%x: f32[3,64,32,96]) {\n"
                        "  %s = reduce(%x) {dims=[1,2], kind=\"add\"} : f32[3,96]\n"
                        "  return %s\n}\n",
                        true},
                    Row{"OuterDimKept",
                        "graph @g(%x: f32[64,5,64,40]) {\n"
                        "  %s = reduce(%x) {dims=[0,2], kind=\"minimum\"} : f32[5,40]\n"
                        "  return %s\n}\n",
                        true},
                    Row{"Concatenated",
                        "graph @g(%x: f32[4,28,28,40], %y: f32[4,28,28,56]) {\n"
                        "  %a = transpose(%x) {dims=[0,3,1,2]} : f32[4,40,28,28]\n"
                        "  %b = transpose(%y) {dims=[0,3,1,2]} : f32[4,56,28,28]\n"
                        "  %c = concatenate(%a, %b) {dim=1} : f32[4,96,28,28]\n"
                        "  %s = reduce(%c) {dims=[0,2,3], kind=\"add\"} : f32[96]\n"
                        "  return %s\n}\n",
                        true},
                    Row{"Few",
                        "graph @g(%x: f32[256,96]) {\n"
                        "  %s = reduce(%x) {dims=[0], kind=\"add\"} : f32[96]\n"
                        "  return %s\n}\n",
                        false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace stoker
