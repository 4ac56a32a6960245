#include "protocol/graph/op_kind.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(OpKind, NameAndCode_EveryKind_RoundTrip) {
  for (std::uint16_t code = 0; code < kNumOpKinds; ++code) {
    const std::optional<OpKind> kind = OpKindFromCode(code);
    ASSERT_TRUE(kind.has_value());
    EXPECT_EQ(ParseOpKind(Name(*kind)), kind) << Name(*kind);
  }
  EXPECT_FALSE(OpKindFromCode(kNumOpKinds).has_value());
  EXPECT_FALSE(ParseOpKind("").has_value());
  EXPECT_FALSE(ParseOpKind("Add").has_value());
}

// Codes are part of the encoded format: this fails when an op is inserted instead of appended.
TEST(OpKind, Codes_OfShippedOps_DoNotMove) {
  EXPECT_EQ(static_cast<int>(OpKind::kConstant), 0);
  EXPECT_EQ(static_cast<int>(OpKind::kConvert), 31);
  EXPECT_EQ(static_cast<int>(OpKind::kAdd), 33);
  EXPECT_EQ(static_cast<int>(OpKind::kSelect), 49);
  EXPECT_EQ(static_cast<int>(OpKind::kReduce), 58);
  EXPECT_EQ(static_cast<int>(OpKind::kDotGeneral), 62);
  EXPECT_EQ(static_cast<int>(OpKind::kGather), 64);
  EXPECT_EQ(static_cast<int>(OpKind::kAttention), 70);
  EXPECT_EQ(static_cast<int>(OpKind::kExternCall), 71);
  EXPECT_EQ(static_cast<int>(OpKind::kErfc), 72);
  EXPECT_EQ(static_cast<int>(OpKind::kLogGamma), 73);
  EXPECT_EQ(static_cast<int>(OpKind::kRngBitGenerator), 74);
  EXPECT_EQ(static_cast<int>(OpKind::kWhile), 75);
  EXPECT_EQ(static_cast<int>(OpKind::kScan), 76);
}

TEST(OpKind, Roles_DecidePointwiseAndViews) {
  EXPECT_TRUE(IsPointwise(OpKind::kConvert));
  EXPECT_TRUE(IsPointwise(OpKind::kClamp));
  EXPECT_FALSE(IsPointwise(OpKind::kIota));
  EXPECT_FALSE(IsPointwise(OpKind::kReshape));
  EXPECT_TRUE(IsView(OpKind::kReshape));
  EXPECT_FALSE(IsView(OpKind::kPad));
  EXPECT_EQ(NumOperands(OpKind::kSelect), 3);
  EXPECT_EQ(NumOperands(OpKind::kConcatenate), -1);
}

}  // namespace
}  // namespace stoker
