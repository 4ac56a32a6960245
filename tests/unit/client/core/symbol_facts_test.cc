#include "client/core/symbol_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::HasSubstr;

Graph TwoSymbols() {
  auto graph = ParseGraph(
      "graph @g(%0: f32[s0,4], %1: f32[s1]) {\n"
      "  %2 = negate(%0) : f32[s0,4]\n"
      "  %3 = negate(%1) : f32[s1]\n"
      "  return %2, %3\n}\n");
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *std::move(graph);
}

TEST(SymbolFacts, Parse_NothingGiven_EverySymbolHasNoFacts) {
  const auto signature = ParseSymbolFacts(TwoSymbols(), "");
  ASSERT_TRUE(signature.ok());
  ASSERT_EQ(signature->symbols.size(), 2U);
  EXPECT_EQ(signature->symbols[1], (SymbolFact{.symbol = 1}));
}

TEST(SymbolFacts, Parse_AllKeys_AreTaken) {
  const auto signature =
      ParseSymbolFacts(TwoSymbols(), "s1:min=2,max=512,div=8,hint=128;s0:hint=3");
  ASSERT_TRUE(signature.ok());
  EXPECT_EQ(signature->symbols[0], (SymbolFact{.symbol = 0, .hint = 3}));
  EXPECT_EQ(signature->symbols[1],
            (SymbolFact{.symbol = 1, .min = 2, .max = 512, .divisible_by = 8, .hint = 128}));
}

TEST(SymbolFacts, Parse_BadText_NamesTheValue) {
  const struct {
    const char* text;
    const char* message;
  } kRows[] = {
      {"x0:min=1", "'x0' in symbol facts is no symbol"},
      {"s2:min=1", "the graph has 2 symbols"},
      {"s0:low=1", "'low' is none of"},
      {"s0:min=one", "'one' in symbol facts is no number"},
      {"s0:min", "'' in symbol facts is no number"},
  };
  for (const auto& row : kRows) {
    const auto signature = ParseSymbolFacts(TwoSymbols(), row.text);
    ASSERT_FALSE(signature.ok()) << row.text;
    EXPECT_THAT(signature.error().message, HasSubstr(row.message)) << row.text;
  }
}

}  // namespace
}  // namespace stoker
