#include "protocol/artifact/capture_envelope.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

const SigningKey kWriter = SigningKey::FromSeed(std::string(SigningKey::kSeedSize, 'w')).value();
const Digest kKey = Sha256Of("capture key");

TEST(CaptureEnvelope, SealedContent_OpensAsItWas) {
  for (const std::string& content : {std::string(), std::string("{}"), std::string("\0\xff", 2)}) {
    const std::string envelope = SealCapture(kKey, content, kWriter);
    const auto opened = OpenCapture(envelope);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->content, content);
    EXPECT_EQ(opened->writer, kWriter.public_key());
    EXPECT_TRUE(IsSignedFor(kKey, *opened));
  }
}

TEST(CaptureEnvelope, Format_IsMagicDigestWriterSignatureContent) {
  const std::string envelope = SealCapture(kKey, "abc", kWriter);
  const std::string digest(Sha256Of("abc").AsBytes());
  const std::string message =
      "stoker capture 1" + std::string(1, '\0') + std::string(kKey.AsBytes()) + digest;
  EXPECT_EQ(envelope, "stokcap2" + digest + std::string(kWriter.public_key().AsBytes()) +
                          std::string(kWriter.Sign(message).AsBytes()) + "abc");
}

TEST(CaptureEnvelope, AnyFlippedBit_IsRefused) {
  const std::string envelope = SealCapture(kKey, "content", kWriter);
  for (std::size_t bit = 0; bit < 8 * envelope.size(); ++bit) {
    std::string flipped = envelope;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto opened = OpenCapture(flipped);
    EXPECT_FALSE(opened.ok() && IsSignedFor(kKey, *opened)) << bit;
  }
  for (std::size_t size = 0; size < envelope.size(); ++size) {
    EXPECT_EQ(OpenCapture(envelope.substr(0, size)).error().code, ErrorCode::kDataLoss) << size;
  }
}

TEST(CaptureEnvelope, UnderAnotherKey_IsNotSigned) {
  const std::string envelope = SealCapture(kKey, "content", kWriter);
  EXPECT_FALSE(IsSignedFor(Sha256Of("another key"), *OpenCapture(envelope)));
}

// Who changes the content and makes the digest fit has no signature for it.
TEST(CaptureEnvelope, ContentOfAnother_UnderItsWritersName_IsNotSigned) {
  const SigningKey other = SigningKey::Make().value();
  const std::string theirs = SealCapture(kKey, "content", other);
  const std::string own = SealCapture(kKey, "content", kWriter);
  const std::size_t writer = kCaptureMagic.size() + Digest::kSize;
  std::string forged = theirs;
  forged.replace(writer, PublicKey::kSize, own, writer, PublicKey::kSize);
  const auto opened = OpenCapture(forged);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->writer, kWriter.public_key());
  EXPECT_FALSE(IsSignedFor(kKey, *opened));
}

TEST(CaptureEnvelope, UnsignedVersion_Unimplemented) {
  const std::string old = "stokcap1" + std::string(Sha256Of("abc").AsBytes()) + "abc";
  EXPECT_EQ(OpenCapture(old).error().code, ErrorCode::kUnimplemented);
}

TEST(CaptureEnvelope, BeyondLimit_ResourceExhausted) {
  const std::string envelope = SealCapture(kKey, std::string(kMaxCaptureBytes, 'x'), kWriter);
  EXPECT_EQ(OpenCapture(envelope).error().code, ErrorCode::kResourceExhausted);
}

TEST(CaptureDropText, EachPart_MakesAnother) {
  const Digest capture = Sha256Of("capture");
  const std::string text = CaptureDropText("team", kKey, capture);
  EXPECT_EQ(text, CaptureDropText("team", kKey, capture));
  EXPECT_NE(text, CaptureDropText("other", kKey, capture));
  EXPECT_NE(text, CaptureDropText("team", capture, capture));
  EXPECT_NE(text, CaptureDropText("team", kKey, kKey));
}

}  // namespace
}  // namespace stoker
