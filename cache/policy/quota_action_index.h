// QuotaActionIndex: bounds the bytes that the entries of each namespace stand for. A namespace over
// its quota loses its own least recently used entries; their blobs go when nothing uses them.
#pragma once

#include <atomic>
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
  // Until Load has returned, what is stored is not known: nothing leaves, and a namespace with a
  // quota takes a tenth of it at most.
  QuotaActionIndex(std::unique_ptr<ActionIndex> inner, Quotas quotas,
                   UnixClock clock = SystemUnixNanos)
      : inner_(std::move(inner)), quotas_(std::move(quotas)), clock_(std::move(clock)) {}

  // Reads the whole index; once. Entries count as used when they were published. kDataLoss: it is
  // damaged. kUnavailable: `stop` became true.
  Status Load(const std::atomic<bool>& stop);
  // The index is another one, and empty.
  void Clear();

  Result<ActionEntry> Lookup(std::string_view name_space, const Digest& key) override;
  Status Publish(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                 Durability durability) override;
  Status Remove(std::string_view name_space, const Digest& key) override;
  Status Visit(std::string_view name_space, const Visitor& visit) override;

  // A pinned entry does not make room for others; it may be there or not. Pins do not nest.
  Status Pin(std::string_view name_space, const Digest& key);
  void Unpin(std::string_view name_space, const Digest& key);

  // By namespace; limit_bytes is the quota, 0 if there is none.
  std::map<std::string, LedgerUsage> usage() const;

 private:
  struct Namespace {
    explicit Namespace(std::uint64_t quota_bytes);

    const std::uint64_t quota;  // 0: no limit.
    std::mutex publish_mutex;   // Taken first, and only if there is a quota: makes it exact.
    LruLedger ledger;           // Of request keys. Guarded by mutex_.
  };

  void EndLoads();
  Result<Namespace*> FindOrAdd(std::string_view name_space);
  void Account(Namespace& entries, const Digest& key, const ActionEntry& entry, std::int64_t now);
  Status MakeRoom(Namespace& entries, std::string_view name_space, const Digest& key,
                  const ActionEntry& entry);

  const std::unique_ptr<ActionIndex> inner_;
  const Quotas quotas_;
  const UnixClock clock_;
  mutable std::mutex mutex_;  // Guards what follows; never held over I/O.
  bool loading_ = true;
  std::map<std::string, Namespace, std::less<>> namespaces_;
};

}  // namespace stoker
