// Random graphs of many ops, compiled against the interpreter. STOKER_SEEDS=first:count runs
// others.
#include <gtest/gtest.h>

#include "tests/conformance/compiler/graph_generator.h"
#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

void CheckChains(const std::vector<std::uint64_t>& seeds, GraphGenerator::Scale scale) {
  // Errors of a chain add up; 16-bit floats are rounded only where they are stored or converted.
  const Tolerance tolerance{1e-8, 1e-3, 5e-2, 3e-1};
  int failures = 0;
  for (const std::uint64_t seed : seeds) {
    if (failures == 3) break;
    GraphGenerator generator(seed, scale);
    generator.AddChain(5 + static_cast<int>(seed % 36));
    const auto graph = generator.Build();
    ASSERT_TRUE(graph.ok()) << graph.error().message << " seed " << seed;
    const Outcome outcome = CompareWithInterpreter(*graph, RandomInputs(*graph, seed), tolerance);
    EXPECT_EQ(outcome.error, "") << "seed " << seed;
    failures += outcome.error.empty() ? 0 : 1;
  }
}

TEST(RandomGraph, Chains_AgreeWithTheInterpreter) {
  CheckChains(Seeds(1, 60), GraphGenerator::Scale::kSmall);
}

TEST(RandomGraph, ChainsOfEmptyAndSingleElements_AgreeWithTheInterpreter) {
  CheckChains(Seeds(1, 20), GraphGenerator::Scale::kTiny);
}

TEST(RandomGraph, ChainsOfManyTasks_AgreeWithTheInterpreter) {
  CheckChains(Seeds(1, 10), GraphGenerator::Scale::kLarge);
}

}  // namespace
}  // namespace stoker::test
