// rng_bit_generator against the interpreter: counters that carry, sizes that end within a block,
// sizes that vary. The harness runs each call on one thread and on two, for the same bits.
#include <gtest/gtest.h>

#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

using Integers = std::vector<std::int64_t>;

InterpreterTensor StateOf(Integers words) {
  InterpreterTensor state =
      InterpreterTensor::Zeros(DType::kI64, {static_cast<std::int64_t>(words.size())});
  state.elements = std::move(words);
  return state;
}

constexpr std::int64_t kKey = static_cast<std::int64_t>(0x299f31d0a4093822);

TEST(RandomBits, AnyStateAndSize_AgreeWithTheInterpreter) {
  const std::vector<Integers> states = {{kKey, 0},    {0, 0xfffffff0}, {-1, -7},
                                        {kKey, 0, 0}, {-1, -1, -1},    {kKey, -3, 0xffffffff}};
  for (const Integers& state : states) {
    const std::string type = "i64[" + std::to_string(state.size()) + "]";
    for (const char* bits :
         {"i32[1]", "i32[3,7]", "i64[2,129]", "i32[40,64]", "i64[]", "i32[0,2]"}) {
      const auto graph =
          ParseGraph("graph @g(%s: " + type + ") {\n  %t, %b = rng_bit_generator(%s) " +
                     "{algorithm=\"PHILOX\"} : " + type + ", " + bits + "\n  return %t, %b\n}\n");
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      EXPECT_EQ(CompareWithInterpreter(*graph, {StateOf(state)}).error, "");
    }
  }
}

// One that counts on from another's state, and arithmetic on bits in the same kernels.
TEST(RandomBits, SymbolicSizes_AgreeWithTheInterpreter) {
  const auto graph = ParseGraph(R"(
graph @g(%s: i64[3], %x: f32[s0,6]) {
  %t, %a = rng_bit_generator(%s) {algorithm="PHILOX"} : i64[3], i32[s0,6]
  %u, %b = rng_bit_generator(%t) {algorithm="PHILOX"} : i64[3], i64[s0]
  %m = constant() value(8388607) : i32[s0,6]
  %p = and(%a, %m) : i32[s0,6]
  %f = convert(%p) : f32[s0,6]
  %y = multiply(%f, %x) : f32[s0,6]
  return %u, %b, %y
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t size : {0, 1, 2, 5, 64, 1001}) {
    calls.push_back(RandomInputs(*graph, calls.size(), {{0, size}}));
    calls.back()[0] = StateOf({kKey, -2, 7});
  }
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

}  // namespace
}  // namespace stoker::test
