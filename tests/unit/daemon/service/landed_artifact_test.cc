#include "daemon/service/flight/landed_artifact.h"

#include <gmock/gmock.h>

#include "protocol/wire/framing.h"
#include "protocol/wire/messages.h"

namespace stoker {
namespace {

using testing::SizeIs;

class LandedArtifactTest : public testing::Test {
 protected:
  static StoredArtifact Stored() {
    StoredArtifact stored;
    stored.artifact = "artifact";
    for (const std::string bytes : {"one", "two", "three", "four"}) {
      stored.blobs.emplace(Sha256Of(bytes), Blob(bytes, BlobKind::kKernel));
    }
    stored.compile_seconds = 1.5;
    stored.tier = "compiled";
    return stored;
  }
  static wire::Bundle BundleIn(const std::string& frame) {
    return std::get<wire::Bundle>(
        wire::DecodeCompileEvent(std::string_view(frame).substr(wire::kFrameHeaderBytes)).value());
  }
  const LandedArtifact landed_{Stored()};
};

TEST_F(LandedArtifactTest, FrameFor_WhoHoldsNothing_HasAllOfIt_AndIsMadeOnce) {
  const auto frame = landed_.FrameFor({}, "joined");
  const wire::Bundle bundle = BundleIn(*frame);
  EXPECT_EQ(bundle.artifact, "artifact");
  EXPECT_EQ(bundle.source, "joined");
  EXPECT_EQ(bundle.compile_seconds, 1.5);
  EXPECT_THAT(bundle.blobs, SizeIs(4));
  EXPECT_EQ(landed_.FrameFor({}, "joined"), frame);
  // What is none of its own makes no difference.
  EXPECT_EQ(landed_.FrameFor({Sha256Of("of another")}, "joined"), frame);
  EXPECT_EQ(BundleIn(*landed_.FrameFor({}, "compiled")).source, "compiled");
}

TEST_F(LandedArtifactTest, KeptFrameFor_GivesWhatWasMadeForAnother_AndMakesNone) {
  EXPECT_EQ(landed_.KeptFrameFor({}, "joined"), nullptr);
  const auto frame = landed_.FrameFor({}, "joined");
  EXPECT_EQ(landed_.KeptFrameFor({}, "joined"), frame);
  EXPECT_EQ(landed_.KeptFrameFor({}, "compiled"), nullptr);
  EXPECT_EQ(landed_.KeptFrameFor({Sha256Of("one")}, "joined"), nullptr);
}

TEST_F(LandedArtifactTest, FrameFor_WhatTheCallerHolds_IsLeftOut_InAnyOrder) {
  const std::vector<Digest> held = {Sha256Of("two"), Sha256Of("one")};
  const auto frame = landed_.FrameFor(held, "joined");
  EXPECT_THAT(BundleIn(*frame).blobs, SizeIs(2));
  EXPECT_EQ(landed_.FrameFor({held[1], held[0]}, "joined"), frame);
}

TEST_F(LandedArtifactTest, FrameFor_ManyKinds_AFewAreKept) {
  for (std::size_t i = 0; i < 2 * LandedArtifact::kMaxKeptFrames; ++i) {
    EXPECT_EQ(BundleIn(*landed_.FrameFor({}, std::to_string(i))).source, std::to_string(i));
  }
  EXPECT_EQ(landed_.FrameFor({}, "0"), landed_.FrameFor({}, "0"));
  const std::string last = std::to_string(2 * LandedArtifact::kMaxKeptFrames - 1);
  EXPECT_NE(landed_.FrameFor({}, last), landed_.FrameFor({}, last));
}

}  // namespace
}  // namespace stoker
