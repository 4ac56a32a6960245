#include "daemon/access/access_control.h"

#include <gmock/gmock.h>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kOwn = 1000;

net::HttpRequest RequestOf(std::optional<std::uint32_t> uid,
                           std::optional<std::string> authorization = std::nullopt) {
  net::HttpRequest request;
  request.peer.uid = uid;
  request.authorization = std::move(authorization);
  return request;
}

TEST(AccessControl, WithoutAToken_TheUserCounts) {
  const auto access = AccessControl::Open({.own_uid = kOwn});
  ASSERT_TRUE(access.ok());
  EXPECT_TRUE((*access)->GrantOf(RequestOf(kOwn))->Allows(Scope::kAdmin, "any"));
  EXPECT_TRUE((*access)->GrantOf(RequestOf(0))->Allows(Scope::kAdmin, "any"));
  for (const Scope scope : {Scope::kRead, Scope::kWrite, Scope::kAdmin}) {
    EXPECT_FALSE((*access)->GrantOf(RequestOf(kOwn + 1))->Allows(scope));
    EXPECT_FALSE((*access)->GrantOf(RequestOf(std::nullopt))->Allows(scope));
  }
}

TEST(AccessControl, OtherUsers_MayWhatTheConfigurationSays) {
  const auto access = AccessControl::Open({.own_uid = kOwn, .other_users = *Scopes::Parse("read")});
  ASSERT_TRUE(access.ok());
  const auto other = (*access)->GrantOf(RequestOf(kOwn + 1));
  EXPECT_TRUE(other->Allows(Scope::kRead, "any"));
  EXPECT_FALSE(other->Allows(Scope::kWrite));
  EXPECT_EQ(other->who(), "User 1001");
  EXPECT_FALSE((*access)->GrantOf(RequestOf(std::nullopt))->Allows(Scope::kRead));
}

TEST(AccessControl, Token_CountsInPlaceOfTheUser) {
  TempFolder folder;
  const std::string secret = "twenty-characters-at-least";
  const auto access = AccessControl::Open(
      {.own_uid = kOwn,
       .token_file =
           folder.Write("tokens", "[[token]]\nname = \"reader\"\nsha256 = \"" +
                                      Sha256Of(secret).ToHex() + "\"\nscopes = [\"read\"]\n")});
  ASSERT_TRUE(access.ok()) << access.error().message;
  for (const std::optional<std::uint32_t> uid :
       {std::optional(kOwn), std::optional(kOwn + 1), std::optional<std::uint32_t>()}) {
    const auto grant = (*access)->GrantOf(RequestOf(uid, "Bearer " + secret));
    ASSERT_TRUE(grant.ok());
    EXPECT_EQ(grant->who(), "Token 'reader'");
    EXPECT_FALSE(grant->Allows(Scope::kWrite));  // Also where the user might.
    EXPECT_TRUE((*access)->GrantOf(RequestOf(uid, "bearer   " + secret)).ok());
    for (const std::string& wrong : {"Bearer " + secret + "x", "Basic " + secret, secret,
                                     std::string("Bearer "), std::string()}) {
      const auto none = (*access)->GrantOf(RequestOf(uid, wrong));
      ASSERT_FALSE(none.ok()) << wrong;
      EXPECT_THAT(none.error().message, testing::Not(HasSubstr(secret)));
    }
  }
}

TEST(AccessControl, TokenWhereThereAreNone_IsRefused) {
  const auto access = AccessControl::Open({.own_uid = kOwn});
  const auto grant = (*access)->GrantOf(RequestOf(kOwn, "Bearer anything"));
  ASSERT_FALSE(grant.ok());
  EXPECT_THAT(grant.error().message, HasSubstr("--tokens"));
}

}  // namespace
}  // namespace stoker
