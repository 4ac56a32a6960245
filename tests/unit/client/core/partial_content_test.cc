#include "client/core/connection/partial_content.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace stoker {
namespace {

TEST(PartialContent, GoOn_WhatFollows_IsTaken) {
  for (const std::string_view tag : {"\"x\"", ""}) {
    PartialContent content{.bytes = "abcd", .etag = "\"x\""};
    ASSERT_TRUE(content.GoOn("bytes 4-8/9", tag).ok());
    EXPECT_EQ(content.bytes, "abcd");
    EXPECT_EQ(content.size, 9u);
    EXPECT_FALSE(content.is_whole());
    content.bytes += "efghi";
    EXPECT_TRUE(content.is_whole());
  }
}

TEST(PartialContent, GoOn_WhatDoesNotFollow_IsRefusedAndNothingIsLeft) {
  for (const std::string_view range :
       {"", "bytes", "bytes 4-8", "bytes 4-8/*", "bytes */9", "bytes 4-8/9 ", "bytes 4-8/9x",
        "bytes -8/9", "bytes 4-/9", "items 4-8/9", "bytes 4-3/9", "bytes 4-9/9", "bytes 3-8/9",
        "bytes 5-8/9", "bytes 0-8/9", "bytes 4-8/10", "bytes 4-8/18446744073709551616",
        "bytes +4-8/9", "bytes 4 - 8/9"}) {
    PartialContent content{.bytes = "abcd", .size = 9, .etag = "\"x\""};
    const Status status = content.GoOn(range, "");
    ASSERT_FALSE(status.ok()) << range;
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(status.error().message, "Content-Range '" + std::string(range) +
                                          "' is not the rest from byte 4 of 9 with ETag '\"x\"'.");
    EXPECT_EQ(content.bytes, "");
    EXPECT_FALSE(content.size);
    EXPECT_EQ(content.etag, "");
  }
}

TEST(PartialContent, GoOn_OfOtherContent_IsRefused) {
  PartialContent content{.bytes = "abcd", .etag = "\"x\""};
  const Status status = content.GoOn("bytes 4-8/9", "\"y\"");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "Content-Range 'bytes 4-8/9' with ETag '\"y\"' is not the rest from byte 4 of * with "
            "ETag '\"x\"'.");
}

TEST(PartialContent, GoOn_WhereNothingWasAskedToGoOn_IsRefused) {
  PartialContent content;
  EXPECT_FALSE(content.GoOn("bytes 0-8/9", "").ok());
}

TEST(PartialContent, BeginAnew_NothingIsLeft) {
  PartialContent content{.bytes = "abcd", .size = 9, .etag = "\"x\""};
  content.BeginAnew(0, "\"y\"");
  EXPECT_EQ(content.bytes, "");
  EXPECT_EQ(content.etag, "\"y\"");
  EXPECT_TRUE(content.is_whole());  // The empty content is.
}

}  // namespace
}  // namespace stoker
