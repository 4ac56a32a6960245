#include "tests/conformance/cache/stores.h"

#include "cache/memory_action_index.h"
#include "cache/memory_blob_store.h"
#include "cache/memory_counter_store.h"
#include "cache/rocks/database.h"
#include "cache/rocks_action_index.h"
#include "cache/rocks_blob_store.h"
#include "cache/rocks_counter_store.h"
#include "tests/conformance/cache/temp_folder.h"

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
      *RocksBlobStore::Open(OpenDatabase(folder_), Watermarks::Of(kConformanceLimitBytes));
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
  };
}

std::vector<ActionIndexCase> ActionIndexCases() {
  return {
      Case<ActionIndexFixture, MemoryActions>("Memory"),
      Case<ActionIndexFixture, RocksActions>("Rocks"),
  };
}

std::vector<CounterStoreCase> CounterStoreCases() {
  return {
      Case<CounterStoreFixture, MemoryCounters>("Memory"),
      Case<CounterStoreFixture, RocksCounters>("Rocks"),
  };
}

}  // namespace stoker
