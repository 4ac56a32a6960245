// CacheStack: the stores of one daemon, put together from the configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/action_index.h"
#include "cache/blob_store.h"
#include "cache/cache_log.h"
#include "cache/clock.h"
#include "cache/counter_store.h"
#include "cache/lru_ledger.h"
#include "cache/policy/metered_blob_store.h"
#include "cache/policy/pinned_action_index.h"
#include "cache/policy/quota_action_index.h"
#include "cache/upkeep/upkeep.h"

namespace stoker {

struct StackConfig {
  std::string path;  // The cache folder. Empty: memory only, gone with the process.
  std::uint64_t max_bytes = std::uint64_t{20} << 30;             // Of blobs, before compression.
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;         // Of blobs kept in memory.
  std::uint64_t min_free_disk_bytes = std::uint64_t{256} << 20;  // Writes never take these.
  Quotas quotas;
  std::uint64_t max_pinned_bytes = std::uint64_t{10} << 30;  // Of entries that are pinned.
  // How long Open waits for the records of what is stored to be read. Beyond it they are read
  // beside the work: everything stored is served, and little can be stored until then.
  std::chrono::milliseconds load_patience{1000};
  CacheLog log;
  UnixClock clock = SystemUnixNanos;
};

// One moment of one tier.
struct TierSnapshot {
  std::string name;                  // "memory", "disk", "shared".
  StoreMetrics metrics;              // What passed through since the start.
  std::optional<LedgerUsage> usage;  // What it holds; a shared tier does not tell.
};

struct StackSnapshot {
  StoreMetrics requests;  // What was asked of the whole stack since the start.
  std::vector<TierSnapshot> tiers;
  std::map<std::string, LedgerUsage> namespaces;  // Entries of the index, by namespace.
  PinUsage pins;
  bool loading = false;  // What is stored is known in part: see StackConfig::load_patience.
  std::uint64_t disk_file_bytes = 0;      // What the cache folder takes, garbage and logs included.
  std::uint64_t shared_fill_count = 0;    // Gets that shared another one's read of the disk.
  std::uint64_t quarantined_count = 0;    // Damaged blobs since the start.
  std::uint64_t incomplete_count = 0;     // Entries removed since the start: a blob was gone.
  bool database_was_moved_aside = false;  // Since this start: it was damaged as a whole.
};

// Where blobs stay: the disk, or memory when there is none.
const TierSnapshot& LastLocalTier(const StackSnapshot& snapshot);

class CacheStack {
 public:
  // `shared`: a tier behind the local ones that other daemons use too; it may be away. Null: none.
  // kFailedPrecondition: the folder cannot be used (who holds it, which format it has).
  static Result<std::unique_ptr<CacheStack>> Open(StackConfig config,
                                                  std::unique_ptr<BlobStore> shared);
  virtual ~CacheStack() = default;

  // All three are safe from any thread and live as long as the stack.
  virtual BlobStore& blobs() = 0;
  virtual ActionIndex& actions() = 0;
  virtual CounterStore& counters() = 0;

  // The nearest tier that holds the blob now: "memory", "disk", "shared", or "" for none.
  virtual std::string TierOf(const Digest& digest) = 0;

  // Housekeeping, for every few minutes: removes entries whose blobs were evicted and writes down
  // the order of use. Takes time in proportion to the index.
  virtual Status Maintain() = 0;
  virtual StackSnapshot Snapshot() = 0;

  // Entries that stay until they are unpinned: see PinnedActionIndex.
  virtual PinnedActionIndex& pins() = 0;
  // Removes what nothing names, evicts the coldest, and gives the space back to the disk.
  virtual Result<GarbageReport> CollectGarbage(const GarbageRequest& request,
                                               const UpkeepWatch& watch) = 0;
  virtual Result<PurgeReport> Purge(const PurgeRequest& request, const UpkeepWatch& watch) = 0;
  // Reads and hashes every blob of the last local tier.
  virtual Result<VerifyReport> Verify(const UpkeepWatch& watch) = 0;
};

}  // namespace stoker
