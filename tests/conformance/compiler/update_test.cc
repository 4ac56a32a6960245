// Outputs that are made in the memory of inputs. The harness sees to it that such an input holds
// the output after each call, and that no other input has changed.
#include <gtest/gtest.h>

#include "tests/conformance/compiler/graph_generator.h"
#include "tests/conformance/compiler/harness.h"
#include "tests/conformance/compiler/with_updates.h"

namespace stoker::test {
namespace {

void Check(std::string_view text, const std::vector<std::string>& labels) {
  const Outcome outcome = CheckText(text);
  EXPECT_EQ(outcome.error, "") << text;
  EXPECT_EQ(LabelsOf(outcome.artifact), labels) << text;
}

TEST(Update, ByALoopThatReadsEachElementWhereItWritesIt_IsOneLaunch) {
  Check(R"(
graph @g(%x: f32[33,71], %g: f32[33,71]) {
  %m = multiply(%x, %g) : f32[33,71]
  %y = add(%x, %m) : f32[33,71]
  return %y updates %x
})",
        {"multiply+add f32[33,71]"});
}

TEST(Update, OfSeveralByOneLoop_IsOneLaunch) {
  Check(R"(
graph @g(%p: f32[1000], %m: f32[1000], %v: f32[1000], %g: f32[1000]) {
  %b = constant() value(0.9) : f32[1000]
  %bm = multiply(%b, %m) : f32[1000]
  %m2 = add(%bm, %g) : f32[1000]
  %gg = multiply(%g, %g) : f32[1000]
  %bv = multiply(%b, %v) : f32[1000]
  %v2 = add(%bv, %gg) : f32[1000]
  %a = abs(%v2) : f32[1000]
  %s = sqrt(%a) : f32[1000]
  %e = add(%s, %b) : f32[1000]
  %q = divide(%m2, %e) : f32[1000]
  %p2 = subtract(%p, %q) : f32[1000]
  return %p2 updates %p, %m2 updates %m, %v2 updates %v
})",
        {"multiply+add+abs+sqrt+2 f32[1000]"});
}

TEST(Update, ByARowThatIsReducedFirst_IsOneLaunch) {
  Check(R"(
graph @g(%x: f32[9,130]) {
  %r = reduce(%x) {dims=[1], kind="add"} : f32[9]
  %b = broadcast_in_dim(%r) {dims=[0]} : f32[9,130]
  %y = subtract(%x, %b) : f32[9,130]
  return %y updates %x
})",
        {"reduce+subtract f32[9,130]"});
}

TEST(Update, OfWhatWasUpdatedAsOfAnotherShape_LiesAsItsReadersSeeIt) {
  const std::string_view scatters = R"(
graph @g(%x: f32[7,5], %u: f32[2,5], %v: f32[3,7], %w: f32[4]) {
  %1 = constant() value(1) : i64[2,1]
  %3 = constant() value(3) : i64[3,1]
  %30 = constant() value(30) : i64[4,1]
  %a = scatter(%x, %1, %u) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="add"} : f32[7,5]
  %b = reshape(%a) : f32[5,7]
  %c = scatter(%b, %3, %v) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="add"} : f32[5,7]
  %d = reshape(%c) : f32[35]
  %e = scatter(%d, %30, %w) {update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="add"} : f32[35]
)";
  const std::vector<std::string> labels = {"copy f32[7,5]", "scatter f32[7,5]",
                                           "copy f32[5,7]", "scatter f32[5,7]",
                                           "copy f32[35]",  "scatter f32[35]"};
  Check(std::string(scatters) + "  return %e\n}", labels);
  std::vector<std::string> negated = labels;
  negated.emplace_back("negate f32[35]");
  Check(std::string(scatters) + "  %f = negate(%e) : f32[35]\n  return %f\n}", negated);
}

TEST(Update, ByAScatter_TouchesOnlyWhatIsUpdated) {
  Check(R"(
graph @g(%x: f32[300,40], %i: i64[3,1], %u: f32[3,40]) {
  %y = scatter(%x, %i, %u) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="assign"} : f32[300,40]
  return %y updates %x
})",
        {"scatter f32[300,40]"});
}

TEST(Update, ByScattersOneAfterTheOther_TouchesOnlyWhatIsUpdated) {
  Check(R"(
graph @g(%x: f32[300,40], %i: i64[3,1], %u: f32[3,40], %v: f32[3,40]) {
  %y = scatter(%x, %i, %u) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="assign"} : f32[300,40]
  %z = scatter(%y, %i, %v) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="add"} : f32[300,40]
  return %z updates %x
})",
        {"scatter f32[300,40]", "scatter f32[300,40]"});
}

