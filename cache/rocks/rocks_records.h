// The records of FORMAT.md: what lies in the column families besides the blobs themselves.
// Decoders answer kDataLoss for bytes that no encoder of ours wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/action_index.h"
#include "cache/blob_store.h"

namespace stoker {

std::string EncodeAccess(const BlobEntry& entry);
// `key` is the blob's digest.
Result<BlobEntry> DecodeAccess(std::string_view key, std::string_view value);

struct QuarantineRecord {
  std::int64_t unix_ns = 0;
  BlobKind kind = BlobKind::kOther;
  std::uint64_t bytes = 0;  // Of the whole blob.
  std::string reason;
  std::string content;  // The first bytes; none if they could not be read.
};
std::string EncodeQuarantine(const QuarantineRecord& record);
Result<QuarantineRecord> DecodeQuarantine(std::string_view value);

std::string EncodeAction(const ActionEntry& entry);
Result<ActionEntry> DecodeAction(std::string_view value);

}  // namespace stoker
