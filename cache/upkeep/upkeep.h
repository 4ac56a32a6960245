// What works on a cache as a whole, beside everything else that goes on: garbage collection,
// purges, verification. Blocking; each takes time in proportion to the cache, and memory in
// proportion to the number of its blobs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cache/action_index.h"
#include "cache/blob_store.h"

namespace stoker {

// How somebody follows such work, and ends it.
struct UpkeepWatch {
  // Called often, from the thread that works. `total` is 0 where it is not known.
  std::function<void(std::string_view stage, std::uint64_t done, std::uint64_t total)> progress;
  // Once it is true, the work ends soon, with kUnavailable.
  std::atomic<bool>& stop;
};

struct GarbageRequest {
  std::optional<std::uint64_t> to_bytes;  // Evict down to this; nothing: to the low watermark.
  // Blobs that no entry names leave if they were not used for so long: what a crash or a replaced
  // entry leaves behind. Those of kind `other` are named by who put them, and stay.
  std::int64_t unnamed_age_ns = 0;
};

struct GarbageReport {
  std::uint64_t entries = 0;  // Removed: a blob of theirs was gone.
  std::uint64_t unnamed_blobs = 0;
  std::uint64_t unnamed_bytes = 0;
  std::uint64_t evicted_blobs = 0;
  std::uint64_t evicted_bytes = 0;
  std::uint64_t stored_bytes = 0;       // What is left, before compression.
  std::uint64_t file_bytes_before = 0;  // What the files took.
  std::uint64_t file_bytes = 0;
};

struct PurgeRequest {
  // Whether the entry is to go. `last_used_unix_ns` is that of its artifact; 0 unless wanted.
  std::function<bool(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                     std::int64_t last_used_unix_ns)>
      matches;
  bool wants_last_use = false;
  bool dry_run = false;  // Says what would go.
  // Namespaces whose entries keep no blob: they go with it.
  std::set<std::string, std::less<>> shadows;
};

struct PurgeReport {
  std::uint64_t entries = 0;
  std::uint64_t pinned_entries = 0;  // They match, and stay.
  std::uint64_t blobs = 0;           // That no other entry names.
  std::uint64_t bytes = 0;
};

struct VerifyReport {
  std::uint64_t blobs = 0;  // Read and hashed.
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;  // Of those. They were quarantined.
  std::uint64_t repaired =
      0;  // Of the damaged: another tier had a good copy, which is stored again.
  std::uint64_t entries = 0;  // Removed: a blob of theirs is gone.
};

// Removes the entries that match and are not pinned, then the blobs that no entry names any more.
Result<PurgeReport> PurgeEntries(
    ActionIndex& actions, BlobStore& blobs, const PurgeRequest& request,
    const std::function<bool(std::string_view name_space, const Digest& key)>& is_pinned,
    const UpkeepWatch& watch);

struct Dropped {
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;
};
// Deletes the blobs that no entry names and that were last used before `unix_ns`, but those of kind
// `other`. Pinned ones stay: somebody is about to name them.
Result<Dropped> DropUnnamed(ActionIndex& actions, BlobStore& blobs, std::int64_t unix_ns,
                            const UpkeepWatch& watch);

// Where VerifyBlobs looks.
struct VerifyPlaces {
  BlobStore& listed;  // Whose blobs are verified.
  // What is stored of one, as it is. kNotFound: it has left meanwhile. kDataLoss: it cannot be
  // read.
  std::function<Result<Blob>(const Digest&)> read;
  // A copy somewhere else, good or not.
  std::function<std::optional<Blob>(const Digest&)> other_copy;
  BlobStore& store;  // Where a damaged one is quarantined and a good copy is put.
};
// Fills all of the report but `entries`.
Result<VerifyReport> VerifyBlobs(const VerifyPlaces& places, const UpkeepWatch& watch);

}  // namespace stoker
