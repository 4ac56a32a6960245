#include <gtest/gtest.h>

#include "runtime/executable.h"
#include "tests/unit/runtime/executable_case.h"

namespace stoker {
namespace {

using cpu::AddDoubledWeight;
using cpu::PlanBuilder;

class RefusedLoad : public ExecutableTest {
 protected:
  Error LoadError(const std::string& bytes, const Digest& key, const BlobSource& blobs) {
    const auto loaded = Executable::Load(*device_, bytes, key, blobs);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  }

  const PlanBuilder builder_ = AddDoubledWeight(64);
  const Digest key_ = builder_.artifact.request_key;
};

TEST_F(RefusedLoad, DamagedArtifact_DataLossNamesBothDigests) {
  const std::string good = builder_.Bytes();
  std::string flipped = good;
  flipped[flipped.size() / 3] = static_cast<char>(flipped[flipped.size() / 3] ^ 4);
  for (const std::string& bytes : {good.substr(0, good.size() - 1), flipped, std::string("x")}) {
    const Error error = LoadError(bytes, key_, builder_.Source());
    EXPECT_EQ(error.code, ErrorCode::kDataLoss);
    EXPECT_NE(error.message.find(key_.ToHex()), std::string::npos);
    EXPECT_NE(error.message.find(Sha256Of(bytes).ToHex()), std::string::npos);
  }
}

TEST_F(RefusedLoad, ArtifactOfAnotherRequest_DataLoss) {
  const Digest other = Sha256Of("other");
  const Error error = LoadError(builder_.Bytes(), other, builder_.Source());
  EXPECT_EQ(error.code, ErrorCode::kDataLoss);
  EXPECT_EQ(error.message,
            "Artifact of request " + other.ToHex() + " was made for request " + key_.ToHex() + ".");
}

TEST_F(RefusedLoad, ArtifactForAnotherProcessor_FailedPrecondition) {
  PlanBuilder builder = AddDoubledWeight(64);
  builder.artifact.target = Target::Parse("cuda/sm_90a").value();
  const Error error = LoadError(builder.Bytes(), key_, builder.Source());
  EXPECT_EQ(error.code, ErrorCode::kFailedPrecondition);
  EXPECT_NE(error.message.find("Code for cuda/sm_90a needs a GPU"), std::string::npos);
}

TEST_F(RefusedLoad, DamagedBlobs_DataLossNamesTheBlob) {
  const Digest blob = builder_.artifact.kernels[0].blob;
  const std::string good = builder_.blobs.at(blob);
  std::string flipped = good;
  flipped[100] = static_cast<char>(flipped[100] ^ 1);
  for (const std::string& bytes : {good.substr(1), flipped}) {
    PlanBuilder damaged = builder_;
    damaged.blobs[blob] = bytes;
    const Error error = LoadError(builder_.Bytes(), key_, damaged.Source());
    EXPECT_EQ(error.code, ErrorCode::kDataLoss);
    EXPECT_NE(error.message.find("Kernel " + blob.ToHex()), std::string::npos) << error.message;
  }
}

TEST_F(RefusedLoad, DamagedConstant_DataLossNamesTheBlob) {
  PlanBuilder builder = AddDoubledWeight(64);
  builder.Constant("0123456789abcdef");
  const Digest blob = builder.artifact.constants[0].blob;
  const std::string bytes = builder.Bytes();
  builder.blobs[blob] = "0123456789abcdeF";
  const Error error = LoadError(bytes, key_, builder.Source());
  EXPECT_EQ(error.code, ErrorCode::kDataLoss);
  EXPECT_NE(error.message.find("Constant " + blob.ToHex()), std::string::npos) << error.message;
}

TEST_F(RefusedLoad, MissingBlob_KeepsTheSourcesCode) {
  const Error error = LoadError(builder_.Bytes(), key_, [](const Digest&) -> Result<std::string> {
    return NotFound("no such blob");
  });
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message,
            "Kernel " + builder_.artifact.kernels[0].blob.ToHex() + ": no such blob");
}

}  // namespace
}  // namespace stoker
