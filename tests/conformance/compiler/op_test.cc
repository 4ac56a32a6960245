// Every op on every dtype it takes: random shapes and attributes, compiled against the interpreter.
#include <gtest/gtest.h>

#include <limits>

#include "tests/conformance/compiler/graph_generator.h"
#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
                          DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};

// Several instances of one kind in one graph are one compile.
constexpr int kInstances = 3;

class OpTest : public testing::TestWithParam<OpKind> {};

TEST_P(OpTest, RandomInstances_AgreeWithTheInterpreter) {
  const OpKind kind = GetParam();
  int tried = 0;
  for (const DType dtype : kAll) {
    const std::uint64_t seed =
        static_cast<std::uint64_t>(kind) * 1000 + static_cast<std::uint64_t>(dtype) * 10;
    GraphGenerator generator(seed);
    bool any = false;
    for (int i = 0; i < kInstances; ++i) any = generator.Add(kind, dtype) || any;
    if (!any) continue;
    const auto graph = generator.Build();
    ASSERT_TRUE(graph.ok()) << graph.error().message << " seed " << seed;
    // 16-bit results of long sums are compared at the precision of their dtype.
    const Outcome outcome = CompareWithInterpreter(*graph, RandomInputs(*graph, seed));
    EXPECT_EQ(outcome.error, "") << "seed " << seed << " " << Name(dtype);
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

std::vector<OpKind> AllKinds() {
  std::vector<OpKind> kinds;
  for (int i = 0; i < kNumOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    // extern_call is the host framework's.
    if (kind != OpKind::kExternCall) kinds.push_back(kind);
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Compiler, OpTest, testing::ValuesIn(AllKinds()),
                         [](const auto& param_info) {
                           return std::string(Name(param_info.param));
                         });

// Few indices are out of bounds above: here they are, on either side and far away.
TEST(Scatter, IndicesOutOfBounds_AreSkippedElementByElement) {
  for (const char* kind : {"assign", "add", "multiply", "maximum", "minimum"}) {
    const std::string attributes = std::string("{kind=\"") + kind + "\", index_vector_dim=1, ";
    const auto graph = ParseGraph(
        "graph @g(%0: f32[8], %1: i64[5,1], %2: f32[5], %3: f32[6,9], %4: f32[5,9], "
        "%5: f32[5,4], %6: f32[4,3,5]) {\n"
        "  %7 = scatter(%0, %1, %2) " +
        attributes +
        "update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0]} : f32[8]\n"
        "  %8 = scatter(%3, %1, %4) " +
        attributes +
        "update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0]} : f32[6,9]\n"
        "  %9 = scatter(%0, %1, %5) " +
        attributes +
        "update_window_dims=[1], inserted_window_dims=[], scatter_dims=[0]} : f32[8]\n"
        "  %10 = scatter(%3, %1, %6) " +
        attributes +
        "update_window_dims=[0,1], inserted_window_dims=[], scatter_dims=[1]} : f32[6,9]\n"
        "  return %7, %8, %9, %10\n}\n");
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      std::vector<InterpreterTensor> inputs = RandomInputs(*graph, seed);
      std::vector<std::int64_t>& indices = std::get<std::vector<std::int64_t>>(inputs[1].elements);
      indices[seed % 5] = -2;
      indices[(seed + 1) % 5] = 7;
      indices[(seed + 2) % 5] = seed % 2 == 0 ? std::numeric_limits<std::int64_t>::min()
                                              : std::numeric_limits<std::int64_t>::max();
      EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "") << kind;
    }
  }
}

}  // namespace
}  // namespace stoker::test
