#include "cache/stack/stack.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "cache/memory/memory_action_index.h"
#include "cache/memory/memory_blob_store.h"
#include "cache/memory/memory_counter_store.h"
#include "cache/policy/complete_action_index.h"
#include "cache/policy/tiered_blob_store.h"
#include "cache/rocks/database/database.h"
#include "cache/rocks/rocks_action_index.h"
#include "cache/rocks/rocks_blob_store.h"
#include "cache/rocks/rocks_counter_store.h"

namespace stoker {
namespace {

// Deleted bytes before a compaction is worth its work: a sixteenth of the cache, within reason.
constexpr std::uint64_t kMinReclaimBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxReclaimBytes = std::uint64_t{1} << 30;

class Stack : public CacheStack {
 public:
  static Result<std::unique_ptr<CacheStack>> Assemble(StackConfig config,
                                                      std::unique_ptr<BlobStore> shared) {
    std::unique_ptr<Stack> stack(new Stack(config));
    STOKER_RETURN_IF_ERROR(stack->OpenDatabase(config));
    STOKER_RETURN_IF_ERROR(stack->AssembleBlobs(config, std::move(shared)));
    STOKER_RETURN_IF_ERROR(stack->AssembleActions(config));
    STOKER_RETURN_IF_ERROR(stack->AssembleCounters());
    stack->StartLoading(config.load_patience);
    return std::unique_ptr<CacheStack>(std::move(stack));
  }

  ~Stack() override {
    stopping_ = true;
    if (loader_.joinable()) loader_.join();
  }

  BlobStore& blobs() override { return *blobs_; }
  ActionIndex& actions() override { return *actions_; }
  CounterStore& counters() override { return *counters_; }
  std::string TierOf(const Digest& digest) override;
  Status Maintain() override;
  StackSnapshot Snapshot() override;
  PinnedActionIndex& pins() override { return *actions_; }
  Result<GarbageReport> CollectGarbage(const GarbageRequest& request,
                                       const UpkeepWatch& watch) override;
  Result<PurgeReport> Purge(const PurgeRequest& request, const UpkeepWatch& watch) override;
  Result<VerifyReport> Verify(const UpkeepWatch& watch) override;

 private:
  explicit Stack(const StackConfig& config)
      : log_(config.log), clock_(config.clock), low_bytes_(Watermarks::Of(config.max_bytes).low) {}

  Status OpenDatabase(const StackConfig& config);
  Status AssembleBlobs(const StackConfig& config, std::unique_ptr<BlobStore> shared);
  Status AssembleActions(const StackConfig& config);
  Status AssembleCounters();
  void StartLoading(std::chrono::milliseconds patience);
  Status Load();
  Status StartAfresh(std::string_view damage);

