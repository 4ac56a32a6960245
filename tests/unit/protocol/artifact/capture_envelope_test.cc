#include "protocol/artifact/capture_envelope.h"

#include <gtest/gtest.h>

#include "protocol/base/digest.h"

namespace stoker {
namespace {

TEST(CaptureEnvelope, SealedContent_OpensAsItWas) {
  for (const std::string& content : {std::string(), std::string("{}"), std::string("\0\xff", 2)}) {
    const std::string envelope = SealCapture(content);
    const auto opened = OpenCapture(envelope);
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(*opened, content);
  }
}

TEST(CaptureEnvelope, Format_IsMagicDigestContent) {
  EXPECT_EQ(SealCapture("abc"),
            "stokcap1" + std::string(Sha256Of("abc").AsBytes()) + std::string("abc"));
}

TEST(CaptureEnvelope, AnyFlippedOrMissingByte_DataLoss) {
  const std::string envelope = SealCapture("content");
  for (std::size_t at = 0; at < envelope.size(); ++at) {
    std::string flipped = envelope;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_EQ(OpenCapture(flipped).error().code, ErrorCode::kDataLoss) << at;
    EXPECT_EQ(OpenCapture(envelope.substr(0, at)).error().code, ErrorCode::kDataLoss) << at;
  }
}

TEST(CaptureEnvelope, BeyondLimit_ResourceExhausted) {
  const std::string envelope = SealCapture(std::string(kMaxCaptureBytes, 'x'));
  EXPECT_EQ(OpenCapture(envelope).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace stoker
