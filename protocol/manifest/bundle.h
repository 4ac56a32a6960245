// A bundle: artifacts with all that they need, and captures, out of one daemon's cache, for another
// that is out of its reach. FORMAT.md describes the file.
//
// The seal at the end covers everything before it. A bundle without one is not finished. Who
// vouches for what is in it stands in each artifact, which its daemon signed, and in each capture,
// which its writer did.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/manifest/records.h"
#include "protocol/wire/capture_messages.h"
#include "protocol/wire/entry_messages.h"

namespace stoker {

inline constexpr RecordFormat kBundleFormat{"bundle", "stokbndl", 1};
// Kinds of its records; kCaptureRecord (manifest.h) is the same.
inline constexpr std::uint32_t kBlobRecord = 3;   // Named by its digest.
inline constexpr std::uint32_t kEntryRecord = 4;  // Behind its blobs.
inline constexpr std::uint32_t kSealRecord = 5;

struct Seal {
  std::uint64_t records = 0;  // Before it.
  Digest digest;              // SHA-256 over their names, in order.
};

std::string EncodeSeal(const Seal& seal);
Result<Seal> DecodeSeal(std::string_view bytes);
// The seal that fits these records.
Seal SealOf(const std::vector<Record>& records);

// A file, mapped, as its records.
class Bundle {
 public:
  // FailedPrecondition: it cannot be read, or is no regular file. Otherwise as ScanRecords.
  static Result<Bundle> Read(const std::string& path);
  Bundle(Bundle&&) noexcept;
  ~Bundle();

  const std::vector<Record>& records() const { return scan_.records; }
  std::uint64_t damaged_bytes() const { return scan_.damaged_bytes; }
  // Where the last whole record ends.
  std::uint64_t end() const;
  std::uint64_t file_bytes() const { return bytes_.size(); }

  // The seal, if the bundle is whole and finished. DataLoss, FailedPrecondition: it is not.
  Result<Seal> CheckedSeal() const;

 private:
  explicit Bundle(std::string_view bytes) : bytes_(bytes) {}

  std::string_view bytes_;  // Mapped; empty: nothing is.
  RecordScan scan_;
};

}  // namespace stoker
