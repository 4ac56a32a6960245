#include "protocol/guard/guard_set.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace stoker {
namespace {

// One input with storage for what its view points at.
struct Input {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  DType dtype = DType::kF32;

  InputView View() const { return {dtype, sizes, strides}; }
};

Guard Make(GuardKind kind, std::int32_t dim, std::int64_t value, std::int64_t limit = 0,
           SymDim expr = {}) {
  return Guard{kind, 0, dim, value, limit, std::move(expr)};
}

struct Row {
  std::string name;
  Guard guard;
  Input input;
  bool holds;
  std::string explanation;  // When it does not hold.
};

class GuardSetRow : public testing::TestWithParam<Row> {};

TEST_P(GuardSetRow, Holds_OneGuard_AsExpected) {
  const Row& row = GetParam();
  const GuardSet set({row.guard});
  const std::array views = {row.input.View()};
  EXPECT_EQ(set.Holds(views), row.holds);
  EXPECT_EQ(set.Explain(views).value_or(""), row.explanation);
}

const Input kMatrix{{4, 768}, {768, 1}};

INSTANTIATE_TEST_SUITE_P(
    Table, GuardSetRow,
    testing::Values(
        Row{"DTypeEqual", Make(GuardKind::kDType, -1, 1), kMatrix, true, ""},
        Row{"DTypeOther", Make(GuardKind::kDType, -1, 3), kMatrix, false,
            "input 0 dtype == bf16: found f32."},
        Row{"RankEqual", Make(GuardKind::kRank, -1, 2), kMatrix, true, ""},
        Row{"RankOther", Make(GuardKind::kRank, -1, 3), kMatrix, false,
            "input 0 rank == 3: found 2."},
        Row{"SizeEqual", Make(GuardKind::kSizeEquals, 1, 768), kMatrix, true, ""},
        Row{"SizeOther", Make(GuardKind::kSizeEquals, 1, 512), kMatrix, false,
            "input 0 size 1 == 512: found 768."},
        Row{"SizeOfAbsentDim", Make(GuardKind::kSizeEquals, 2, 1), kMatrix, false,
            "input 0 size 2 == 1: found rank 2."},
        Row{"RangeAtLimit", Make(GuardKind::kSizeRange, 0, 2, 4), kMatrix, true, ""},
        Row{"RangeBelow", Make(GuardKind::kSizeRange, 0, 5, 9), kMatrix, false,
            "input 0 size 0 in [5,9]: found 4."},
        Row{"RangeAbove", Make(GuardKind::kSizeRange, 0, 1, 3), kMatrix, false,
            "input 0 size 0 in [1,3]: found 4."},
        Row{"Contiguous", Make(GuardKind::kContiguous, -1, 0), kMatrix, true, ""},
        Row{"ContiguousSizeOneStrideAny", Make(GuardKind::kContiguous, -1, 0),
            Input{{1, 8}, {77, 1}}, true, ""},
        Row{"ContiguousEmpty", Make(GuardKind::kContiguous, -1, 0), Input{{0, 8}, {3, 9}}, true,
            ""},
        Row{"Transposed", Make(GuardKind::kContiguous, -1, 0), Input{{4, 8}, {1, 4}}, false,
            "input 0 is contiguous: found sizes [4,8] strides [1,4]."},
        Row{"ConstantExpr", Make(GuardKind::kSizeExpr, 1, 0, 0, SymDim(768)), kMatrix, true, ""},
        Row{"UnboundExpr", Make(GuardKind::kSizeExpr, 1, 0, 0, SymDim::Symbol(0)), kMatrix, false,
            "input 0 size 1 == s0: found 768."},
        Row{"ConstantNotNegative", Make(GuardKind::kNotNegative, -1, 0), kMatrix, true, ""},
        Row{"UnboundNotNegative", Make(GuardKind::kNotNegative, -1, 0, 0, SymDim::Symbol(0)),
            kMatrix, false, "s0 >= 0: found no value."}),
    [](const auto& row) { return row.param.name; });

TEST(GuardKindFromCode, UsedBeforeOrNeverUsed_IsNone) {
  EXPECT_EQ(GuardKindFromCode(9), GuardKind::kNotNegative);
  for (const int code : {4, 6, 10, 255}) {
    EXPECT_EQ(GuardKindFromCode(static_cast<std::uint8_t>(code)), std::nullopt);
  }
}

TEST(GuardSet_MissingInput, FailsAndSaysSo) {
  const GuardSet set({Guard{GuardKind::kRank, 3, -1, 2, 0, {}}});
  const std::array views = {kMatrix.View()};
  EXPECT_FALSE(set.Holds(views));
  EXPECT_EQ(set.Explain(views), "input 3 rank == 2: found the call has 1 inputs.");
}

class SymbolicGuards : public testing::Test {
 protected:
  // s0 is input 0's size 0; input 1 must be [s0, 4*s0+1].
  const GuardSet set_{{
      Guard{GuardKind::kBindSymbol, 0, 0, 0, 0, {}},
      Guard{GuardKind::kSizeExpr, 1, 0, 0, 0, SymDim::Symbol(0)},
      Guard{GuardKind::kSizeExpr, 1, 1, 0, 0, SymDim(4) * SymDim::Symbol(0) + SymDim(1)},
  }};
};

TEST_F(SymbolicGuards, Holds_SizesAgree_True) {
  const Input a{{6}, {1}};
  const Input b{{6, 25}, {25, 1}};
  const std::array views = {a.View(), b.View()};
  EXPECT_TRUE(set_.Holds(views));
  EXPECT_EQ(set_.Bind(views), (SymBindings{{0, 6}}));
}

TEST_F(SymbolicGuards, Explain_ExpressionDiffers_NamesIt) {
  const Input a{{6}, {1}};
  const Input wrong_symbol{{5, 25}, {25, 1}};
  const Input wrong_expression{{6, 24}, {24, 1}};
  EXPECT_EQ(set_.Explain(std::array{a.View(), wrong_symbol.View()}),
            "input 1 size 0 == s0: found 5.");
  EXPECT_EQ(set_.Explain(std::array{a.View(), wrong_expression.View()}),
            "input 1 size 1 == 4*s0+1: found 24.");
}

TEST(GuardSet_NotNegative, ComparesWithZero) {
  const SymDim difference = SymDim::Symbol(1) - SymDim::Symbol(0);
  const GuardSet set({Guard{GuardKind::kBindSymbol, 0, 0, 0, 0, {}},
                      Guard{GuardKind::kBindSymbol, 0, 1, 1, 0, {}},
                      Guard{GuardKind::kNotNegative, 0, -1, 0, 0, difference}});
  EXPECT_TRUE(set.Holds(std::array{Input{{6, 6}, {6, 1}}.View()}));
  const Input narrow{{6, 4}, {4, 1}};
  EXPECT_FALSE(set.Holds(std::array{narrow.View()}));
  EXPECT_EQ(set.Explain(std::array{narrow.View()}), "-s0+s1 >= 0: found -2.");
}

TEST(GuardSet_SymbolBoundTwice, FirstBindingCounts) {
  const GuardSet set({Guard{GuardKind::kBindSymbol, 0, 1, 2, 0, {}},
                      Guard{GuardKind::kBindSymbol, 0, 0, 2, 0, {}}});
  EXPECT_EQ(set.Bind(std::array{kMatrix.View()}), (SymBindings{{2, 768}}));
}

}  // namespace
}  // namespace stoker
