// The stores and stacks that the conformance suites run on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/action_index.h"
#include "cache/blob_store.h"
#include "cache/counter_store.h"

namespace stoker {

// The bound of every blob store under test.
inline constexpr std::size_t kConformanceLimitBytes = 4 << 20;

class BlobStoreFixture {
 public:
  virtual ~BlobStoreFixture() = default;
  virtual BlobStore& store() = 0;
};

class ActionIndexFixture {
 public:
  virtual ~ActionIndexFixture() = default;
  virtual ActionIndex& index() = 0;
  // Makes sure that a blob with these bytes is stored where the index looks for it.
  virtual Digest StoreBlob(const std::string& bytes) { return Sha256Of(bytes); }
};

class CounterStoreFixture {
 public:
  virtual ~CounterStoreFixture() = default;
  virtual CounterStore& counters() = 0;
};

template <typename Fixture>
struct NamedCase {
  std::string name;
  std::function<std::unique_ptr<Fixture>()> make;
};
using BlobStoreCase = NamedCase<BlobStoreFixture>;
using ActionIndexCase = NamedCase<ActionIndexFixture>;
using CounterStoreCase = NamedCase<CounterStoreFixture>;

std::vector<BlobStoreCase> BlobStoreCases();
std::vector<ActionIndexCase> ActionIndexCases();
std::vector<CounterStoreCase> CounterStoreCases();

}  // namespace stoker
