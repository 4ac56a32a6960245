#include "protocol/base/check.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(CheckDeathTest, Check_ConditionFalse_AbortsNamingCondition) {
  const int answer = 41;
  EXPECT_DEATH(STOKER_CHECK(answer == 42),
               "check_test.cc:[0-9]+: invariant does not hold: answer == 42");
}

TEST(Check, Check_ConditionTrue_EvaluatesOnceAndGoesOn) {
  int evaluated = 0;
  STOKER_CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace stoker
