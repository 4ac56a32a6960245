#include "protocol/graph/dim/sym_dim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>

namespace stoker {
namespace {

const SymDim s0 = SymDim::Symbol(0);
const SymDim s1 = SymDim::Symbol(1);
const SymDim s2 = SymDim::Symbol(2);

SymDim Parsed(std::string_view text) {
  Result<SymDim> dim = SymDim::Parse(text);
  EXPECT_TRUE(dim.ok()) << text << ": " << dim.error().message;
  return dim.ok() ? *dim : SymDim(-1);
}

TEST(SymDim, Arithmetic_Forms_PrintCanonically) {
  const struct {
    SymDim dim;
    const char* text;
  } rows[] = {
      {SymDim(), "0"},
      {s0 + 0, "s0"},
      {s0 - s0, "0"},
      {1 + s0 * 4, "4*s0+1"},
      {s1 * s0 + s0 * s1, "2*s0*s1"},
      {(s0 + 1) * (s0 - 1), "s0*s0-1"},
      {s0 * -1 + 3, "-s0+3"},
      {SymDim::FloorDiv(s0 - 1, 2) + 1, "floordiv(s0+1,2)"},
      {SymDim::CeilDiv(s0, 2), "floordiv(s0+1,2)"},
      {SymDim::FloorDiv(4 * s0 + 3, 4), "s0"},
      {SymDim::FloorDiv(4 * s0 + 2, 8), "floordiv(s0,2)"},
      {SymDim::FloorDiv(3 * s0, 2), "s0+floordiv(s0,2)"},
      {SymDim::FloorDiv(SymDim::FloorDiv(s0, 2) + 1, 2), "floordiv(s0+2,4)"},
      {SymDim::FloorDiv(s0 * s1 * 6, s1 * 2), "3*s0"},
      {SymDim::FloorDiv(s0, s1), "floordiv(s0,s1)"},
      {SymDim::FloorDiv(s0, -2), "-s0+floordiv(s0,2)"},
      {SymDim::Mod(s0 * 8, 4), "0"},
      {SymDim::Mod(s0, 8), "s0-8*floordiv(s0,8)"},
      {SymDim::Max(s0 + 1, s0), "s0+1"},
      {SymDim::Min(s0 + 1, s0), "s0"},
      {SymDim::Max(s1, s0), "max(s0,s1)"},
      {SymDim::Max(3, 5), "5"},
      {SymDim::FloorDiv(-7, 2), "-4"},
      {SymDim::CeilDiv(7, 2), "4"},
      {SymDim::CeilDiv(7, -2), "-3"},
      {SymDim::Mod(-7, 3), "2"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(row.dim.ToString(), row.text);
    EXPECT_EQ(Parsed(row.text), row.dim) << row.text;
  }
}

TEST(SymDim, Symbols_Everywhere_AreCollected) {
  EXPECT_THAT((SymDim::FloorDiv(s2, s0) + s0 * 3).Symbols(), testing::ElementsAre(0, 2));
  EXPECT_THAT(SymDim(7).Symbols(), testing::IsEmpty());
  EXPECT_EQ(s2.AsSymbol(), 2U);
  EXPECT_FALSE((s2 + 1).IsSymbol());
  EXPECT_FALSE((s2 * 2).IsSymbol());
}

TEST(SymDim, Evaluate_BadBindings_SaysWhy) {
  EXPECT_EQ((s0 * s1).Evaluate({{0, 3}}).error().message, "Symbol s1 is not bound.");
  EXPECT_EQ(SymDim::FloorDiv(s0, s1).Evaluate({{0, 3}, {1, 0}}).error().message,
            "Dimension floordiv(s0,s1): division by zero.");
  EXPECT_EQ((s0 * s0).Evaluate({{0, INT64_C(1) << 40}}).error().message,
            "Dimension s0*s0: overflow.");
  EXPECT_EQ((s0 + s1).Evaluate({{0, INT64_MAX}, {1, 1}}).error().message,
            "Dimension s0+s1: overflow.");
}

TEST(SymDim, Overflow_AnyOperation_Absorbs) {
  const SymDim big = INT64_MAX;
  const SymDim overflow = big + 1;
  EXPECT_TRUE(overflow.IsOverflow());
  EXPECT_FALSE(s0.IsOverflow());
  for (const SymDim& dim :
       {big * 2, SymDim(INT64_MIN) - 1, SymDim::FloorDiv(3, 0), SymDim::FloorDiv(s0, 0),
        overflow * 0, overflow - overflow, SymDim::Max(overflow, 1), SymDim::Min(s0, overflow),
        SymDim::FloorDiv(overflow, 2), SymDim::FloorDiv(s0, overflow), (s0 * big) * 2,
        Parsed("overflow"), SymDim::FloorDiv(SymDim(INT64_MIN), -1),
        SymDim::FloorDiv(SymDim::FloorDiv(s0, big), big)}) {
    EXPECT_TRUE(dim.IsOverflow()) << dim.ToString();
    EXPECT_FALSE(dim.Evaluate({{0, 1}}).ok());
  }
}

TEST(SymDim, Growth_BeyondLimits_IsOverflow) {
  SymDim sum;
  for (std::uint32_t i = 0; i < 200; ++i) sum = sum + SymDim::Symbol(i);
  EXPECT_TRUE(sum.IsOverflow());
  SymDim nested = s0;
  for (int i = 0; i < 40; ++i) nested = SymDim::FloorDiv(nested + s1, s2);
  EXPECT_TRUE(nested.IsOverflow());
}

TEST(SymDim, IsProvablyNonNegative_Forms) {
  EXPECT_TRUE((s0 * s1 + 3).IsProvablyNonNegative());
  EXPECT_TRUE(SymDim::FloorDiv(s0 + 1, 2).IsProvablyNonNegative());
  EXPECT_TRUE(SymDim::Max(s0 - 3, 0).IsProvablyNonNegative());
  EXPECT_FALSE((s0 - 1).IsProvablyNonNegative());
  EXPECT_FALSE(SymDim::Min(s0 - 3, 0).IsProvablyNonNegative());
  EXPECT_FALSE(SymDim(-1).IsProvablyNonNegative());
}

TEST(SymDim, Substitute_Symbols_Simplifies) {
  EXPECT_EQ(SymDim::FloorDiv(s0 + s1, 2).Substitute({{0, 4 * s2}, {1, 3}}), 2 * s2 + 1);
  EXPECT_EQ(SymDim::Max(s0, s1).Substitute({{0, s1 + 2}}), s1 + 2);
}

TEST(SymDim, Parse_BadText_NamesPosition) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"", "Dimension '' needs a number or a symbol at position 0."},
      {"s0+", "Dimension 's0+' needs a number or a symbol at position 3."},
      {"s0 ", "Dimension 's0 ' needs an operator or the end at position 2."},
      {"t0", "Dimension 't0' needs a number or a symbol at position 0."},
      {"max(s0)", "Dimension 'max(s0)' needs ',' at position 6."},
      {"max(s0,1", "Dimension 'max(s0,1' needs ')' at position 8."},
      {"(s0", "Dimension '(s0' needs ')' at position 3."},
      {"99999999999999999999",
       "Dimension '99999999999999999999' needs a number in range at position 0."},
      {"s4294967296", "Dimension 's4294967296' needs a number in range at position 1."},
  };
  for (const auto& row : rows) {
    const Result<SymDim> dim = SymDim::Parse(row.text);
    ASSERT_FALSE(dim.ok()) << row.text;
    EXPECT_EQ(dim.error().message, row.message);
  }
  EXPECT_EQ(SymDim::Parse(std::string(4000, '(')).error().message,
            "Dimension nests deeper than 32.");
  EXPECT_EQ(SymDim::Parse(std::string(5000, '1')).error().message,
            "Dimension of 5000 characters exceeds the limit of 4096.");
}

