// Stores that have read what is stored.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "cache/policy/quota_action_index.h"
#include "cache/rocks/rocks_blob_store.h"
#include "protocol/base/check.h"

namespace stoker {

inline std::unique_ptr<RocksBlobStore> LoadedBlobStore(std::shared_ptr<Database> database,
                                                       const Watermarks& watermarks,
                                                       UnixClock clock = SystemUnixNanos) {
  auto store = std::make_unique<RocksBlobStore>(std::move(database), watermarks, std::move(clock));
  const std::atomic<bool> stop = false;
  STOKER_CHECK(store->Load(stop).ok());
  return store;
}

inline std::unique_ptr<QuotaActionIndex> LoadedQuotaIndex(std::unique_ptr<ActionIndex> inner,
                                                          Quotas quotas,
                                                          UnixClock clock = SystemUnixNanos) {
  auto index =
      std::make_unique<QuotaActionIndex>(std::move(inner), std::move(quotas), std::move(clock));
  const std::atomic<bool> stop = false;
  STOKER_CHECK(index->Load(stop).ok());
  return index;
}

}  // namespace stoker
