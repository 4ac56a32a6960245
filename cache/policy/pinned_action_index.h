// PinnedActionIndex: entries that stay, with every blob they name, until they are unpinned:
// eviction and quotas pass them by. Pins survive a restart where there is a database.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "cache/action_index.h"
#include "cache/blob_store.h"
#include "cache/clock.h"
#include "cache/policy/quota_action_index.h"

namespace stoker {

class Database;

inline constexpr std::size_t kMaxPins = 16384;

struct PinnedEntry {
  std::string name_space;
  Digest key;
  BlobKind kind = BlobKind::kArtifact;
  std::string label;
  std::uint64_t bytes = 0;  // The artifact and its references; 0: nothing is stored under the key.
  std::int64_t pinned_unix_ns = 0;
};

struct PinUsage {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t limit_bytes = 0;
};

class PinnedActionIndex : public ActionIndex {
 public:
  // `inner` uses `quotas`; both references must outlive the index. `database`: null keeps pins in
  // memory. A pin beyond `limit_bytes` is refused.
  PinnedActionIndex(std::unique_ptr<ActionIndex> inner, QuotaActionIndex& quotas, BlobStore& blobs,
                    std::shared_ptr<Database> database, std::uint64_t limit_bytes,
                    UnixClock clock = SystemUnixNanos);

  // Reads the stored pins; once, before anything may be evicted.
  Status Load();
  // Writes all pins: the database is another one, and empty.
  Status Rewrite();

  Result<ActionEntry> Lookup(std::string_view name_space, const Digest& key) override;
  Status Publish(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                 Durability durability) override;
  // The pin stays, for what is published there next.
  Status Remove(std::string_view name_space, const Digest& key) override;
  Status Visit(std::string_view name_space, const Visitor& visit) override;

  // Pinning what is pinned succeeds. kNotFound or kDataLoss: no such entry. kResourceExhausted: the
  // limits. Durable on return.
  Status Pin(std::string_view name_space, const Digest& key);
  // kNotFound: it is not pinned.
  Status Unpin(std::string_view name_space, const Digest& key);
  bool IsPinned(std::string_view name_space, const Digest& key) const;
  std::vector<PinnedEntry> Pins() const;  // By namespace and key.
  PinUsage usage() const;

 private:
  struct Pinned {
    PinnedEntry entry;
    std::vector<BlobPin> blobs;
  };
  using Name = std::pair<std::string, Digest>;

  std::vector<BlobPin> PinBlobs(const ActionEntry& entry);
  // What is pinned under the name, as it is stored now.
  Pinned PinnedOf(const Name& name, const ActionEntry& entry, std::int64_t pinned_unix_ns);
  void Keep(const Name& name, Pinned pinned);

  const std::unique_ptr<ActionIndex> inner_;
  QuotaActionIndex& quotas_;
  BlobStore& blobs_;
  const std::shared_ptr<Database> database_;
  const std::uint64_t limit_bytes_;
  const UnixClock clock_;
  // Shared by who changes an entry, had alone by who pins one.
  std::shared_mutex entries_mutex_;
  mutable std::mutex mutex_;  // Guards what follows; taken last, never held over I/O.
  std::map<Name, Pinned> pins_;
  std::uint64_t bytes_ = 0;  // Of all entries in pins_.
};

}  // namespace stoker
