#include "protocol/manifest/bundle.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/base/bytes.h"
#include "protocol/base/host/regular_file.h"

namespace stoker {

std::string EncodeSeal(const Seal& seal) {
  ByteWriter out;
  out.U64(seal.records);
  out.Raw(seal.digest.AsBytes());
  return std::move(out).Take();
}

Result<Seal> DecodeSeal(std::string_view bytes) {
  ByteReader in(bytes);
  Seal seal;
  STOKER_TRY(seal.records, in.U64("seal.records"));
  STOKER_TRY(const std::string_view digest, in.Raw("seal.digest", Digest::kSize));
  STOKER_TRY(seal.digest, Digest::FromBytes(digest));
  STOKER_RETURN_IF_ERROR(in.ExpectEnd());
  return seal;
}

Seal SealOf(const std::vector<Record>& records) {
  Sha256 hash;
  for (const Record& record : records) hash.Update(record.name.AsBytes());
  Seal seal;
  seal.records = records.size();
  seal.digest = hash.Finish();
  return seal;
}

Result<Bundle> Bundle::Read(const std::string& path) {
  STOKER_TRY(const RegularFile file, RegularFile::Open("Bundle", path));
  const auto size = static_cast<std::size_t>(file.status().st_size);
  std::string_view bytes;
  if (size > 0) {
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (mapped == MAP_FAILED) {
      return Unavailable(file.name() + " cannot be mapped: " + std::strerror(errno) + ".");
    }
    bytes = {static_cast<const char*>(mapped), size};
  }
  Bundle bundle(bytes);
  auto scan = ScanRecords(kBundleFormat, bytes);
  if (!scan.ok()) return scan.error().WithContext(path);
  bundle.scan_ = *std::move(scan);
  return bundle;
}

Bundle::Bundle(Bundle&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), scan_(std::move(other.scan_)) {}

Bundle::~Bundle() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

std::uint64_t Bundle::end() const {
  if (scan_.records.empty()) return 0;
  const std::string_view last = scan_.records.back().payload;
  return static_cast<std::uint64_t>(last.data() + last.size() - bytes_.data());
}

Result<Seal> Bundle::CheckedSeal() const {
  if (scan_.damaged_bytes > 0) {
    return DataLoss("The bundle is damaged: " + std::to_string(scan_.damaged_bytes) +
                    " bytes belong to no whole record. Export it again.");
  }
  if (scan_.records.empty() || scan_.records.back().kind != kSealRecord) {
    return FailedPrecondition(
        "The bundle is not finished: its export was interrupted. Export it again; what is in it is "
        "kept.");
  }
  STOKER_TRY(const std::string content, UnpackRecord(scan_.records.back()));
  STOKER_TRY(Seal seal, DecodeSeal(content));
  const Seal expected = SealOf({scan_.records.begin(), scan_.records.end() - 1});
  if (seal.records != expected.records || seal.digest != expected.digest) {
    return DataLoss("The bundle's seal is of " + std::to_string(seal.records) +
                    " other records than the " + std::to_string(expected.records) +
                    " before it. Export it again.");
  }
  return seal;
}

}  // namespace stoker
