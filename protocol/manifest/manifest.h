// A manifest: what jobs asked for, so that it can be compiled where they will run, before they do.
// FORMAT.md describes the file.
//
// A request is a wire::CompileCall with its graph. Its options are those that the caller wished, of
// which a compile for another target may read more; it names no compiler, and its request key is
// the key of its fields as they stand. A capture is a wire::CapturePut, its envelope as it was
// stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/manifest/records.h"
#include "protocol/wire/capture_messages.h"
#include "protocol/wire/messages.h"

namespace stoker {

inline constexpr RecordFormat kManifestFormat{"manifest", "stokrman", 1};
inline constexpr std::uint32_t kRequestRecord = 1;
inline constexpr std::uint32_t kCaptureRecord = 2;
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{8} << 30;

// The content of a record. Of `call` everything counts but its key, its compiler and what its
// sender holds.
std::string RequestContentOf(wire::CompileCall call);
std::string CaptureContentOf(const wire::CapturePut& put);

class Manifest {
 public:
  // `bytes` of a file, in memory; of an empty one, too. Fails as ScanRecords.
  static Result<Manifest> Decode(std::string bytes);
  // Fails as ReadRegularFile, or as Decode.
  static Result<Manifest> Read(const std::string& path);

  std::size_t requests() const { return requests_.size(); }
  std::size_t captures() const { return captures_.size(); }
  // Those of RecordScan.
  std::uint64_t damaged_bytes() const { return damaged_bytes_; }
  std::uint64_t cut_bytes() const { return cut_bytes_; }

  // Unpacked and decoded at each call. DataLoss: the record is no such thing.
  Result<wire::CompileCall> Request(std::size_t index) const;
  Result<wire::CapturePut> Capture(std::size_t index) const;

 private:
  struct Place {
    std::uint32_t kind;
    Digest name;
    std::size_t offset;  // Of the payload.
    std::size_t size;
  };

  explicit Manifest(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::string> ContentOf(const Place& place) const;

  std::string bytes_;
  std::vector<Place> requests_;
  std::vector<Place> captures_;
  std::uint64_t damaged_bytes_ = 0;
  std::uint64_t cut_bytes_ = 0;
};

}  // namespace stoker
