#include "cache/stack.h"

#include <algorithm>

#include "cache/complete_action_index.h"
#include "cache/memory_action_index.h"
#include "cache/memory_blob_store.h"
#include "cache/memory_counter_store.h"
#include "cache/rocks/database.h"
#include "cache/rocks_action_index.h"
#include "cache/rocks_blob_store.h"
#include "cache/rocks_counter_store.h"
#include "cache/tiered_blob_store.h"

namespace stoker {
namespace {

// Deleted bytes before a compaction is worth its work: a sixteenth of the cache, within reason.
constexpr std::uint64_t kMinReclaimBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxReclaimBytes = std::uint64_t{1} << 30;

class Stack : public CacheStack {
 public:
  static Result<std::unique_ptr<CacheStack>> Assemble(StackConfig config,
                                                      std::unique_ptr<BlobStore> shared) {
    std::unique_ptr<Stack> stack(new Stack);
    STOKER_RETURN_IF_ERROR(stack->OpenDatabase(config));
    STOKER_RETURN_IF_ERROR(stack->AssembleBlobs(config, std::move(shared)));
    STOKER_RETURN_IF_ERROR(stack->AssembleActions(config));
    STOKER_RETURN_IF_ERROR(stack->AssembleCounters());
    return std::unique_ptr<CacheStack>(std::move(stack));
  }

  BlobStore& blobs() override { return *blobs_; }
  ActionIndex& actions() override { return *actions_; }
  CounterStore& counters() override { return *counters_; }
  std::string TierOf(const Digest& digest) override;
  Status Maintain() override;
  StackSnapshot Snapshot() override;

 private:
  Status OpenDatabase(const StackConfig& config);
  Status AssembleBlobs(const StackConfig& config, std::unique_ptr<BlobStore> shared);
  Status AssembleActions(const StackConfig& config);
  Status AssembleCounters();

  std::shared_ptr<Database> database_;  // Null: memory only.
  std::unique_ptr<MeteredBlobStore> blobs_;
  std::unique_ptr<CompleteActionIndex> actions_;  // Uses blobs_.
  std::unique_ptr<CounterStore> counters_;
  // Parts of the above that have something to tell.
  MemoryBlobStore* memory_ = nullptr;
  RocksBlobStore* disk_ = nullptr;
  TieredBlobStore* memory_over_disk_ = nullptr;
  MeteredBlobStore* metered_memory_ = nullptr;
  MeteredBlobStore* metered_disk_ = nullptr;
  MeteredBlobStore* metered_shared_ = nullptr;
  QuotaActionIndex* quotas_ = nullptr;
};

std::unique_ptr<MeteredBlobStore> Metered(std::unique_ptr<BlobStore> store,
                                          MeteredBlobStore** handle) {
  auto metered = std::make_unique<MeteredBlobStore>(std::move(store));
  *handle = metered.get();
  return metered;
}

Status Stack::OpenDatabase(const StackConfig& config) {
  if (config.path.empty()) return Ok();
  DatabaseConfig database;
  database.path = config.path;
  database.min_free_disk_bytes = config.min_free_disk_bytes;
  database.reclaim_bytes = std::clamp(config.max_bytes / 16, kMinReclaimBytes, kMaxReclaimBytes);
  database.log = config.log;
  STOKER_TRY(database_, Database::Open(std::move(database)));
  return Ok();
}

Status Stack::AssembleBlobs(const StackConfig& config, std::unique_ptr<BlobStore> shared) {
  auto memory =
      std::make_unique<MemoryBlobStore>(Watermarks::Of(config.memory_bytes), config.clock);
  memory_ = memory.get();
  std::unique_ptr<BlobStore> local = Metered(std::move(memory), &metered_memory_);
  if (database_ != nullptr) {
    STOKER_TRY(auto disk,
               RocksBlobStore::Open(database_, Watermarks::Of(config.max_bytes), config.clock));
    disk_ = disk.get();
    auto tiered = std::make_unique<TieredBlobStore>(
        std::move(local), Metered(std::move(disk), &metered_disk_), Authority::kBack);
    memory_over_disk_ = tiered.get();
    local = std::move(tiered);
  }
  if (shared != nullptr) {
    local = std::make_unique<TieredBlobStore>(
        std::move(local), Metered(std::move(shared), &metered_shared_), Authority::kFront);
  }
  blobs_ = std::make_unique<MeteredBlobStore>(std::move(local));
  return Ok();
}

Status Stack::AssembleActions(const StackConfig& config) {
  std::unique_ptr<ActionIndex> stored;
  if (database_ != nullptr) {
    stored = std::make_unique<RocksActionIndex>(database_);
  } else {
    stored = std::make_unique<MemoryActionIndex>();
  }
  STOKER_TRY(auto quotas, QuotaActionIndex::Open(std::move(stored), config.quotas, config.clock));
  quotas_ = quotas.get();
  // Outside the quotas, so that an entry it removes leaves their accounts too.
  actions_ = std::make_unique<CompleteActionIndex>(std::move(quotas), *blobs_);
  return Ok();
}

Status Stack::AssembleCounters() {
  if (database_ == nullptr) {
    counters_ = std::make_unique<MemoryCounterStore>();
    return Ok();
  }
  STOKER_TRY(counters_, RocksCounterStore::Open(database_));
  return Ok();
}

std::string Stack::TierOf(const Digest& digest) {
  const std::pair<const char*, BlobStore*> tiers[] = {
      {"memory", metered_memory_}, {"disk", metered_disk_}, {"shared", metered_shared_}};
  for (const auto& [name, store] : tiers) {
    if (store == nullptr) continue;
    if (const auto there = store->Contains(digest); there.ok() && *there) return name;
  }
  return "";
}

Status Stack::Maintain() {
  STOKER_RETURN_IF_ERROR(actions_->Prune());
  return blobs_->Sync();
}

StackSnapshot Stack::Snapshot() {
  StackSnapshot snapshot;
  snapshot.requests = blobs_->metrics();
  snapshot.tiers.push_back({"memory", metered_memory_->metrics(), memory_->usage()});
  if (disk_ != nullptr) {
    snapshot.tiers.push_back({"disk", metered_disk_->metrics(), disk_->usage()});
    snapshot.shared_fill_count = memory_over_disk_->shared_fill_count();
    snapshot.disk_file_bytes = database_->DiskBytes();
    snapshot.quarantined_count = disk_->quarantined_count();
    snapshot.database_was_moved_aside = database_->was_moved_aside();
  }
  if (metered_shared_ != nullptr) {
    snapshot.tiers.push_back({"shared", metered_shared_->metrics(), std::nullopt});
  }
  snapshot.namespaces = quotas_->usage();
  snapshot.incomplete_count = actions_->removed_count();
  return snapshot;
}

}  // namespace

Result<std::unique_ptr<CacheStack>> CacheStack::Open(StackConfig config,
                                                     std::unique_ptr<BlobStore> shared) {
  return Stack::Assemble(std::move(config), std::move(shared));
}

}  // namespace stoker
