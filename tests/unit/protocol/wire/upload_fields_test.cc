#include "protocol/wire/header/upload_fields.h"

#include <gtest/gtest.h>

namespace stoker::wire {
namespace {

TEST(UploadFields, Booleans) {
  EXPECT_EQ(BooleanOf("?1"), true);
  EXPECT_EQ(BooleanOf("?0"), false);
  EXPECT_EQ(BooleanOf(" ?1;x=2"), true);
  for (const char* other : {"", "1", "true", "?2", "?1, ?1", "??1", "?"}) {
    EXPECT_EQ(BooleanOf(other), std::nullopt) << other;
  }
}

TEST(UploadFields, Numbers) {
  EXPECT_EQ(NumberOf("0"), 0U);
  EXPECT_EQ(NumberOf("8"), 8U);
  EXPECT_EQ(NumberOf("123 ;x"), 123U);
  EXPECT_EQ(NumberOf("999999999999999"), 999999999999999U);
  for (const char* other : {"", "-1", "+1", "1.0", "0x1", "1 2", "1,2", "?1", "1000000000000000"}) {
    EXPECT_EQ(NumberOf(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace stoker::wire
