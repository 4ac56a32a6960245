#include "client/cli/format.h"

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
  EXPECT_EQ(Printable("\xC2"), "\xC2");
}

}  // namespace
}  // namespace stoker::cli
