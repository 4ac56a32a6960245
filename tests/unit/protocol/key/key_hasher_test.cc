#include "protocol/key/key_hasher.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker {
namespace {

TEST(KeyHasher_Finish, IsSha256OfDomainTagsAndValues) {
  KeyHasher hasher("domain");
  hasher.Text("tag", "value");
  hasher.Code("flag", 1, "on");
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

TEST(KeyHasher_Log, ShowsTagTextAndDigest) {
  KeyHasher hasher("domain");
  hasher.Code("numerics", 2, "medium");
  EXPECT_EQ(hasher.log(),
            "domain\nnumerics = medium  [" + Sha256Of(std::string(1, '\2')).ToHex() + "]\n");
}

}  // namespace
}  // namespace stoker
