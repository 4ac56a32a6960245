#include "protocol/base/trouble.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(TroubleTest, IsNew_TheSameFailureAgain_OnlyAfterASuccess) {
  Trouble trouble;
  EXPECT_FALSE(trouble.IsNew(Ok()));
  EXPECT_TRUE(trouble.IsNew(Unavailable("a")));
  EXPECT_FALSE(trouble.IsNew(Unavailable("a")));
  EXPECT_TRUE(trouble.IsNew(Unavailable("b")));
  EXPECT_FALSE(trouble.IsNew(Ok()));
  EXPECT_TRUE(trouble.IsNew(Unavailable("b")));
}

TEST(TroubleTest, IsNew_TheSameFailureWithOtherNumbers_IsTheSame) {
  Trouble trouble;
  EXPECT_TRUE(trouble.IsNew(Unavailable("9 of 100 bytes free")));
  EXPECT_FALSE(trouble.IsNew(Unavailable("10 of 100 bytes free")));
  EXPECT_TRUE(trouble.IsNew(Unavailable("10 bytes free")));
}

}  // namespace
}  // namespace stoker
