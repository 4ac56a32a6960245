#include "cache/blob.h"

#include <gtest/gtest.h>

#include <initializer_list>
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

TEST(BlobKind, EachKind_HasItsOwnNumberAndName) {
  std::set<std::string_view> names;
  for (const BlobKind kind : kBlobKinds) {
    EXPECT_EQ(*BlobKindFromNumber(static_cast<std::uint8_t>(kind)), kind);
    names.insert(BlobKindName(kind));
  }
  EXPECT_EQ(names.size(), kBlobKinds.size());
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(BlobKind, NumberOfNone_IsDataLoss) {
  for (const std::uint8_t number : std::initializer_list<std::uint8_t>{5, 7, 255}) {
    EXPECT_EQ(BlobKindFromNumber(number).error().code, ErrorCode::kDataLoss);
  }
}

}  // namespace
}  // namespace stoker
