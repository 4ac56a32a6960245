// Blobs: immutable bytes, named by their SHA-256. A NamedBlob can only be made by hashing, so a
// store that is handed one never has to ask whether the name is true.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

// What a blob is, for statistics only: it is no part of the blob's name. The numbers are stored on
// disk (FORMAT.md): never reuse one. 5 stands for nothing.
enum class BlobKind : std::uint8_t {
  kOther = 0,
  kGraph = 1,
  kArtifact = 2,
  kKernel = 3,
  kConstant = 4,
  kCapture = 6,
};
inline constexpr std::array kBlobKinds = {BlobKind::kOther,    BlobKind::kGraph,
                                          BlobKind::kArtifact, BlobKind::kKernel,
                                          BlobKind::kConstant, BlobKind::kCapture};
std::string_view BlobKindName(BlobKind kind);
Result<BlobKind> BlobKindFromNumber(std::uint8_t number);

// The largest blob any store accepts.
inline constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{1} << 30;

// A cheap handle to immutable bytes and what they are. Shared ownership, because a reader may hold
// bytes that a store evicts meanwhile. Safe to copy and read from any thread.
class Blob {
 public:
  Blob(std::string bytes, BlobKind kind)
      : bytes_(std::make_shared<const std::string>(std::move(bytes))), kind_(kind) {}

  std::string_view bytes() const { return *bytes_; }
  // Keeps the bytes where they are, for who wants no copy and knows no Blob.
  std::shared_ptr<const void> owner() const { return bytes_; }
  std::size_t size() const { return bytes_->size(); }
  BlobKind kind() const { return kind_; }

 private:
  std::shared_ptr<const std::string> bytes_;
  BlobKind kind_;
};

class NamedBlob {
 public:
  // Hashes the bytes.
  static NamedBlob Of(Blob blob);
  // kDataLoss unless `digest` is the SHA-256 of the bytes: the check for bytes that somebody else
  // named (a client, another tier, a peer).
  static Result<NamedBlob> Verify(const Digest& digest, Blob blob);

  const Digest& digest() const { return digest_; }
  const Blob& blob() const { return blob_; }

 private:
  NamedBlob(const Digest& digest, Blob blob) : digest_(digest), blob_(std::move(blob)) {}

  Digest digest_;
  Blob blob_;
};

}  // namespace stoker
