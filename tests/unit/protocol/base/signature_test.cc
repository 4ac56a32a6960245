#include "protocol/base/signature/signature.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace stoker {
namespace {

using testing::HasSubstr;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16)));
  }
  return bytes;
}

struct Vector {
  std::string seed;
  std::string public_key;
  std::string message;
  std::string signature;
};

// RFC 8032, 7.1: tests 1 to 3, and SHA(abc).
const Vector kVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b"
     "46b"
     "d25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11"
     "d8c"
     "387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc"
     "659"
     "4a7c15e9716ed28dc027beceea1ec40a"},
    {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
     "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3fee"
     "bbd"
     "454d4423643ce80e2a9ac94fa54ca49f",
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e"
     "030"
     "3dca179c138ac17ad9bef1177331a704"},
};

TEST(Signature, VectorsOfRfc8032) {
  for (const Vector& vector : kVectors) {
    const auto key = SigningKey::FromSeed(FromHex(vector.seed));
    ASSERT_TRUE(key.ok());
    EXPECT_EQ(key->public_key().ToString(), "ed25519:" + vector.public_key);
    const std::string message = FromHex(vector.message);
    const Signature signature = key->Sign(message);
    EXPECT_EQ(signature.AsBytes(), FromHex(vector.signature));
    EXPECT_TRUE(Verify(key->public_key(), message, signature));
    EXPECT_FALSE(Verify(key->public_key(), message + "x", signature));
  }
}

TEST(Signature, EveryFlippedBit_DoesNotFit) {
  const SigningKey key = SigningKey::FromSeed(std::string(SigningKey::kSeedSize, 's')).value();
  const std::string message = "message";
  const Signature signature = key.Sign(message);
  const auto flipped = [](std::string_view bytes, std::size_t bit) {
    std::string other(bytes);
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    return other;
  };
  for (std::size_t bit = 0; bit < 8 * Signature::kSize; ++bit) {
    const auto other = Signature::FromBytes(flipped(signature.AsBytes(), bit));
    EXPECT_FALSE(Verify(key.public_key(), message, *other)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * PublicKey::kSize; ++bit) {
    const auto other = PublicKey::FromBytes(flipped(key.public_key().AsBytes(), bit));
    EXPECT_FALSE(Verify(*other, message, signature)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
    EXPECT_FALSE(Verify(key.public_key(), flipped(message, bit), signature)) << bit;
  }
  EXPECT_FALSE(Verify(PublicKey(), message, Signature()));
}

TEST(Signature, AnotherContext_DoesNotFit) {
  const SigningKey key = SigningKey::Make().value();
  const Signature signature = key.Sign(InContext("one kind", "message"));
  EXPECT_TRUE(Verify(key.public_key(), InContext("one kind", "message"), signature));
  EXPECT_FALSE(Verify(key.public_key(), InContext("other kind", "message"), signature));
  EXPECT_FALSE(Verify(key.public_key(), "message", signature));
  EXPECT_NE(InContext("one", " kind"), InContext("one kind", ""));
}

TEST(SigningKey, Made_IsAnotherEachTime_AndItsSeedGivesItBack) {
  const SigningKey one = SigningKey::Make().value();
  EXPECT_NE(one.public_key(), SigningKey::Make()->public_key());
  EXPECT_EQ(SigningKey::FromSeed(one.seed())->public_key(), one.public_key());
  EXPECT_EQ(SigningKey::FromSeed("short").error().code, ErrorCode::kInvalidArgument);
}

TEST(SigningKey, ManyThreadsAtOnce) {
  const SigningKey key = SigningKey::Make().value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) {
        const std::string message = std::to_string(i) + " " + std::to_string(n);
        EXPECT_TRUE(Verify(key.public_key(), message, key.Sign(message)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PublicKey, Text_IsReadBack_AndNothingElseIs) {
  const PublicKey key = SigningKey::Make()->public_key();
  EXPECT_EQ(*PublicKey::Parse(key.ToString()), key);
  const std::string digits = key.ToString().substr(8);
  for (const std::string& wrong :
       {std::string(), digits, "ed25519:" + digits.substr(1), "ed25519:" + digits + "0",
        "ED25519:" + digits, "ed25519:" + std::string(64, 'A'), "ed25519: " + digits}) {
    const auto parsed = PublicKey::Parse(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_THAT(parsed.error().message, HasSubstr("'" + wrong + "' is no public key"));
  }
  EXPECT_FALSE(PublicKey::FromBytes("short").ok());
  EXPECT_FALSE(Signature::FromBytes("short").ok());
}

}  // namespace
}  // namespace stoker
