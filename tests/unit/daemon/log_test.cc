#include "daemon/log/log.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::MatchesRegex;

// What clients choose, among it what could look like more of a log.
const LogFields kFields = {{"request", "7f-3"}, {"graph", "a \"b'\nc\x01\x1f\\"}, {"empty", ""}};

TEST(Log, Text_IsNameAndValue_OnOneLine) {
  EXPECT_EQ(TextOfPayload(LogPayload("compiled", kFields)),
            R"(compiled request=7f-3 graph='a "b\'\u000ac\u0001?\\' empty='')");
  EXPECT_EQ(TextOfPayload("plain message"), "plain message");
  EXPECT_EQ(TextOfPayload("two\nlines \xff"), "two\\u000alines ?");
  EXPECT_EQ(TextOfPayload("\xC2\x9B"
                          "2J 20\xC2\xB0"),
            "\\u009b2J 20\xC2\xB0");
  EXPECT_EQ(TextOfPayload(LogPayload("a\u202Eb\u2028", {{"job", "x\u2066"}, {"model", "Ü\u4E2D"}})),
            "a\\u202eb\\u2028 job='x\\u2066' model=Ü\u4E2D");
}

TEST(Log, Json_IsEscaped) {
  EXPECT_EQ(JsonOfPayload(LogPayload("say \"hi\"", kFields)),
            R"("message":"say \"hi\"","request":"7f-3",)"
            R"("graph":"a \"b'\u000ac\u0001?\\","empty":"")");
}

TEST(Log, Lines_AreInTheFormatThatWasChosen) {
  const TempFolder folder;
  for (const auto& [format, expected] :
       {std::pair(LogFormat::kText, "20..-..-..T..:..:..\\....Z warning a b request=7\n"),
        std::pair(LogFormat::kJson,
                  ".\"time\":\"20..-..-..T..:..:..\\....Z\",\"level\":\"warning\","
                  "\"message\":\"a b\",\"request\":\"7\".\n")}) {
    const std::string path = folder.path() + "/log" + std::to_string(static_cast<int>(format));
    {
      const Log log(path, "info", format);
      LogWarning("{}", LogPayload("a b", {{"request", "7"}}));
      LogDebug("not shown");
    }
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_THAT(text.str(), MatchesRegex(expected));
  }
}

}  // namespace
}  // namespace stoker
