#include "protocol/manifest/bundle.h"

#include <gtest/gtest.h>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

std::string RecordOf(std::uint32_t kind, const std::string& content) {
  return EncodeRecord(kBundleFormat, kind, Sha256Of(content), content).value();
}

// With a seal of these contents.
std::string BundleOf(const std::vector<std::string>& contents) {
  std::string bytes;
  std::vector<Record> records;
  for (const std::string& content : contents) {
    bytes += RecordOf(kBlobRecord, content);
    records.push_back({kBlobRecord, Sha256Of(content), {}});
  }
  return bytes + RecordOf(kSealRecord, EncodeSeal(SealOf(records)));
}

class BundleTest : public testing::Test {
 protected:
  Result<Bundle> Read(const std::string& bytes) {
    return Bundle::Read(folder_.Write("bundle", bytes));
  }
  ErrorCode CodeOfSeal(const std::string& bytes) {
    const auto bundle = Read(bytes);
    if (!bundle.ok()) return bundle.error().code;
    const auto seal = bundle->CheckedSeal();
    return seal.ok() ? ErrorCode::kInternal : seal.error().code;
  }

  const TempFolder folder_;
};

TEST_F(BundleTest, Sealed_IsWhole) {
  const std::string bytes = BundleOf({"a", "b"});
  const auto bundle = Read(bytes);
  ASSERT_TRUE(bundle.ok());
  EXPECT_EQ(bundle->records().size(), 3U);
  EXPECT_EQ(bundle->end(), bytes.size());
  const auto seal = bundle->CheckedSeal();
  ASSERT_TRUE(seal.ok()) << seal.error().message;
  EXPECT_EQ(seal->records, 2U);
}

TEST_F(BundleTest, SealedAgainAfterMoreWasAdded_IsWhole) {
  const std::string first = BundleOf({"a"});
  const auto before = Read(first + RecordOf(kBlobRecord, "b")).value();
  const std::string seal = RecordOf(kSealRecord, EncodeSeal(SealOf(before.records())));
  EXPECT_TRUE(Read(first + RecordOf(kBlobRecord, "b") + seal)->CheckedSeal().ok());
}

TEST_F(BundleTest, NotFinished_IsRefused) {
  EXPECT_EQ(CodeOfSeal(""), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(CodeOfSeal(RecordOf(kBlobRecord, "a")), ErrorCode::kFailedPrecondition);
  EXPECT_EQ(CodeOfSeal(BundleOf({"a"}) + RecordOf(kBlobRecord, "b")),
            ErrorCode::kFailedPrecondition);
}

TEST_F(BundleTest, DamagedOrMixed_IsRefused) {
  const std::string bytes = BundleOf({"a", "b"});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_NE(CodeOfSeal(flipped), ErrorCode::kInternal) << at;
    EXPECT_NE(CodeOfSeal(bytes.substr(0, at)), ErrorCode::kInternal) << at;
  }
  // Whole records, but not those that were sealed.
  const std::string first = RecordOf(kBlobRecord, "a");
  EXPECT_EQ(CodeOfSeal(bytes.substr(first.size())), ErrorCode::kDataLoss);
  EXPECT_EQ(CodeOfSeal(RecordOf(kBlobRecord, "c") + bytes), ErrorCode::kDataLoss);
}

TEST_F(BundleTest, Torn_SaysWhereTheWholePartEnds) {
  const std::string first = RecordOf(kBlobRecord, "a");
  const auto bundle = Read(first + RecordOf(kBlobRecord, "b").substr(0, 50)).value();
  EXPECT_EQ(bundle.end(), first.size());
  EXPECT_EQ(bundle.damaged_bytes(), 50U);
}

TEST_F(BundleTest, AnotherKindOfFile_IsRefused) {
  EXPECT_EQ(CodeOfSeal("stokrman and so on"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Bundle::Read(folder_.path() + "/none").error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(Bundle::Read(folder_.path()).error().code, ErrorCode::kFailedPrecondition);
}

TEST(Seal, RoundTrip) {
  Seal seal;
  seal.records = 3;
  seal.digest = Sha256Of("names");
  const std::string bytes = EncodeSeal(seal);
  const Seal decoded = DecodeSeal(bytes).value();
  EXPECT_EQ(decoded.records, 3U);
  EXPECT_EQ(decoded.digest, seal.digest);
  EXPECT_FALSE(DecodeSeal(bytes + "x").ok());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeSeal(bytes.substr(0, size)).ok()) << size;
  }
}

}  // namespace
}  // namespace stoker
