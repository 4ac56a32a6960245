// QuotaActionIndex: bounds the bytes that the entries of each namespace stand for. A namespace over
// its quota loses its own least recently used entries; their blobs go when nothing uses them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cache/action_index.h"
#include "cache/clock.h"
#include "cache/lru_ledger.h"

namespace stoker {

inline constexpr std::size_t kMaxNamespaces = 1024;

struct Quotas {
  std::map<std::string, std::uint64_t, std::less<>> bytes;  // By namespace.
  std::uint64_t default_bytes = 0;                          // For the others; 0: no limit.
};

class QuotaActionIndex : public ActionIndex {
 public:
  // Reads the whole index. After a restart entries count as used when they were published.
  static Result<std::unique_ptr<QuotaActionIndex>> Open(std::unique_ptr<ActionIndex> inner,
                                                        Quotas quotas,
                                                        UnixClock clock = SystemUnixNanos);

  Result<ActionEntry> Lookup(std::string_view name_space, const Digest& key) override;
  Status Publish(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                 Durability durability) override;
  Status Remove(std::string_view name_space, const Digest& key) override;
  Status Visit(std::string_view name_space, const Visitor& visit) override;

  // By namespace; limit_bytes is the quota, 0 if there is none.
  std::map<std::string, LedgerUsage> usage() const;

 private:
  struct Namespace {
    Namespace(std::uint64_t quota_bytes, const Watermarks& watermarks)
        : quota(quota_bytes), ledger(watermarks) {}

    const std::uint64_t quota;  // 0: no limit.
    std::mutex publish_mutex;   // Taken first, and only if there is a quota: makes it exact.
    LruLedger ledger;           // Of request keys. Guarded by mutex_.
  };

  QuotaActionIndex(std::unique_ptr<ActionIndex> inner, Quotas quotas, UnixClock clock)
      : inner_(std::move(inner)), quotas_(std::move(quotas)), clock_(std::move(clock)) {}

  Result<Namespace*> FindOrAdd(std::string_view name_space);
  void Account(Namespace& entries, const Digest& key, const ActionEntry& entry, std::int64_t now);
  Status MakeRoom(Namespace& entries, std::string_view name_space, const Digest& key,
                  const ActionEntry& entry);

  const std::unique_ptr<ActionIndex> inner_;
  const Quotas quotas_;
  const UnixClock clock_;
  mutable std::mutex mutex_;  // Guards what follows; never held over I/O.
  std::map<std::string, Namespace, std::less<>> namespaces_;
};

}  // namespace stoker