TEST(SymDim, Parse_ExtremeConstants_RoundTrip) {
  for (const SymDim& dim :
       {SymDim(INT64_MIN), SymDim(INT64_MAX), s0 + INT64_MIN, s0 * INT64_MIN, s1 * INT64_MAX - 5}) {
    EXPECT_EQ(Parsed(dim.ToString()), dim);
  }
}

// Random expressions: the canonical form has the value of the expression it was made from.
TEST(SymDim, CanonicalForm_RandomExpressions_KeepsValueAndText) {
  std::mt19937 random(7);
  const auto pick = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    const SymBindings bindings = {{0, pick(12)}, {1, pick(12)}, {2, pick(12)}};
    struct Pair {
      SymDim dim;
      std::optional<std::int64_t> value;  // Nothing: somewhere a division by zero.
    };
    const std::function<Pair(int)> make = [&](int depth) -> Pair {
      if (depth == 0 || pick(4) == 0) {
        if (pick(2) == 0) {
          const int constant = pick(9) - 3;
          return {constant, constant};
        }
        const auto id = static_cast<std::uint32_t>(pick(3));
        return {SymDim::Symbol(id), bindings.at(id)};
      }
      const Pair a = make(depth - 1);
      const Pair b = make(depth - 1);
      const std::int64_t x = a.value.value_or(0);
      const std::int64_t y = b.value.value_or(0);
      std::optional<std::int64_t> quotient;
      if (y != 0) quotient = x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0);
      Pair result;
      switch (pick(8)) {
        case 0:
          result = {a.dim + b.dim, x + y};
          break;
        case 1:
          result = {a.dim - b.dim, x - y};
          break;
        case 2:
          result = {a.dim * b.dim, x * y};
          break;
        case 3:
          result = {SymDim::FloorDiv(a.dim, b.dim), quotient};
          break;
        case 4:
          result = {SymDim::Mod(a.dim, b.dim), std::nullopt};
          if (quotient) result.value = x - y * *quotient;
          break;
        case 5:
          result = {SymDim::CeilDiv(a.dim, b.dim), std::nullopt};
          if (quotient) result.value = *quotient + (x % y != 0 ? 1 : 0);
          break;
        case 6:
          result = {SymDim::Max(a.dim, b.dim), std::max(x, y)};
          break;
        default:
          result = {SymDim::Min(a.dim, b.dim), std::min(x, y)};
          break;
      }
      if (!a.value || !b.value) result.value = std::nullopt;
      return result;
    };
    const Pair pair = make(4);
    const std::string text = pair.dim.ToString();
    if (text.size() <= kMaxSymDimText) {
      const SymDim parsed = Parsed(text);
      EXPECT_EQ(parsed, pair.dim);
      EXPECT_EQ(parsed.Hash(), pair.dim.Hash());
    }
    if (!pair.value || pair.dim.IsOverflow()) continue;
    ++compared;
    const Result<std::int64_t> value = pair.dim.Evaluate(bindings);
    ASSERT_TRUE(value.ok()) << text << ": " << value.error().message;
    ASSERT_EQ(*value, *pair.value) << text;
    if (pair.dim.IsProvablyNonNegative()) EXPECT_GE(*value, 0) << text;
    const SymDim substituted =
        pair.dim.Substitute({{0, bindings.at(0)}, {1, bindings.at(1)}, {2, bindings.at(2)}});
    EXPECT_EQ(substituted, SymDim(*pair.value)) << text;
  }
  EXPECT_GT(compared, 1500);
}

}  // namespace
}  // namespace stoker
