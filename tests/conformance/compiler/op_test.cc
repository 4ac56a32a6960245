// Every op on every dtype it takes: random shapes and attributes, compiled against the interpreter.
#include <gtest/gtest.h>

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
    if (kind != OpKind::kExternCall) kinds.push_back(kind);
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Compiler, OpTest, testing::ValuesIn(AllKinds()),
                         [](const auto& param_info) {
                           return std::string(Name(param_info.param));
                         });

}  // namespace
}  // namespace stoker::test
