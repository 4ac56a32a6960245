#include "daemon/access/scope.h"

#include <gmock/gmock.h>

#include "daemon/access/grant.h"

namespace stoker {
namespace {

using testing::HasSubstr;

TEST(Scopes, Parse_GivesWhatIsNamed) {
  for (const char* text : {"none", "read", "write", "read,write", "read,write,admin", "admin"}) {
    const auto scopes = Scopes::Parse(text);
    ASSERT_TRUE(scopes.ok()) << text;
    EXPECT_EQ(scopes->ToString(), text);
  }
  EXPECT_EQ(Scopes::Parse("write,read")->ToString(), "read,write");
  EXPECT_EQ(Scopes::All(), *Scopes::Parse("read,write,admin"));
}

TEST(Scopes, Parse_AnythingElse_NamesIt) {
  for (const auto& [text, named] : {std::pair{"", "''"},
                                    {"read,", "''"},
                                    {"Read", "'Read'"},
                                    {"read,none", "'none'"},
                                    {"read write", "'read write'"}}) {
    const auto scopes = Scopes::Parse(text);
    ASSERT_FALSE(scopes.ok()) << text;
    EXPECT_THAT(scopes.error().message, HasSubstr(named));
  }
}

TEST(Grant, Require_SaysWhoMayNotDoWhatWhere) {
  const Grant grant("Token 'ci'", *Scopes::Parse("read"), {"a", "b"});
  EXPECT_TRUE(grant.Require(Scope::kRead).ok());
  EXPECT_TRUE(grant.Require(Scope::kRead, "b").ok());
  EXPECT_THAT(grant.Require(Scope::kWrite, "a").error().message,
              HasSubstr("Token 'ci' has no scope 'write'; the scopes are: read."));
  EXPECT_THAT(grant.Require(Scope::kRead, "c").error().message,
              HasSubstr("no scope 'read' in namespace 'c'; the namespaces are: a, b."));
  EXPECT_FALSE(grant.Allows(Scope::kRead, ""));  // All of them.
  EXPECT_TRUE(Grant("Root", Scopes::All()).Allows(Scope::kAdmin, ""));
}

}  // namespace
}  // namespace stoker
