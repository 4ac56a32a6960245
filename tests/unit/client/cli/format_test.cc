#include "client/cli/output/format.h"

#include <gtest/gtest.h>

namespace stoker::cli {
namespace {

TEST(Format, Printable_LeavesNothingThatSteersATerminal) {
  EXPECT_EQ(Printable("gpt2 é 模型"), "gpt2 é 模型");
  EXPECT_EQ(Printable("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(PrintableLines("a\x1b[2J\n\tb\r"), "a?[2J\n\tb?");
  EXPECT_EQ(Printable("a\xC2\x9B"
                      "2Jb"),
            "a?2Jb");  // CSI as one character.
  EXPECT_EQ(Printable("\xC2\xA0"), "\xC2\xA0");
  EXPECT_EQ(Printable("\xC2"), "?");
  EXPECT_EQ(Printable("\x9B"
                      "2J\xE2\x82\xFFz"),
            "?2J???z");
  // Each of Unicode's Bidi_Control, and the separators of lines and paragraphs.
  for (const char* steers :
       {"\u061C", "\u200E", "\u200F", "\u2028", "\u2029", "\u202A", "\u202E", "\u2066", "\u2069"}) {
    EXPECT_EQ(Printable(steers), "?");
    EXPECT_EQ(PrintableLines(steers), "?");
  }
  EXPECT_EQ(Printable("\u200D\u202F\u2065\u206A"), "\u200D\u202F\u2065\u206A");
}

TEST(Format, Parse_TakesWhatItSays) {
  EXPECT_EQ(ParseWhole("0"), 0U);
  EXPECT_EQ(ParseWhole("018446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(ParseNumber("0.5"), 0.5);
  EXPECT_EQ(ParseNumber("20"), 20);
  EXPECT_EQ(ParseBytes("0"), 0U);
  EXPECT_EQ(ParseBytes("1.5k"), 1536U);
  EXPECT_EQ(ParseBytes("10GiB"), std::uint64_t{10} << 30);
  EXPECT_EQ(ParseBytes("2mb"), std::uint64_t{2} << 20);
  EXPECT_EQ(ParseBytes("1PiB"), std::uint64_t{1} << 50);
  EXPECT_EQ(ParseAge("0s"), 0);
  EXPECT_EQ(ParseAge("1.5h"), 5400);
  EXPECT_EQ(ParseAge("4w"), 4 * 604800);
}

TEST(Format, Parse_WhatIsNone_GivesNothing) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "nan", "inf", "0x10", "x", "-0"}) {
    EXPECT_FALSE(ParseWhole(text)) << text;
    EXPECT_FALSE(ParseNumber(text)) << text;
    EXPECT_FALSE(ParseBytes(text)) << text;
    EXPECT_FALSE(ParseAge(text)) << text;
  }
  EXPECT_FALSE(ParseWhole("1.5"));
  EXPECT_FALSE(ParseWhole("18446744073709551616"));
  EXPECT_FALSE(ParseNumber("1e3"));
  EXPECT_FALSE(ParseBytes("2PiB"));
  EXPECT_FALSE(ParseBytes("1kilo"));
  EXPECT_FALSE(ParseBytes("1x"));
  EXPECT_FALSE(ParseAge("30"));
  EXPECT_FALSE(ParseAge("99999999999d"));
}

}  // namespace
}  // namespace stoker::cli
