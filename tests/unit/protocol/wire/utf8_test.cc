#include "protocol/wire/proto/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stoker::wire {
namespace {

TEST(ToValidUtf8, WellFormed_IsKept) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\xa5",
                           "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xe0\xa0\x80"}) {
    EXPECT_EQ(ToValidUtf8(text), text);
  }
}

TEST(ToValidUtf8, IllFormed_BytesBecomeQuestionMarks) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"a\xff"
       "b",
       "a?b"},
      {"\x80", "?"},
      {"\xc0\xaf", "??"},            // Overlong '/'.
      {"\xe0\x80\xaf", "???"},       // Overlong.
      {"\xed\xa0\x80", "???"},       // A surrogate.
      {"\xf4\x90\x80\x80", "????"},  // Above U+10FFFF.
      {"\xf0\x80\x80\x80", "????"},  // Overlong.
      {"\xe2\x82", "??"},            // Cut off.
      {"\xe2\x82x", "??x"},
      {"\xf8\x88\x80\x80\x80", "?????"},
  };
  for (const auto& [bytes, expected] : table) EXPECT_EQ(ToValidUtf8(bytes), expected);
}

}  // namespace
}  // namespace stoker::wire
