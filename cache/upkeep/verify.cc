// VerifyBlobs: is every stored blob what its name says?
#include <string>
#include <vector>

#include "cache/upkeep/upkeep.h"

namespace stoker {
namespace {

// True: a good copy is stored in its place.
Result<bool> Replace(const VerifyPlaces& places, const Digest& digest, const std::string& reason) {
  // Before it goes: quarantine takes a blob out of every tier.
  const std::optional<Blob> copy = places.other_copy(digest);
  const Status moved = places.store.Quarantine(digest, reason);
  if (!moved.ok() && moved.error().code != ErrorCode::kNotFound) return moved.error();
  if (!copy) return false;
  const Result<NamedBlob> good = NamedBlob::Verify(digest, *copy);
  return good.ok() && places.store.Put(*good).ok();
}

}  // namespace

Result<VerifyReport> VerifyBlobs(const VerifyPlaces& places, const UpkeepWatch& watch) {
  std::vector<Digest> digests;
  STOKER_RETURN_IF_ERROR(places.listed.Visit([&](const BlobEntry& entry) {
    digests.push_back(entry.digest);
    return !watch.stop;
  }));
  VerifyReport report;
  for (const Digest& digest : digests) {
    if (watch.stop) return Unavailable("The verification was stopped.");
    if (watch.progress) watch.progress("verifying", report.blobs, digests.size());
    Result<Blob> blob = places.read(digest);
    if (!blob.ok() && blob.error().code == ErrorCode::kNotFound) continue;
    if (!blob.ok() && blob.error().code != ErrorCode::kDataLoss) return blob.error();
    ++report.blobs;
    std::string damage = blob.ok() ? std::string() : blob.error().message;
    if (blob.ok()) {
      report.bytes += blob->size();
      const Result<NamedBlob> named = NamedBlob::Verify(digest, *std::move(blob));
      if (!named.ok()) damage = named.error().message;
    }
    if (damage.empty()) continue;
    ++report.damaged;
    STOKER_TRY(const bool repaired, Replace(places, digest, damage));
    if (repaired) ++report.repaired;
  }
  if (watch.progress) watch.progress("verifying", report.blobs, report.blobs);
  return report;
}

}  // namespace stoker
