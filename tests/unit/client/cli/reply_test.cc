#include "client/cli/output/reply.h"

#include <gtest/gtest.h>

namespace stoker::cli {
namespace {

namespace json = boost::json;

TEST(Reply, Texts_LoseWhatSteersATerminal_WhereverTheyAre) {
  const char* text = R"({"a\u001bb": [{"label": "x\u001b[2J\ny"}, 3, null], "c": "\u009b2J"})";
  EXPECT_EQ(json::serialize(ParseReply(text)), R"({"a?b":[{"label":"x?[2J?y"},3,null],"c":"?2J"})");
  EXPECT_EQ(json::serialize(ParseReply(R"("a\nb\u0007")", Texts::kLines)), R"("a\nb?")");
}

}  // namespace
}  // namespace stoker::cli
