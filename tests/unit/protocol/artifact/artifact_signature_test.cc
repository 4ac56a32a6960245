#include "protocol/artifact/artifact_signature.h"

#include <gmock/gmock.h>

#include "protocol/artifact/artifact.h"
#include "tests/unit/protocol/artifact/sample_artifact.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

SigningKey Key(char seed) {
  return SigningKey::FromSeed(std::string(SigningKey::kSeedSize, seed)).value();
}

const SigningKey kDaemon = Key('d');
const SigningKey kOther = Key('o');
const std::vector<PublicKey> kTrusted = {kDaemon.public_key()};

std::string Signed(std::vector<SigningKey> keys = {kDaemon}) {
  return SignArtifact(EncodeArtifact(SampleArtifact()), keys).value();
}

TEST(ArtifactSignature, Signed_VerifiesAndDecodes) {
  const std::string artifact = Signed();
  EXPECT_EQ(*VerifyArtifact(artifact, kTrusted), kDaemon.public_key());
  ASSERT_TRUE(DecodeArtifact(artifact).ok());
  // What was signed is the artifact as it is encoded, and the same artifact has the same signature.
  EXPECT_EQ(EncodeArtifact(*DecodeArtifact(artifact)), EncodeArtifact(SampleArtifact()));
  EXPECT_EQ(Signed(), artifact);
}

TEST(ArtifactSignature, EveryFlippedBit_IsRefused) {
  const std::string artifact = Signed();
  for (std::size_t i = 0; i < 8 * artifact.size(); ++i) {
    std::string flipped = artifact;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    const bool taken = VerifyArtifact(flipped, kTrusted).ok() && DecodeArtifact(flipped).ok();
    EXPECT_FALSE(taken) << "bit " << i;
  }
}

TEST(ArtifactSignature, EveryTruncation_IsRefused) {
  const std::string artifact = Signed();
  for (std::size_t size = 0; size < artifact.size(); ++size) {
    EXPECT_FALSE(VerifyArtifact(artifact.substr(0, size), kTrusted).ok()) << size;
  }
  EXPECT_FALSE(VerifyArtifact(artifact + "x", kTrusted).ok());
}

// Its digest fits, the signature is another artifact's.
TEST(ArtifactSignature, MovedToAnotherRequest_DataLoss) {
  Artifact other = SampleArtifact();
  other.request_key = Sha256Of("another request");
  const std::string unsigned_one = EncodeArtifact(other);
  const std::string artifact = Signed();
  const std::size_t trailer = PublicKey::kSize + Signature::kSize + 4;
  const std::string moved =
      unsigned_one.substr(0, unsigned_one.size() - 4) + artifact.substr(artifact.size() - trailer);
  ASSERT_TRUE(DecodeArtifact(moved).ok());
  const auto verified = VerifyArtifact(moved, kTrusted);
  EXPECT_EQ(verified.error().code, ErrorCode::kDataLoss);
  EXPECT_THAT(verified.error().message, HasSubstr(kDaemon.public_key().ToString()));
}

TEST(ArtifactSignature, NobodyTrustedSigned_SaysWhoDid) {
  const auto unsigned_one = VerifyArtifact(EncodeArtifact(SampleArtifact()), kTrusted);
  EXPECT_EQ(unsigned_one.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(unsigned_one.error().message, HasSubstr("is not signed"));
  const auto foreign = VerifyArtifact(Signed({kOther}), kTrusted);
  EXPECT_EQ(foreign.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(foreign.error().message, HasSubstr("is signed by " + kOther.public_key().ToString()));
  EXPECT_THAT(foreign.error().message, HasSubstr(kDaemon.public_key().ToString()));
  EXPECT_FALSE(VerifyArtifact(Signed(), {}).ok());
}

TEST(ArtifactSignature, TwoSigners_EitherIsEnough) {
  const std::string artifact = Signed({kOther, kDaemon});
  EXPECT_EQ(*VerifyArtifact(artifact, kTrusted), kDaemon.public_key());
  const std::vector<PublicKey> other = {kOther.public_key()};
  EXPECT_EQ(*VerifyArtifact(artifact, other), kOther.public_key());
  EXPECT_THAT(*SignaturesOf(artifact), SizeIs(2));
}

TEST(ArtifactSignature, SignedAnew_OnlyTheNewSignatureStays) {
  const std::string artifact = SignArtifact(Signed({kOther}), {&kDaemon, 1}).value();
  EXPECT_EQ(artifact, Signed());
  EXPECT_THAT(*SignaturesOf(EncodeArtifact(SampleArtifact())), IsEmpty());
  EXPECT_EQ(SignArtifact("no artifact", {&kDaemon, 1}).error().code, ErrorCode::kDataLoss);
}

TEST(ArtifactSignature, CountBeyondLimit_IsRefused) {
  std::string artifact = EncodeArtifact(SampleArtifact());
  artifact[artifact.size() - 4] = static_cast<char>(kMaxArtifactSignatures + 1);
  EXPECT_THAT(SignaturesOf(artifact).error().message, HasSubstr("'signatures' announces 5"));
  EXPECT_FALSE(DecodeArtifact(artifact).ok());
}

}  // namespace
}  // namespace stoker
