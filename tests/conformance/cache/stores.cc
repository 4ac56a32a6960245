#include "tests/conformance/cache/stores.h"

#include "cache/memory/memory_action_index.h"
#include "cache/memory/memory_blob_store.h"
#include "cache/memory/memory_counter_store.h"
#include "cache/policy/complete_action_index.h"
#include "cache/policy/metered_blob_store.h"
#include "cache/policy/quota_action_index.h"
#include "cache/policy/tiered_blob_store.h"
#include "cache/rocks/database/database.h"
#include "cache/rocks/rocks_action_index.h"
#include "cache/rocks/rocks_blob_store.h"
#include "cache/rocks/rocks_counter_store.h"
#include "cache/stack/stack.h"
#include "tests/unit/cache/loaded_stores.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

std::shared_ptr<Database> OpenDatabase(const TempFolder& folder) {
  DatabaseConfig config;
  config.path = folder.path();
  return *Database::Open(config);
}

class MemoryBlobs : public BlobStoreFixture {
 public:
  BlobStore& store() override { return store_; }

 private:
  MemoryBlobStore store_{Watermarks::Of(kConformanceLimitBytes)};
};

class RocksBlobs : public BlobStoreFixture {
 public:
  BlobStore& store() override { return *store_; }

 private:
  TempFolder folder_;
  std::unique_ptr<RocksBlobStore> store_ =
      LoadedBlobStore(OpenDatabase(folder_), Watermarks::Of(kConformanceLimitBytes));
};

class TieredBlobs : public BlobStoreFixture {
 public:
  BlobStore& store() override { return store_; }

 private:
  TempFolder folder_;
  TieredBlobStore store_{
      std::make_unique<MemoryBlobStore>(Watermarks::Of(kConformanceLimitBytes / 4)),
      LoadedBlobStore(OpenDatabase(folder_), Watermarks::Of(kConformanceLimitBytes)),
      Authority::kBack};
};

class MeteredBlobs : public BlobStoreFixture {
 public:
  BlobStore& store() override { return store_; }

 private:
  MeteredBlobStore store_{
      std::make_unique<MemoryBlobStore>(Watermarks::Of(kConformanceLimitBytes))};
};

// Longer than what a test stores takes to be read on any machine.
constexpr std::chrono::minutes kLoadPatience{10};

// A stack as a daemon has it. The shared tier, if any, is smaller than the local one, so that the
// bound under test is the local one.
class Stack {
 public:
  explicit Stack(bool durable, bool shared) {
    StackConfig config;
    if (durable) config.path = folder_.path();
    config.max_bytes = kConformanceLimitBytes;
    config.memory_bytes = durable ? kConformanceLimitBytes / 4 : kConformanceLimitBytes;
    config.min_free_disk_bytes = 0;
    config.load_patience = kLoadPatience;
    std::unique_ptr<BlobStore> tier;
    if (shared) {
      tier = std::make_unique<MemoryBlobStore>(Watermarks::Of(kConformanceLimitBytes / 4));
    }
    stack_ = *CacheStack::Open(config, std::move(tier));
  }

  CacheStack& operator*() { return *stack_; }

 private:
  TempFolder folder_;
  std::unique_ptr<CacheStack> stack_;
};

template <bool durable, bool shared>
class StackBlobs : public BlobStoreFixture {
 public:
  BlobStore& store() override { return (*stack_).blobs(); }

 private:
  Stack stack_{durable, shared};
};

template <bool durable, bool shared>
class StackActions : public ActionIndexFixture {
 public:
  ActionIndex& index() override { return (*stack_).actions(); }
  Digest StoreBlob(const std::string& bytes) override {
    return *PutBytes((*stack_).blobs(), bytes, BlobKind::kOther);
  }

 private:
  Stack stack_{durable, shared};
};

template <bool durable>
class StackCounters : public CounterStoreFixture {
 public:
  CounterStore& counters() override { return (*stack_).counters(); }

 private:
  Stack stack_{durable, /*shared=*/false};
};

class QuotaActions : public ActionIndexFixture {
 public:
  ActionIndex& index() override { return *index_; }

 private:
  std::unique_ptr<QuotaActionIndex> index_ = LoadedQuotaIndex(
      std::make_unique<MemoryActionIndex>(), Quotas{.bytes = {}, .default_bytes = 1 << 20});
};

class CompleteActions : public ActionIndexFixture {
 public:
  ActionIndex& index() override { return index_; }
  Digest StoreBlob(const std::string& bytes) override {
    return *PutBytes(blobs_, bytes, BlobKind::kOther);
  }

 private:
  MemoryBlobStore blobs_{Watermarks::Of(kConformanceLimitBytes)};
  CompleteActionIndex index_{std::make_unique<MemoryActionIndex>(), blobs_};
};

class MemoryActions : public ActionIndexFixture {
 public:
  ActionIndex& index() override { return index_; }

 private:
  MemoryActionIndex index_;
};

class RocksActions : public ActionIndexFixture {
 public:
  ActionIndex& index() override { return index_; }

 private:
  TempFolder folder_;
  RocksActionIndex index_{OpenDatabase(folder_)};
};

class MemoryCounters : public CounterStoreFixture {
 public:
  CounterStore& counters() override { return counters_; }

 private:
  MemoryCounterStore counters_;
};

class RocksCounters : public CounterStoreFixture {
 public:
  CounterStore& counters() override { return *counters_; }

 private:
  TempFolder folder_;
  std::unique_ptr<RocksCounterStore> counters_ = *RocksCounterStore::Open(OpenDatabase(folder_));
};

template <typename Base, typename Derived>
NamedCase<Base> Case(std::string name) {
  return {std::move(name), [] { return std::make_unique<Derived>(); }};
}

}  // namespace

std::vector<BlobStoreCase> BlobStoreCases() {
  return {
      Case<BlobStoreFixture, MemoryBlobs>("Memory"),
      Case<BlobStoreFixture, RocksBlobs>("Rocks"),
      Case<BlobStoreFixture, TieredBlobs>("Tiered"),
      Case<BlobStoreFixture, MeteredBlobs>("Metered"),
      Case<BlobStoreFixture, StackBlobs<false, false>>("MemoryStack"),
      Case<BlobStoreFixture, StackBlobs<true, false>>("DurableStack"),
      Case<BlobStoreFixture, StackBlobs<true, true>>("SharedStack"),
  };
}

std::vector<ActionIndexCase> ActionIndexCases() {
  return {
      Case<ActionIndexFixture, MemoryActions>("Memory"),
      Case<ActionIndexFixture, RocksActions>("Rocks"),
      Case<ActionIndexFixture, QuotaActions>("Quota"),
      Case<ActionIndexFixture, CompleteActions>("Complete"),
      Case<ActionIndexFixture, StackActions<false, false>>("MemoryStack"),
      Case<ActionIndexFixture, StackActions<true, true>>("SharedStack"),
  };
}

std::vector<CounterStoreCase> CounterStoreCases() {
  return {
      Case<CounterStoreFixture, MemoryCounters>("Memory"),
      Case<CounterStoreFixture, RocksCounters>("Rocks"),
      Case<CounterStoreFixture, StackCounters<false>>("MemoryStack"),
      Case<CounterStoreFixture, StackCounters<true>>("DurableStack"),
  };
}

}  // namespace stoker