  const CacheLog log_;
  const UnixClock clock_;
  const std::uint64_t low_bytes_;
  std::shared_ptr<Database> database_;  // Null: memory only.
  std::unique_ptr<MeteredBlobStore> blobs_;
  std::unique_ptr<PinnedActionIndex> actions_;  // Uses blobs_.
  std::unique_ptr<CounterStore> counters_;
  // Parts of the above that have something to tell.
  MemoryBlobStore* memory_ = nullptr;
  RocksBlobStore* disk_ = nullptr;
  TieredBlobStore* memory_over_disk_ = nullptr;
  MeteredBlobStore* metered_memory_ = nullptr;
  MeteredBlobStore* metered_disk_ = nullptr;
  MeteredBlobStore* metered_shared_ = nullptr;
  QuotaActionIndex* quotas_ = nullptr;
  CompleteActionIndex* complete_ = nullptr;
  RocksCounterStore* stored_counters_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> loading_ = true;
  std::thread loader_;  // Uses all of the above.
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
    auto disk =
        std::make_unique<RocksBlobStore>(database_, Watermarks::Of(config.max_bytes), config.clock);
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
  auto quotas = std::make_unique<QuotaActionIndex>(std::move(stored), config.quotas, config.clock);
  quotas_ = quotas.get();
  // Outside the quotas, so that an entry it removes leaves their accounts too.
  auto complete = std::make_unique<CompleteActionIndex>(std::move(quotas), *blobs_);
  complete_ = complete.get();
  // Outside of that, so that it pins what is whole.
  actions_ = std::make_unique<PinnedActionIndex>(std::move(complete), *quotas_, *blobs_, database_,
                                                 config.max_pinned_bytes, config.clock);
  return Ok();
}

Status Stack::AssembleCounters() {
  if (database_ == nullptr) {
    counters_ = std::make_unique<MemoryCounterStore>();
    return Ok();
  }
  STOKER_TRY(auto stored, RocksCounterStore::Open(database_));
  stored_counters_ = stored.get();
  counters_ = std::move(stored);
  return Ok();
}

void Stack::StartLoading(std::chrono::milliseconds patience) {
  std::promise<void> loaded;
  const std::future<void> done = loaded.get_future();
  loader_ = std::thread([this, loaded = std::move(loaded)]() mutable {
    Status status = Load();
    if (!status.ok() && status.error().code == ErrorCode::kDataLoss) {
      status = StartAfresh(status.error().message);
    }
    if (!status.ok() && !stopping_ && log_) {
      log_("What is stored cannot be read: " + status.error().message);
    }
    loading_ = !status.ok();
    loaded.set_value();
  });
  done.wait_for(patience);
}

Status Stack::Load() {
  // Pins before the ledger: as long as that is not loaded, nothing is evicted.
  STOKER_RETURN_IF_ERROR(actions_->Load());
  if (disk_ != nullptr) STOKER_RETURN_IF_ERROR(disk_->Load(stopping_));
  return quotas_->Load(stopping_);
}

// Damage in the records is not the loss of one blob but of what is known about all of them.
Status Stack::StartAfresh(std::string_view damage) {
  STOKER_RETURN_IF_ERROR(disk_->SetAside(damage));
  quotas_->Clear();
  // What is in memory still outlives the database.
  STOKER_RETURN_IF_ERROR(actions_->Rewrite());
  return stored_counters_->Rewrite();
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
  STOKER_RETURN_IF_ERROR(complete_->Prune());
  return blobs_->Sync();
}

Result<GarbageReport> Stack::CollectGarbage(const GarbageRequest& request,
                                            const UpkeepWatch& watch) {
  GarbageReport report;
  const std::uint64_t removed_before = complete_->removed_count();
  if (database_ != nullptr) report.file_bytes_before = database_->DiskBytes();
  // What nothing names first: it is colder than it looks.
  STOKER_TRY(const Dropped dropped,
             DropUnnamed(*actions_, *blobs_, clock_() - request.unnamed_age_ns, watch));
  report.unnamed_blobs = dropped.blobs;
  report.unnamed_bytes = dropped.bytes;
  const LedgerUsage before = disk_ != nullptr ? disk_->usage() : memory_->usage();
  if (disk_ != nullptr) {
    if (watch.progress) watch.progress("evicting", 0, 0);
    STOKER_TRY(const std::vector<Digest> gone,
               disk_->EvictTo(request.to_bytes.value_or(low_bytes_), watch.stop));
    // What is gone from the disk would not survive a restart: it goes from memory, too.
    for (const Digest& digest : gone) (void)metered_memory_->Delete(digest);
    report.evicted_blobs = gone.size();
  }
  const LedgerUsage after = disk_ != nullptr ? disk_->usage() : memory_->usage();
  report.evicted_bytes = after.evicted_bytes - before.evicted_bytes;
  report.stored_bytes = after.bytes;
  STOKER_RETURN_IF_ERROR(Maintain());
  report.entries = complete_->removed_count() - removed_before;
  if (database_ != nullptr) {
    if (watch.progress) watch.progress("compacting", 0, 0);
    STOKER_RETURN_IF_ERROR(database_->Compact(watch.stop));
    report.file_bytes = database_->DiskBytes();
  }
  return report;
}

Result<PurgeReport> Stack::Purge(const PurgeRequest& request, const UpkeepWatch& watch) {
  STOKER_TRY(PurgeReport report, PurgeEntries(
                                     *actions_, *blobs_, request,
                                     [this](std::string_view name_space, const Digest& key) {
                                       return actions_->IsPinned(name_space, key);
                                     },
                                     watch));
  if (!request.dry_run && database_ != nullptr) database_->RequestReclaim();
  return report;
}

Result<VerifyReport> Stack::Verify(const UpkeepWatch& watch) {
  BlobStore& listed = disk_ != nullptr ? static_cast<BlobStore&>(*disk_) : *memory_;
  const VerifyPlaces places{.listed = listed,
                            .read =
                                [this](const Digest& digest) {
                                  return disk_ != nullptr ? disk_->Read(digest)
                                                          : memory_->Get(digest);
                                },
                            .other_copy = [this](const Digest& digest) -> std::optional<Blob> {
                              if (auto copy = memory_->GetNow(digest); copy && disk_ != nullptr)
                                return copy;
                              if (metered_shared_ == nullptr) return std::nullopt;
                              Result<Blob> shared = metered_shared_->Get(digest);
                              return shared.ok() ? std::optional(*std::move(shared)) : std::nullopt;
                            },
                            .store = *blobs_};
  const std::uint64_t removed_before = complete_->removed_count();
  STOKER_TRY(VerifyReport report, VerifyBlobs(places, watch));
  STOKER_RETURN_IF_ERROR(Maintain());
  report.entries = complete_->removed_count() - removed_before;
  return report;
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
  snapshot.pins = actions_->usage();
  snapshot.loading = loading_;
  snapshot.incomplete_count = complete_->removed_count();
  return snapshot;
}

}  // namespace

const TierSnapshot& LastLocalTier(const StackSnapshot& snapshot) {
  for (const TierSnapshot& tier : snapshot.tiers) {
    if (tier.name == "disk") return tier;
  }
  return snapshot.tiers.front();
}

Result<std::unique_ptr<CacheStack>> CacheStack::Open(StackConfig config,
                                                     std::unique_ptr<BlobStore> shared) {
  return Stack::Assemble(std::move(config), std::move(shared));
}

}  // namespace stoker
