#include "protocol/manifest/records.h"

#include <gtest/gtest.h>

#include "protocol/base/bytes.h"

namespace stoker {
namespace {

constexpr RecordFormat kFormat{"logbook", "stoktest", 3};

std::string RecordOf(const std::string& content, std::uint32_t kind = 1) {
  return EncodeRecord(kFormat, kind, Sha256Of(content), content).value();
}

std::vector<std::string> ContentsOf(const RecordScan& scan) {
  std::vector<std::string> contents;
  for (const Record& record : scan.records) contents.push_back(UnpackRecord(record).value());
  return contents;
}

// A header with a checksum that fits.
std::string Sealed(std::uint32_t version, const Digest& name, std::string_view payload) {
  ByteWriter out;
  out.Raw(kFormat.magic);
  out.U32(version);
  out.U32(1);
  out.Raw(name.AsBytes());
  out.U64(payload.size());
  Sha256 hash;
  hash.Update(out.str());
  hash.Update(payload);
  return out.str() + std::string(hash.Finish().AsBytes()) + std::string(payload);
}

using Contents = std::vector<std::string>;

TEST(Records, NoBytes_NoRecords) {
  const auto scan = ScanRecords(kFormat, "");
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(scan->records.empty());
  EXPECT_EQ(scan->damaged_bytes, 0U);
}

TEST(Records, SeveralKinds_ComeBackInOrder) {
  const std::string large(100000, 'x');
  const std::string file = RecordOf("a", 7) + RecordOf("") + RecordOf(large);
  const auto kept = ScanRecords(kFormat, file).value();
  EXPECT_EQ(ContentsOf(kept), (Contents{"a", "", large}));
  EXPECT_EQ(kept.records[0].kind, 7U);
  EXPECT_EQ(kept.damaged_bytes, 0U);
  EXPECT_LT(file.size(), large.size() / 2);  // Packed.
}

TEST(Records, TheSameTwice_CountsOnce) {
  const std::string file = RecordOf("a") + RecordOf("b") + RecordOf("a");
  EXPECT_EQ(ContentsOf(ScanRecords(kFormat, file).value()), (Contents{"a", "b"}));
}

constexpr std::size_t kSizeAt = kRecordMagicBytes + 4 + 4 + Digest::kSize;  // In a header.

TEST(Records, CutAtEachByte_IsReadUpToThere) {
  const std::string first = RecordOf("first");
  const std::string file = first + RecordOf("second");
  for (std::size_t size = 0; size <= file.size(); ++size) {
    const std::string cut = file.substr(0, size);
    const auto scan = ScanRecords(kFormat, cut);
    ASSERT_TRUE(scan.ok()) << size << ": " << scan.error().message;
    Contents expected;
    if (size >= first.size()) expected.push_back("first");
    if (size == file.size()) expected.push_back("second");
    EXPECT_EQ(ContentsOf(*scan), expected) << size;
    const std::size_t whole = expected.size() == 2 ? file.size() : expected.size() * first.size();
    EXPECT_EQ(scan->damaged_bytes, size - whole) << size;
    EXPECT_EQ(scan->cut_bytes, size - whole) << size;
  }
}

TEST(Records, TornInTheMiddle_WhatComesAfterIsFound) {
  const std::string torn = RecordOf("torn");
  for (std::size_t size = 1; size < torn.size(); ++size) {
    const std::string file = RecordOf("a") + torn.substr(0, size) + RecordOf("b");
    const auto scan = ScanRecords(kFormat, file);
    ASSERT_TRUE(scan.ok()) << size;
    EXPECT_EQ(ContentsOf(*scan), (Contents{"a", "b"})) << size;
    EXPECT_EQ(scan->damaged_bytes, size);
    EXPECT_EQ(scan->cut_bytes, size);
  }
}

TEST(Records, AnyFlippedBit_CostsItsRecordAlone) {
  const std::string first = RecordOf("first");
  const std::string file = first + RecordOf("second") + RecordOf("third");
  const std::size_t second_size = RecordOf("second").size();
  for (std::size_t at = first.size(); at < first.size() + second_size; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = file;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      const auto scan = ScanRecords(kFormat, flipped);
      ASSERT_TRUE(scan.ok()) << at << ": " << scan.error().message;
      EXPECT_EQ(ContentsOf(*scan), (Contents{"first", "third"})) << at;
      EXPECT_EQ(scan->damaged_bytes, second_size) << at;
      const bool is_size = at >= first.size() + kSizeAt && at < first.size() + kSizeAt + 8;
      if (!is_size) EXPECT_EQ(scan->cut_bytes, 0U) << at;
    }
  }
}

TEST(Records, AnotherKindOfFile_IsRefused) {
  for (const std::string& bytes :
       {std::string("import torch\n"), std::string("s?"), std::string(500, '\0')}) {
    const auto scan = ScanRecords(kFormat, bytes);
    ASSERT_FALSE(scan.ok());
    EXPECT_EQ(scan.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(scan.error().message.find("no logbook"), std::string::npos) << scan.error().message;
  }
}

TEST(Records, AnotherVersion_IsRefusedByItsNumber) {
  const std::string file = RecordOf("a") + Sealed(4, Sha256Of("b"), "payload");
  const auto scan = ScanRecords(kFormat, file);
  ASSERT_FALSE(scan.ok());
  EXPECT_EQ(scan.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(scan.error().message, "The logbook has version 4; this program reads 3.");
}

TEST(Records, DamagedAtTooManyPlaces_IsGivenUp) {
  std::string file;
  for (std::size_t i = 0; i < kMaxDamagedPlaces; ++i) file += kFormat.magic;
  EXPECT_EQ(ScanRecords(kFormat, file)->damaged_bytes, file.size());
  file += kFormat.magic;
  EXPECT_EQ(ScanRecords(kFormat, file).error().code, ErrorCode::kDataLoss);
}

TEST(UnpackRecord, PayloadThatIsNotWhatItsNameSays_DataLoss) {
  const std::string good = RecordOf("content");
  const std::string payload = good.substr(kRecordHeaderBytes);
  for (const std::string& file :
       {Sealed(3, Sha256Of("other"), payload), Sealed(3, Sha256Of("content"), "no zstd"),
        Sealed(3, Sha256Of(""), "")}) {
    const auto scan = ScanRecords(kFormat, file).value();
    ASSERT_EQ(scan.records.size(), 1U);
    EXPECT_EQ(UnpackRecord(scan.records[0]).error().code, ErrorCode::kDataLoss);
  }
}

TEST(UnpackRecord, ClaimToBeHuge_IsRefusedBeforeMemoryIsTaken) {
  // A zstd frame header: magic, a content size of 8 bytes, single segment; then nothing.
  std::string bomb("\x28\xb5\x2f\xfd\xe0", 5);
  bomb += std::string("\xff\xff\xff\xff\xff\xff\x00\x00", 8);
  const std::string file = Sealed(3, Sha256Of("x"), bomb);
  const auto scan = ScanRecords(kFormat, file).value();
  ASSERT_EQ(scan.records.size(), 1U);
  EXPECT_EQ(UnpackRecord(scan.records[0]).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace stoker
