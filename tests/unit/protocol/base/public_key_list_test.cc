#include "protocol/base/signature/public_key_list.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PublicKey Key(char seed) {
  return SigningKey::FromSeed(std::string(SigningKey::kSeedSize, seed))->public_key();
}

TEST(PublicKeyList, Text_InAnyOfItsForms) {
  const std::string a = Key('a').ToString();
  const std::string b = Key('b').ToString();
  for (const std::string& text : {a + "," + b, a + " " + b, a + ", " + b + ",",
                                  "# ours\n" + a + " # the old one\n\n" + b + "\n",
                                  a + "\r\n" + b + "\r\n", a + "," + b + "," + a}) {
    const auto keys = ParsePublicKeys(text);
    ASSERT_TRUE(keys.ok()) << text;
    EXPECT_THAT(*keys, ElementsAre(Key('a'), Key('b'))) << text;
  }
  EXPECT_EQ(ListOf(*ParsePublicKeys(a + " " + b)), a + ", " + b);
  EXPECT_THAT(*ParsePublicKeys("# nothing\n"), IsEmpty());
  EXPECT_EQ(ListOf({}), "nobody");
}

TEST(PublicKeyList, Text_WithWhatIsNoKey_IsRefusedByName) {
  EXPECT_THAT(ParsePublicKeys(Key('a').ToString() + " banana").error().message,
              HasSubstr("'banana' is no public key"));
}

TEST(PublicKeyList, Text_BeyondLimit_IsRefused) {
  std::string text;
  for (std::size_t i = 0; i <= kMaxListedKeys; ++i) {
    text += SigningKey::Make()->public_key().ToString() + "\n";
  }
  EXPECT_EQ(ParsePublicKeys(text).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(ParsePublicKeys(text.substr(0, text.rfind("ed25519"))).ok());
}

TEST(PublicKeyList, Setting_IsKeysOrAFile) {
  const TempFolder folder;
  const std::string a = Key('a').ToString();
  EXPECT_THAT(*PublicKeysOf(a), ElementsAre(Key('a')));
  const std::string file = folder.Write("keys", "# team\n" + a + "\n");
  EXPECT_THAT(*PublicKeysOf(file), ElementsAre(Key('a')));
  EXPECT_THAT(PublicKeysOf(folder.Write("none", "# nobody\n")).error().message,
              HasSubstr("lists no public key"));
  EXPECT_THAT(PublicKeysOf(folder.Write("bad", "x")).error().message,
              testing::AllOf(HasSubstr(folder.path() + "/bad"), HasSubstr("'x'")));
  EXPECT_THAT(PublicKeysOf("/nowhere").error().message, HasSubstr("'/nowhere' cannot be read"));
  EXPECT_EQ(PublicKeysOf(folder.Write("large", std::string(70'000, '#'))).error().code,
            ErrorCode::kResourceExhausted);
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  EXPECT_THAT(PublicKeysOf(file).error().message, HasSubstr("everybody may write to it"));
  EXPECT_FALSE(PublicKeysOf(folder.path()).ok());
}

}  // namespace
}  // namespace stoker
