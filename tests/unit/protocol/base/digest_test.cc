#include "protocol/base/digest.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

namespace stoker {
namespace {

struct Vector {
  const char* name;
  std::string message;
  const char* hex;
};

// FIPS 180-4 example messages, as published by NIST's Cryptographic Standards programme.
const Vector kVectors[] = {
    {"Empty", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"OneBlock", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"TwoBlocks", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"MillionAs", std::string(1'000'000, 'a'),
     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

class DigestVector : public testing::TestWithParam<Vector> {};

TEST_P(DigestVector, Sha256_PublishedMessage_PublishedDigest) {
  EXPECT_EQ(Sha256Of(GetParam().message).ToHex(), GetParam().hex);
}

TEST_P(DigestVector, Sha256_MessageInPieces_SameDigest) {
  for (const std::size_t piece : {1U, 63U, 64U, 65U, 4096U}) {
    if (piece == 1 && GetParam().message.size() > 4096) continue;  // A million calls say no more.
    Sha256 sha;
    for (std::size_t at = 0; at < GetParam().message.size(); at += piece) {
      sha.Update(std::string_view(GetParam().message).substr(at, piece));
    }
    EXPECT_EQ(sha.Finish().ToHex(), GetParam().hex) << "pieces of " << piece;
  }
}

INSTANTIATE_TEST_SUITE_P(Digest, DigestVector, testing::ValuesIn(kVectors),
                         [](const auto& info) { return info.param.name; });

TEST(Digest, FromHex_OwnHex_RoundTrips) {
  const Digest digest = Sha256Of("abc");
  const Result<Digest> read = Digest::FromHex(digest.ToHex());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, digest);
}

TEST(Digest, FromHex_Malformed_InvalidArgument) {
  const std::string good = Sha256Of("abc").ToHex();
  std::string upper = good;
  upper[0] = 'B';
  std::string second_half = good;
  second_half[63] = 'g';
  const std::string cases[] = {"",    good.substr(1), good + "0",
                               upper, second_half,    good.substr(0, 63) + ' '};
  for (const std::string& hex : cases) {
    const Result<Digest> read = Digest::FromHex(hex);
    ASSERT_FALSE(read.ok()) << hex;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Digest, FromBytes_OwnBytes_RoundTrips) {
  const Digest digest = Sha256Of("abc");
  ASSERT_EQ(digest.AsBytes().size(), Digest::kSize);
  EXPECT_EQ(*Digest::FromBytes(digest.AsBytes()), digest);
}

TEST(Digest, FromBytes_WrongLength_NamesBoth) {
  for (const std::size_t size : {0U, 31U, 33U}) {
    const Result<Digest> read = Digest::FromBytes(std::string(size, 'x'));
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().message,
              "Digest has " + std::to_string(size) + " bytes; 32 are expected.");
  }
}

TEST(Digest, IsZero_OnlyDefault) {
  EXPECT_TRUE(Digest().IsZero());
  EXPECT_FALSE(Sha256Of("").IsZero());
}

TEST(Digest, Order_ManyDigests_FollowsHex) {
  std::set<Digest> digests;
  std::set<std::string> hexes;
  for (int i = 0; i < 100; ++i) {
    digests.insert(Sha256Of(std::to_string(i)));
    hexes.insert(Sha256Of(std::to_string(i)).ToHex());
  }
  ASSERT_EQ(digests.size(), 100U);
  auto hex = hexes.begin();
  for (const Digest& digest : digests) EXPECT_EQ(digest.ToHex(), *hex++);
}

TEST(Digest, Hash_EqualDigests_FoundAgain) {
  std::unordered_set<Digest, DigestHash> digests;
  for (int i = 0; i < 100; ++i) digests.insert(Sha256Of(std::to_string(i)));
  EXPECT_EQ(digests.size(), 100U);
  EXPECT_TRUE(digests.contains(Sha256Of("42")));
  EXPECT_FALSE(digests.contains(Sha256Of("100")));
}

}  // namespace
}  // namespace stoker
