#include "cache/rocks/rocks_records.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

ActionEntry SampleAction() {
  ActionEntry entry;
  entry.artifact = Sha256Of("artifact");
  entry.kind = BlobKind::kCapture;
  entry.references = {Sha256Of("a"), Sha256Of("b")};
  entry.bytes = 123456789;
  entry.compile_seconds = 0.125;
  entry.published_unix_ns = -5;
  entry.label = "gpt2 cpu/x86-64-v4 default";
  entry.metadata = std::string("\0\1\2", 3);
  return entry;
}

TEST(RocksRecords, Action_RoundTrips) {
  EXPECT_EQ(*DecodeAction(EncodeAction(SampleAction())), SampleAction());
}

TEST(RocksRecords, Access_RoundTrips) {
  const BlobEntry entry{
      .digest = Sha256Of("x"), .kind = BlobKind::kConstant, .bytes = 77, .accessed_unix_ns = 99};
  const Result<BlobEntry> decoded = DecodeAccess(entry.digest.AsBytes(), EncodeAccess(entry));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->digest, entry.digest);
  EXPECT_EQ(decoded->kind, entry.kind);
  EXPECT_EQ(decoded->bytes, entry.bytes);
  EXPECT_EQ(decoded->accessed_unix_ns, entry.accessed_unix_ns);
}

TEST(RocksRecords, Quarantine_RoundTrips) {
  QuarantineRecord record;
  record.unix_ns = 42;
  record.kind = BlobKind::kGraph;
  record.bytes = 1000;
  record.reason = "flipped";
  record.content = "first bytes";
  const Result<QuarantineRecord> decoded = DecodeQuarantine(EncodeQuarantine(record));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->unix_ns, 42);
  EXPECT_EQ(decoded->kind, BlobKind::kGraph);
  EXPECT_EQ(decoded->bytes, 1000u);
  EXPECT_EQ(decoded->reason, "flipped");
  EXPECT_EQ(decoded->content, "first bytes");
}

TEST(RocksRecords, EveryTruncationAndExtension_IsDataLoss) {
  const std::string whole = EncodeAction(SampleAction());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Result<ActionEntry> decoded = DecodeAction(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(decoded.ok()) << size;
    EXPECT_EQ(decoded.error().code, ErrorCode::kDataLoss) << size;
  }
  EXPECT_FALSE(DecodeAction(whole + "x").ok());
}

TEST(RocksRecords, BadKindOrCount_IsDataLoss) {
  std::string bad_kind = EncodeAction(SampleAction());
  bad_kind[Digest::kSize] = 100;
  EXPECT_EQ(DecodeAction(bad_kind).error().code, ErrorCode::kDataLoss);
  ActionEntry none = SampleAction();
  none.references.clear();
  std::string bad_count = EncodeAction(none);
  for (std::size_t i = 1; i <= 8; ++i) bad_count[bad_count.size() - i] = '\x7f';
  EXPECT_EQ(DecodeAction(bad_count).error().code, ErrorCode::kDataLoss);
}

}  // namespace
}  // namespace stoker
