#include "compiler/guards.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stoker {
namespace {

std::vector<std::string> GuardsOfText(const std::string& text) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  const auto guards = GuardsOf(*graph);
  EXPECT_TRUE(guards.ok()) << guards.error().message;
  std::vector<std::string> found;
  for (const Guard& guard : guards->guards()) found.push_back(guard.ToString());
  return found;
}

TEST(GuardsOf, Types_OneGuardForEachThingThatTheySay) {
  const std::vector<std::string> expected = {"input 0 dtype == f32",    "input 0 rank == 2",
                                             "input 0 size 0 binds s0", "input 0 size 1 == 8",
                                             "input 0 is contiguous",   "input 1 dtype == f32",
                                             "input 1 rank == 2",       "input 1 is contiguous",
                                             "input 1 size 0 == 2*s0",  "input 1 size 1 == s0"};
  EXPECT_EQ(GuardsOfText(R"(graph @g(%x: f32[s0,8], %y: f32[2*s0,s0]) {
    %1 = tanh(%x) : f32[s0,8]
    %2 = tanh(%y) : f32[2*s0,s0]
    return %1, %2 })"),
            expected);
}

// The last guards of an input of one symbolic dim, after the five that its type says.
std::vector<std::string> ConditionGuards(const std::string& slices) {
  std::vector<std::string> guards = GuardsOfText("graph @g(%x: f32[s0]) {\n" + slices + "}");
  guards.erase(guards.begin(), guards.begin() + 4);
  return guards;
}

TEST(GuardsOf, ConditionsOfOneSymbol_AreOneRange) {
  EXPECT_EQ(ConditionGuards(R"(
    %1 = slice(%x) {start=[0], limit=[10], stride=[1]} : f32[10]
    %2 = slice(%x) {start=[0], limit=[20], stride=[1]} : f32[20]
    return %1, %2 )"),
            (std::vector<std::string>{"input 0 size 0 in [20,9223372036854775807]"}));
  // 3 * s0 <= 100 - 1, and what starts at 2 * s0 - 3 does not start before the first element.
  EXPECT_EQ(ConditionGuards(R"(
    %1 = iota() {dim=0} : f32[100]
    %2 = slice(%1) {start=[3*s0], limit=[99], stride=[1]} : f32[-3*s0+99]
    %3 = slice(%1) {start=[2*s0-3], limit=[100], stride=[1]} : f32[-2*s0+103]
    return %2, %3, %x )"),
            (std::vector<std::string>{"input 0 size 0 in [2,33]"}));
}

TEST(GuardsOf, OtherConditions_AreExpressions) {
  EXPECT_EQ(ConditionGuards(R"(
    %1 = slice(%x) {start=[0], limit=[floordiv(s0,2)+4], stride=[1]} : f32[floordiv(s0,2)+4]
    return %1 )"),
            (std::vector<std::string>{"s0-floordiv(s0,2)-4 >= 0"}));
}

TEST(GuardsOf, RangeWithNothingInIt_NoCallPasses) {
  EXPECT_EQ(ConditionGuards(R"(
    %1 = iota() {dim=0} : f32[5]
    %2 = slice(%1) {start=[s0], limit=[5], stride=[1]} : f32[-s0+5]
    %3 = slice(%x) {start=[0], limit=[6], stride=[1]} : f32[6]
    return %2, %3 )"),
            (std::vector<std::string>{"input 0 size 0 in [0,5]", "s0-6 >= 0"}));
}

}  // namespace
}  // namespace stoker
