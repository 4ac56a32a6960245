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

TEST(AccessControl, Certificate_CountsInPlaceOfTheUser_ATokenInPlaceOfIt) {
  TempFolder folder;
  const std::string secret = "twenty-characters-at-least";
  const std::string path = folder.Write(
      "tokens", "[[token]]\nname = \"ops\"\nsha256 = \"" + Sha256Of(secret).ToHex() +
                    "\"\nscopes = [\"admin\"]\n[[certificate]]\nsubject = \"t.example\"\n"
                    "scopes = [\"read\"]\nnamespaces = [\"team\"]\n");
  const auto access = AccessControl::Open(
      {.own_uid = kOwn, .token_file = path, .certificates = *Scopes::Parse("read,write")});
  ASSERT_TRUE(access.ok()) << access.error().message;
  net::HttpRequest request = RequestOf(kOwn);
  request.peer.certificate_names = {"somebody", "s.example"};
  const auto unlisted = (*access)->GrantOf(request);
  EXPECT_EQ(unlisted->who(), "Certificate 'somebody'");
  EXPECT_TRUE(unlisted->Allows(Scope::kWrite, "any"));
  EXPECT_FALSE(unlisted->Allows(Scope::kAdmin));  // Although the user might.
  request.peer.certificate_names = {"trainer", "t.example"};
  const auto listed = (*access)->GrantOf(request);
  EXPECT_EQ(listed->who(), "Certificate 't.example'");
  EXPECT_TRUE(listed->Allows(Scope::kRead, "team"));
  EXPECT_FALSE(listed->Allows(Scope::kRead, "other"));
  EXPECT_FALSE(listed->Allows(Scope::kWrite));
  request.authorization = "Bearer " + secret;
  EXPECT_EQ((*access)->GrantOf(request)->who(), "Token 'ops'");
}

TEST(AccessControl, WhoShowsNothing_MayWhatOtherUsersMay_OnlyWhereInsecure) {
  for (const bool insecure : {false, true}) {
    const auto access = AccessControl::Open(
        {.own_uid = kOwn, .other_users = *Scopes::Parse("read"), .insecure = insecure});
    ASSERT_TRUE(access.ok());
    const auto grant = (*access)->GrantOf(RequestOf(std::nullopt));
    EXPECT_EQ(grant->Allows(Scope::kRead), insecure);
    EXPECT_FALSE(grant->Allows(Scope::kWrite));
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
