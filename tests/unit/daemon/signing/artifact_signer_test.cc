#include "daemon/signing/artifact_signer.h"

#include <gmock/gmock.h>

#include <chrono>

#include "protocol/artifact/artifact.h"
#include "protocol/artifact/artifact_signature.h"
#include "tests/unit/protocol/artifact/sample_artifact.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

class ArtifactSignerTest : public testing::Test {
 protected:
  ArtifactSignerTest() {
    KeyRingConfig config;
    config.folder = folder_.path() + "/keys";
    config.overlap = std::chrono::seconds(3600);
    config.clock = [this] { return SystemUnixNanos() + ahead_ns_; };
    ring_ = KeyRing::Open(std::move(config)).value();
    signer_ = std::make_unique<ArtifactSigner>(*ring_);
  }
  void Rotate() {
    EXPECT_TRUE(RotateKey(folder_.path() + "/keys").ok());
    EXPECT_TRUE(ring_->Reload().ok());
  }
  void EndOverlap() {
    ahead_ns_ += std::int64_t{3601} * 1'000'000'000;
    EXPECT_TRUE(ring_->Reload().ok());
  }
  bool IsTakenFor(const std::string& artifact, const PublicKey& pinned) {
    return VerifyArtifact(artifact, {&pinned, 1}).ok();
  }

  TempFolder folder_;
  std::int64_t ahead_ns_ = 0;
  std::unique_ptr<KeyRing> ring_;
  std::unique_ptr<ArtifactSigner> signer_;
  const std::string unsigned_ = EncodeArtifact(SampleArtifact());
};

TEST_F(ArtifactSignerTest, Signed_IsCurrent_UnsignedOrAnothers_IsForeign) {
  EXPECT_EQ(*signer_->StateOf(unsigned_), SignatureState::kForeign);
  const std::string artifact = signer_->Sign(unsigned_).value();
  EXPECT_EQ(*signer_->StateOf(artifact), SignatureState::kCurrent);
  const SigningKey other = SigningKey::Make().value();
  EXPECT_EQ(*signer_->StateOf(*SignArtifact(unsigned_, {&other, 1})), SignatureState::kForeign);
}

TEST_F(ArtifactSignerTest, SpoiledSignature_DataLoss_AlsoAfterTheRightOneWasSeen) {
  const std::string artifact = signer_->Sign(unsigned_).value();
  ASSERT_TRUE(signer_->StateOf(artifact).ok());
  for (std::size_t at = artifact.size() - 4 - Signature::kSize; at < artifact.size() - 4; ++at) {
    std::string spoiled = artifact;
    spoiled[at] = static_cast<char>(spoiled[at] ^ 1);
    const auto state = signer_->StateOf(spoiled);
    ASSERT_FALSE(state.ok()) << at;
    EXPECT_EQ(state.error().code, ErrorCode::kDataLoss);
    EXPECT_THAT(state.error().message, HasSubstr("does not fit"));
  }
  EXPECT_TRUE(signer_->StateOf(artifact).ok());
}

// What was stored before a rotation reaches clients that pin the old key and those that pin the new
// one for as long as they overlap, and those that pin the new one afterwards.
TEST_F(ArtifactSignerTest, Rotation_WhatWasSignedBefore_IsSignedAnew) {
  const PublicKey old_key = ring_->keys()->Announced().at(0);
  const std::string before = signer_->Sign(unsigned_).value();
  Rotate();
  const PublicKey new_key = ring_->keys()->Announced().at(0);
  EXPECT_EQ(*signer_->StateOf(before), SignatureState::kRetired);
  const std::string within = signer_->Sign(before).value();
  EXPECT_EQ(*signer_->StateOf(within), SignatureState::kCurrent);
  EXPECT_TRUE(IsTakenFor(within, old_key));
  EXPECT_TRUE(IsTakenFor(within, new_key));

  EndOverlap();
  EXPECT_EQ(*signer_->StateOf(before), SignatureState::kRetired);
  EXPECT_EQ(*signer_->StateOf(within), SignatureState::kCurrent);
  const std::string after = signer_->Sign(before).value();
  EXPECT_TRUE(IsTakenFor(after, new_key));
  EXPECT_FALSE(IsTakenFor(after, old_key));
}

TEST_F(ArtifactSignerTest, SignatureOfARetiredKey_ThatDoesNotFit_IsNotSignedAnew) {
  std::string artifact = signer_->Sign(unsigned_).value();
  Rotate();
  EndOverlap();
  artifact[artifact.size() - 5] = static_cast<char>(artifact[artifact.size() - 5] ^ 1);
  EXPECT_EQ(signer_->StateOf(artifact).error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace stoker
