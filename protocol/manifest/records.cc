#include "protocol/manifest/records.h"

#include <zstd.h>

#include <algorithm>
#include <unordered_set>

#include "protocol/base/bytes.h"

namespace stoker {
namespace {

// What is written once in a job and read at a deployment: time counts for more than bytes.
constexpr int kCompressionLevel = 1;

std::string HeaderBytes(const RecordFormat& format, std::uint32_t version, std::uint32_t kind,
                        const Digest& name, std::uint64_t size) {
  STOKER_CHECK(format.magic.size() == kRecordMagicBytes);
  ByteWriter out;
  out.Raw(format.magic);
  out.U32(version);
  out.U32(kind);
  out.Raw(name.AsBytes());
  out.U64(size);
  return std::move(out).Take();
}

Digest ChecksumOf(std::string_view header, std::string_view payload) {
  Sha256 hash;
  hash.Update(header);
  hash.Update(payload);
  return hash.Finish();
}

// Whether `place`, which is no whole record, is the beginning of one.
bool IsCut(const RecordFormat& format, std::string_view place) {
  if (place.size() < kRecordHeaderBytes) {
    return format.magic.starts_with(place.substr(0, format.magic.size()));
  }
  const auto header = DecodeRecordHeader(format, place);
  return header.ok() && header->version == format.version && header->size <= kMaxRecordBytes &&
         header->size > place.size() - kRecordHeaderBytes;
}

std::string TitleOf(const RecordFormat& format) { return std::string(format.title); }

}  // namespace

Result<std::string> EncodeRecord(const RecordFormat& format, std::uint32_t kind, const Digest& name,
                                 std::string_view content) {
  if (content.size() > kMaxRecordBytes) {
    return ResourceExhausted("A record of " + std::to_string(content.size()) +
                             " bytes exceeds the limit of " + std::to_string(kMaxRecordBytes) +
                             ".");
  }
  std::string payload(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress(payload.data(), payload.size(), content.data(),
                                         content.size(), kCompressionLevel);
  STOKER_CHECK(!ZSTD_isError(size));
  payload.resize(size);
  std::string record = HeaderBytes(format, format.version, kind, name, payload.size());
  record += ChecksumOf(record, payload).AsBytes();
  return record + payload;
}

Result<RecordHeader> DecodeRecordHeader(const RecordFormat& format, std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes || !bytes.starts_with(format.magic)) {
    return NotFound("There is no record.");
  }
  ByteReader in(bytes.substr(kRecordMagicBytes));
  RecordHeader header;
  STOKER_TRY(header.version, in.U32("version"));
  STOKER_TRY(header.kind, in.U32("kind"));
  STOKER_TRY(const std::string_view name, in.Raw("name", Digest::kSize));
  STOKER_TRY(header.name, Digest::FromBytes(name));
  STOKER_TRY(header.size, in.U64("size"));
  STOKER_TRY(const std::string_view checksum, in.Raw("checksum", Digest::kSize));
  STOKER_TRY(header.checksum, Digest::FromBytes(checksum));
  return header;
}

Result<RecordScan> ScanRecords(const RecordFormat& format, std::string_view bytes) {
  const std::string_view start = bytes.substr(0, format.magic.size());
  if (start != format.magic.substr(0, start.size())) {
    return InvalidArgument("These " + std::to_string(bytes.size()) + " bytes are no " +
                           TitleOf(format) + ": they do not begin with '" +
                           std::string(format.magic) + "'.");
  }
  RecordScan scan;
  std::unordered_set<Digest, DigestHash> names;
  std::size_t damaged_places = 0;
  while (!bytes.empty()) {
    const auto header = DecodeRecordHeader(format, bytes);
    const std::string_view behind = bytes.substr(std::min(bytes.size(), kRecordHeaderBytes));
    if (header.ok() && header->size <= std::min<std::uint64_t>(behind.size(), kMaxRecordBytes)) {
      const std::string_view payload = behind.substr(0, header->size);
      const std::string_view signed_part = bytes.substr(0, kRecordHeaderBytes - Digest::kSize);
      if (ChecksumOf(signed_part, payload) == header->checksum) {
        if (header->version != format.version) {
          return FailedPrecondition("The " + TitleOf(format) + " has version " +
                                    std::to_string(header->version) + "; this program reads " +
                                    std::to_string(format.version) + ".");
        }
        if (names.insert(header->name).second) {
          scan.records.push_back({header->kind, header->name, payload});
        }
        bytes.remove_prefix(kRecordHeaderBytes + payload.size());
        continue;
      }
    }
    if (++damaged_places > kMaxDamagedPlaces) {
      return DataLoss("The " + TitleOf(format) + " is damaged at more than " +
                      std::to_string(kMaxDamagedPlaces) + " places.");
    }
    // What stands behind it was appended by somebody else, perhaps.
    const std::size_t next = std::min(bytes.find(format.magic, 1), bytes.size());
    scan.damaged_bytes += next;
    if (IsCut(format, bytes.substr(0, next))) scan.cut_bytes += next;
    bytes.remove_prefix(next);
  }
  return scan;
}

Result<std::string> UnpackRecord(const Record& record) {
  const auto damaged = [&](const std::string& why) {
    return DataLoss("Record " + record.name.ToHex() + " " + why);
  };
  const unsigned long long size =
      ZSTD_getFrameContentSize(record.payload.data(), record.payload.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return damaged("does not say how large it is.");
  }
  if (size > kMaxRecordBytes) {
    return ResourceExhausted("Record " + record.name.ToHex() + " unpacks to " +
                             std::to_string(size) + " bytes, more than the limit of " +
                             std::to_string(kMaxRecordBytes) + ".");
  }
  std::string content(size, '\0');
  const std::size_t got =
      ZSTD_decompress(content.data(), content.size(), record.payload.data(), record.payload.size());
  if (ZSTD_isError(got)) return damaged(std::string("does not unpack: ") + ZSTD_getErrorName(got));
  if (got != content.size() || Sha256Of(content) != record.name) {
    return damaged("holds something else than its name says.");
  }
  return content;
}

}  // namespace stoker
