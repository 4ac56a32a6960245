#include "protocol/graph/combine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace stoker {
namespace {

constexpr DType kIntegerDTypes[] = {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8};

Combine Named(const std::string& name) { return CombineOf({{AttrName::kKind, name}}); }

TEST(Combine, Name_EveryKind_IsFoundAgain) {
  for (int i = 0; i < kNumCombines; ++i) {
    const auto combine = static_cast<Combine>(i);
    EXPECT_EQ(Named(std::string(Name(combine))), combine);
  }
}

TEST(Combine, CombinesOf_Op_AreThoseOfItsRows) {
  EXPECT_THAT(CombinesOf(OpKind::kArgReduce),
              testing::ElementsAre(Combine::kMaximum, Combine::kMinimum));
  EXPECT_TRUE(Has(OpKind::kScatter, Combine::kAssign));
  EXPECT_FALSE(Has(OpKind::kReduce, Combine::kAssign));
  EXPECT_THAT(CombinesOf(OpKind::kAbs), testing::IsEmpty());
}

// The identity, first and second, changes no element.
TEST(Combine, Identity_CombinedWithAnyElement_GivesIt) {
  for (int i = 0; i < kNumCombines; ++i) {
    const auto combine = static_cast<Combine>(i);
    if (combine == Combine::kAssign) continue;  // Has none.
    if (Contains(DTypesOf(combine), DType::kF64)) {
      for (const double x : {0.0, 1.5, -3.25, 1e300, -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(Apply(combine, FloatIdentity(combine), x), x) << Name(combine);
        EXPECT_EQ(Apply(combine, x, FloatIdentity(combine)), x) << Name(combine);
      }
      const double nan = std::numeric_limits<double>::quiet_NaN();
      EXPECT_TRUE(std::isnan(Apply(combine, FloatIdentity(combine), nan))) << Name(combine);
    }
    for (const DType dtype : kIntegerDTypes) {
      if (!Contains(DTypesOf(combine), dtype)) continue;
      const std::int64_t x = 100;
      EXPECT_EQ(Apply(combine, IntIdentity(combine, dtype), x), x) << Name(combine);
      const std::int64_t identity = IntIdentity(combine, dtype);
      EXPECT_EQ(Apply(combine, identity, identity), identity) << Name(combine);
    }
  }
  EXPECT_EQ(IntIdentity(Combine::kMaximum, DType::kI8), -128);
  EXPECT_EQ(IntIdentity(Combine::kMinimum, DType::kU8), 255);
  EXPECT_EQ(IntIdentity(Combine::kMinimum, DType::kI64), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace stoker
