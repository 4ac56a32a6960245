#include "daemon/admin/reply/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::HasSubstr;

TEST(Query, Parse_SoundText_HasItsValues) {
  const Query query =
      Query::Parse("since=60&key=ab12&sections=", {"since", "key", "sections", "x"}).value();
  EXPECT_EQ(query.Number("since", 1, 100).value(), 60);
  EXPECT_EQ(query.Text("key"), "ab12");
  EXPECT_TRUE(query.Has("sections"));
  EXPECT_EQ(query.Text("sections"), "");
  EXPECT_FALSE(query.Has("x"));
  EXPECT_FALSE(Query::Parse("", {"since"}).value().Has("since"));
}

TEST(Query, Parse_WrongPart_IsNamed) {
  for (const std::string_view part :
       {"since", "until=3", "=3", "since=1%30", "since=1+1", "since=1&since=2"}) {
    const auto query = Query::Parse(part, {"since"});
    ASSERT_FALSE(query.ok()) << part;
    EXPECT_THAT(query.error().message, HasSubstr("since=..."));
  }
}

TEST(Query, Number_NoneOrOutOfBounds_NamesValueAndLimits) {
  const Query query = Query::Parse("a=0&b=1x&c=", {"a", "b", "c", "d"}).value();
  for (const std::string_view name : {"a", "b", "c", "d"}) {
    const auto number = query.Number(name, 1, 1000);
    ASSERT_FALSE(number.ok()) << name;
    EXPECT_THAT(number.error().message, HasSubstr("from 1 to 1000"));
  }
}

}  // namespace
}  // namespace stoker