TEST(Update, ThatIsReadAfterwards_IsReadWhereItIs) {
  Check(R"(
graph @g(%x: f32[300,40], %i: i64[3,1], %u: f32[3,40]) {
  %y = scatter(%x, %i, %u) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="assign"} : f32[300,40]
  %s = reduce(%y) {dims=[0], kind="add"} : f32[40]
  return %s, %y updates %x
})",
        {"scatter f32[300,40]", "reduce f32[40]"});
}

TEST(Update, OfWhatIsReadLater_IsMadeElsewhereAndCopiedLast) {
  Check(R"(
graph @g(%x: f32[30,40], %i: i64[3,1], %u: f32[3,40]) {
  %y = scatter(%x, %i, %u) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="assign"} : f32[30,40]
  %z = subtract(%x, %y) : f32[30,40]
  return %y updates %x, %z
})",
        {"copy f32[30,40]", "scatter f32[30,40]", "subtract f32[30,40]", "copy f32[30,40]"});
}

TEST(Update, ByElementsOfOtherPlaces_IsMadeElsewhereAndCopiedLast) {
  Check(R"(
graph @g(%x: f32[64,64], %y: f32[64,64]) {
  %t = transpose(%x) {dims=[1,0]} : f32[64,64]
  %s = add(%t, %y) : f32[64,64]
  return %s updates %x
})",
        {"add f32[64,64]", "copy f32[64,64]"});
}

TEST(Update, OfTwoByEachOther_SwapsThem) {
  const Outcome outcome = CheckText(R"(
graph @g(%x: f32[17,5], %y: f32[17,5]) {
  return %y updates %x, %x updates %y
})");
  EXPECT_EQ(outcome.error, "");
}

TEST(Update, OfTwoByViewsOfEachOther_SwapsThem) {
  const Outcome outcome = CheckText(R"(
graph @g(%x: f32[17,17], %y: f32[17,17]) {
  %a = transpose(%x) {dims=[1,0]} : f32[17,17]
  %b = transpose(%y) {dims=[1,0]} : f32[17,17]
  return %b updates %x, %a updates %y, %a
})");
  EXPECT_EQ(outcome.error, "");
}

TEST(Update, BeforeACallOfTheHost_IsMadeElsewhereAndCopiedAfterIt) {
  const Outcome outcome = CheckText(R"(
graph @g(%x: f32[17,17]) {
  %e = exponential(%x) : f32[17,17]
  %h = extern_call(%e) {target="op"} : f32[17,17]
  %y = add(%h, %h) : f32[17,17]
  return %e updates %x, %y
})");
  EXPECT_EQ(outcome.error, "");
  const std::vector<PlanStep>& steps = outcome.artifact.plan.steps;
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_TRUE(std::holds_alternative<HostCall>(steps[1]));
}

TEST(Update, ByAProductOfWhatItUpdates_IsRight) {
  const Outcome outcome = CheckText(R"(
graph @g(%x: f32[33,33], %w: f32[33,33]) {
  %p = dot_general(%x, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[33,33]
  %y = add(%p, %x) : f32[33,33]
  return %y updates %x
})");
  EXPECT_EQ(outcome.error, "");
}

TEST(Update, OfSymbolicSizes_IsOneLaunch) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[s0,8], %i: i64[s1,1], %u: f32[s1,8], %b: f32[s0,8]) {
  %y = scatter(%x, %i, %u) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1, kind="assign"} : f32[s0,8]
  %c = add(%b, %b) : f32[s0,8]
  return %y updates %x, %c updates %b
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t rows : {0, 1, 16, 37}) {
    calls.push_back(RandomInputs(*graph, calls.size(), {{0, rows}, {1, 3}}));
  }
  const Outcome outcome = CompareCallsWithInterpreter(*graph, calls);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact),
            (std::vector<std::string>{"scatter f32[s0,8]", "add f32[s0,8]"}));
}

TEST(Update, OfRandomGraphs_IsAsTheInterpreterSays) {
  const Tolerance tolerance{1e-8, 1e-3, 5e-2, 3e-1};
  std::size_t updates = 0;
  for (const std::uint64_t seed : Seeds(1, 60)) {
    GraphGenerator generator(
        seed, seed % 3 == 0 ? GraphGenerator::Scale::kTiny : GraphGenerator::Scale::kSmall);
    generator.AddChain(5 + static_cast<int>(seed % 36));
    const auto plain = generator.Build();
    ASSERT_TRUE(plain.ok()) << plain.error().message << " seed " << seed;
    const auto graph = WithUpdates(*plain, seed, &updates);
    ASSERT_TRUE(graph.ok()) << graph.error().message << " seed " << seed;
    const Outcome outcome = CompareWithInterpreter(*graph, RandomInputs(*graph, seed), tolerance);
    ASSERT_EQ(outcome.error, "") << "seed " << seed << "\n" << PrintGraph(*graph);
  }
  EXPECT_GT(updates, 0U);
}

}  // namespace
}  // namespace stoker::test
