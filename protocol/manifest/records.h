// Records: the framing of files that several processes append to at once. FORMAT.md describes the
// bytes. A record is whole or it is not there: one that was torn or damaged is passed over, and
// what stands behind it is found again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kRecordMagicBytes = 8;
inline constexpr std::size_t kRecordHeaderBytes = kRecordMagicBytes + 4 + 4 + 8 + 2 * Digest::kSize;
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{512} << 20;  // Packed, and not.
// Places in one file at which a record is damaged; beyond them the file is given up.
inline constexpr std::size_t kMaxDamagedPlaces = 1024;

// What a kind of file has in the header of its records.
struct RecordFormat {
  std::string_view title;  // For errors: "manifest".
  std::string_view magic;  // kRecordMagicBytes.
  std::uint32_t version;   // Readers refuse every other one.
};

struct RecordHeader {
  std::uint32_t version = 0;
  std::uint32_t kind = 0;
  Digest name;  // SHA-256 of the content.
  std::uint64_t size = 0;
  Digest checksum;  // SHA-256 of what stands before it in the header, then of the payload.
};

// A record with its content packed (zstd). ResourceExhausted: it exceeds kMaxRecordBytes.
Result<std::string> EncodeRecord(const RecordFormat& format, std::uint32_t kind, const Digest& name,
                                 std::string_view content);

// The header at the beginning of `bytes`, which may say nothing true. NotFound: there is none.
Result<RecordHeader> DecodeRecordHeader(const RecordFormat& format, std::string_view bytes);

struct Record {
  std::uint32_t kind = 0;
  Digest name;
  std::string_view payload;  // Packed; into the bytes that were scanned.
};

struct RecordScan {
  std::vector<Record> records;      // Each name once, in the order of the file.
  std::uint64_t damaged_bytes = 0;  // That belong to no whole record.
  // Of these: of records that end before their end, as where a writer was killed.
  std::uint64_t cut_bytes = 0;
};

// All whole records. InvalidArgument: it is another kind of file. FailedPrecondition: a record of
// another version, which the message names. DataLoss: kMaxDamagedPlaces.
Result<RecordScan> ScanRecords(const RecordFormat& format, std::string_view bytes);

// The content of a record. DataLoss: it is not what its name says.
Result<std::string> UnpackRecord(const Record& record);

}  // namespace stoker
