#include "protocol/key/key_hasher.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker {
namespace {

TEST(KeyHasher_Finish, IsSha256OfDomainTagsAndValues) {
  KeyHasher hasher("domain");
  hasher.Text("tag", "value");
  hasher.Bool("flag", true);
  ByteWriter expected;
  expected.Bytes("domain");
  expected.Bytes("tag");
  expected.Bytes("value");
  expected.Bytes("flag");
  expected.Bytes(std::string(1, '\1'));
  EXPECT_EQ(hasher.Finish(), Sha256Of(expected.str()));
}

TEST(KeyHasher_Field, BytesMovedBetweenTagAndValue_OtherDigest) {
  KeyHasher first("domain");
  first.Text("ab", "c");
  KeyHasher second("domain");
  second.Text("a", "bc");
  EXPECT_NE(first.Finish(), second.Finish());
}

TEST(KeyHasher_Domain, Differs_OtherDigest) {
  EXPECT_NE(KeyHasher("a").Finish(), KeyHasher("b").Finish());
}

TEST(KeyHasher_LeftOut, IsLoggedButNotHashed) {
  KeyHasher with("domain");
  with.Int("n", 7);
  with.LeftOut("debug", "does not change anything");
  KeyHasher without("domain");
  without.Int("n", 7);
  EXPECT_EQ(with.log(), without.log() + "debug is left out: does not change anything\n");
  EXPECT_EQ(with.fields().size(), 1U);
  EXPECT_EQ(with.Finish(), without.Finish());
}

TEST(KeyHasher_Log, ShowsTagTextAndDigest) {
  KeyHasher hasher("domain");
  hasher.Code("mode", 2, "max-autotune");
  EXPECT_EQ(hasher.log(),
            "domain\nmode = max-autotune  [" + Sha256Of(std::string(1, '\2')).ToHex() + "]\n");
}

}  // namespace
}  // namespace stoker
