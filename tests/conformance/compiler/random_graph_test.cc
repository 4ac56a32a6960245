// Random graphs of many ops, compiled against the interpreter. STOKER_SEEDS=first:count runs
// others.
#include <gtest/gtest.h>

#include "tests/conformance/compiler/graph_generator.h"
#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

TEST(RandomGraph, Chains_AgreeWithTheInterpreter) {
  // Errors of a chain add up; 16-bit floats are rounded only where they are stored or converted.
  const Tolerance tolerance{1e-8, 1e-3, 5e-2, 3e-1};
  int failures = 0;
  for (const std::uint64_t seed : Seeds(1, 60)) {
    if (failures == 3) break;
    GraphGenerator generator(seed);
    generator.AddChain(5 + static_cast<int>(seed % 36));
    const auto graph = generator.Build();
    ASSERT_TRUE(graph.ok()) << graph.error().message << " seed " << seed;
    const Outcome outcome = CompareWithInterpreter(*graph, RandomInputs(*graph, seed), tolerance);
    EXPECT_EQ(outcome.error, "") << "seed " << seed;
    failures += outcome.error.empty() ? 0 : 1;
  }
}

}  // namespace
}  // namespace stoker::test
