#include "cache/blob.h"

#include <gtest/gtest.h>

#include <set>

namespace stoker {
namespace {

TEST(NamedBlob, Of_NamesBytesByTheirSha256) {
  const NamedBlob named = NamedBlob::Of(Blob("abc", BlobKind::kKernel));
  EXPECT_EQ(named.digest().ToHex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(named.blob().bytes(), "abc");
  EXPECT_EQ(named.blob().kind(), BlobKind::kKernel);
}

TEST(NamedBlob, Verify_TrueName_Succeeds) {
  EXPECT_TRUE(NamedBlob::Verify(Sha256Of("abc"), Blob("abc", BlobKind::kOther)).ok());
}

TEST(NamedBlob, Verify_FalseName_IsDataLossAndNamesBoth) {
  const Result<NamedBlob> named = NamedBlob::Verify(Sha256Of("abc"), Blob("abd", BlobKind::kOther));
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(named.error().message.find(Sha256Of("abc").ToHex()), std::string::npos);
  EXPECT_NE(named.error().message.find(Sha256Of("abd").ToHex()), std::string::npos);
}

TEST(BlobKind, EveryNumber_HasItsOwnName) {
  std::set<std::string_view> names;
  for (std::uint8_t number = 0; number < kBlobKindCount; ++number) {
    names.insert(BlobKindName(*BlobKindFromNumber(number)));
  }
  EXPECT_EQ(names.size(), kBlobKindCount);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(BlobKindFromNumber(kBlobKindCount).error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace stoker
