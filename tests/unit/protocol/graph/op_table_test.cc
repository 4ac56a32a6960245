#include "protocol/graph/op_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace stoker {
namespace {

std::vector<AttrName> AttributesOf(OpKind kind) {
  const auto names = RowOf(kind).attributes.names();
  return {names.begin(), names.end()};
}

TEST(OpTable, Rows_SayWhatTheListSays) {
  const OpRow& exponential = RowOf(OpKind::kExponentialMinusOne);
  EXPECT_EQ(exponential.name, "exponential_minus_one");
  EXPECT_EQ(exponential.operands, 1);
  EXPECT_EQ(exponential.role, OpRole::kPointwise);
  EXPECT_EQ(exponential.dtypes, kFloats);
  EXPECT_EQ(exponential.result, ResultRule::kSame);
  EXPECT_EQ(exponential.cost, OpCost::kExponential);
  EXPECT_EQ(exponential.f32_in, DType::kF64);
  EXPECT_THAT(AttributesOf(OpKind::kExponentialMinusOne), testing::IsEmpty());
  EXPECT_THAT(AttributesOf(OpKind::kSlice),
              testing::ElementsAre(AttrName::kStart, AttrName::kLimit, AttrName::kStride));
  EXPECT_EQ(RowOf(OpKind::kExternCall).role, OpRole::kExtern);
}

// Of pointwise ops alone there are tables by kind, and their rules alone say all of the result.
TEST(OpTable, PointwiseRules_BelongToPointwiseOps) {
  for (int i = 0; i < kNumOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const OpRow& row = RowOf(kind);
    const bool is_elementwise = row.result == ResultRule::kSame ||
                                row.result == ResultRule::kBool ||
                                row.result == ResultRule::kHinted;
    EXPECT_EQ(is_elementwise, row.role == OpRole::kPointwise) << row.name;
    EXPECT_EQ(kOpRoles[static_cast<std::size_t>(i)], row.role) << row.name;
    if (row.f32_in == DType::kF64) EXPECT_TRUE(Contains(row.dtypes, DType::kF32)) << row.name;
  }
}

TEST(OpTable, HasEveryPointwiseOp_MissingTwiceOrOther_IsFalse) {
  struct Row {
    OpKind kind;
  };
  std::vector<Row> rows;
  for (int i = 0; i < kNumOpKinds; ++i) {
    if (IsPointwise(static_cast<OpKind>(i))) rows.push_back({static_cast<OpKind>(i)});
  }
  EXPECT_TRUE(HasEveryPointwiseOp(rows));
  rows.push_back(rows.front());
  EXPECT_FALSE(HasEveryPointwiseOp(rows));
  rows.pop_back();
  rows.push_back({OpKind::kReshape});
  EXPECT_FALSE(HasEveryPointwiseOp(rows));
  rows.resize(rows.size() - 2);
  EXPECT_FALSE(HasEveryPointwiseOp(rows));
}

TEST(DTypeSet, Contains_AndText) {
  EXPECT_TRUE(Contains(kFloats, DType::kBF16));
  EXPECT_FALSE(Contains(kFloats, DType::kI8));
  EXPECT_TRUE(Contains(kSignedNumbers, DType::kI8));
  EXPECT_FALSE(Contains(kSignedNumbers, DType::kU8));
  EXPECT_FALSE(Contains(kNumbers, DType::kBool));
  EXPECT_TRUE(Contains(kBits, DType::kBool));
  EXPECT_EQ(ToString(kSignedNumbers), "float or signed integer");
  EXPECT_EQ(ToString(kAnyDType), "float or integer or bool");
}

}  // namespace
}  // namespace stoker
