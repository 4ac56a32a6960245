// The messages of /v1/cache/..., as plain structs; messages.h says what encoding and decoding do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/wire/messages.h"

namespace stoker::wire {

// POST /v1/cache/gc -> 200 and a stream of framed UpkeepEvents, as purge and verify.
struct GcRequest {
  std::optional<std::uint64_t> limit_bytes;  // Nothing: down to the low watermark.
  double unnamed_seconds = 0.0;  // Blobs that no entry names leave when unused for so long.
};

// POST /v1/cache/purge: what fits all that is given leaves; at least one is given.
struct PurgeRequest {
  std::string ns;              // Empty: all.
  std::string compiler_epoch;  // Empty: any.
  double unused_seconds = 0.0;
  bool dry_run = false;
};

// POST /v1/cache/pin, /v1/cache/unpin -> 200 Pin
struct PinRequest {
  std::string ns{kDefaultNamespace};
  std::string key_prefix;  // Lowercase hexadecimal, 4 to 64 digits.
};

struct Pin {
  std::string ns;
  Digest key;
  std::string kind;
  std::string label;
  std::uint64_t size_bytes = 0;  // 0: nothing is stored under the key now.
  double pinned_unix_s = 0.0;
};

// POST /v1/cache/pins -> 200 PinList
struct PinsRequest {
  std::string ns;  // Empty: all.
};

struct PinList {
  std::vector<Pin> pins;
  std::uint64_t bytes = 0;  // Of all pins, listed or not.
  std::uint64_t limit_bytes = 0;
};

std::string EncodeGcRequest(const GcRequest& message);
std::string EncodePurgeRequest(const PurgeRequest& message);
std::string EncodePinRequest(const PinRequest& message);
std::string EncodePin(const Pin& message);
std::string EncodePinsRequest(const PinsRequest& message);
std::string EncodePinList(const PinList& message);

Result<GcRequest> DecodeGcRequest(std::string_view bytes);
Result<PurgeRequest> DecodePurgeRequest(std::string_view bytes);
Result<PinRequest> DecodePinRequest(std::string_view bytes);
Result<Pin> DecodePin(std::string_view bytes);
Result<PinsRequest> DecodePinsRequest(std::string_view bytes);
Result<PinList> DecodePinList(std::string_view bytes);

}  // namespace stoker::wire
