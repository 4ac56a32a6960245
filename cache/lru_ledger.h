// LruLedger: who is stored, how big, in which order of use. It decides who must leave; moving the
// bytes is its owner's work. Not thread-safe: the owner locks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/blob_store.h"

namespace stoker {

// Charged for each entry on top of its bytes: keys, records, block overhead.
inline constexpr std::uint64_t kEntryOverheadBytes = 256;

// When the ledger would pass `high`, the coldest entries leave until it is at `low`; what would
// still pass `hard` is refused. low <= high <= hard.
struct Watermarks {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t hard = 0;

  // 85% and 95% of `limit_bytes`.
  static Watermarks Of(std::uint64_t limit_bytes);
};

// Why an entry had to leave.
enum class EvictionReason {
  kLimit,     // The ledger is full.
  kFreeDisk,  // The disk is.
  kRequest,   // Somebody asked for it.
};
inline constexpr std::size_t kEvictionReasonCount = 3;
std::string_view EvictionReasonName(EvictionReason reason);

// What is remembered of uses while a ledger is loaded.
inline constexpr std::size_t kMaxUsesWhileLoading = 65536;

struct KindUsage {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // Without overhead.
};

struct LedgerUsage {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // With kEntryOverheadBytes for each entry.
  std::uint64_t limit_bytes = 0;
  std::uint64_t pinned_count = 0;  // Entries that are stored and pinned.
  std::uint64_t pinned_bytes = 0;  // As `bytes`.
  std::uint64_t evicted_count = 0;
  std::uint64_t evicted_bytes = 0;
  std::array<std::uint64_t, kEvictionReasonCount> evicted_by{};  // Counts.
  std::uint64_t refused_count = 0;                               // For want of room here.
  std::uint64_t disk_refused_count = 0;                          // For want of room on the disk.
  std::uint64_t reserved_bytes = 0;  // Of writes that have their room and are under way.
  std::array<KindUsage, static_cast<std::size_t>(kBlobKinds.back()) + 1> kinds{};

  KindUsage& Of(BlobKind kind) { return kinds[static_cast<std::size_t>(kind)]; }
  const KindUsage& Of(BlobKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

class LruLedger {
 public:
  explicit LruLedger(const Watermarks& watermarks) : watermarks_(watermarks) {}

  // Takes out the entries that must leave before `bytes` more can come, coldest first. Either there
  // is room afterwards, or kResourceExhausted and nothing was taken. kUnavailable: while it is
  // loaded so much cannot come.
  Result<std::vector<BlobEntry>> MakeRoom(std::uint64_t bytes);
  // Takes out the coldest entries until they free `bytes`, or none is left that may go.
  std::vector<BlobEntry> TakeColdest(std::uint64_t bytes, EvictionReason reason);
  // Undoes MakeRoom (kLimit) or TakeColdest when its owner could not delete the entries.
  void Restore(const std::vector<BlobEntry>& entries, EvictionReason reason);

  // From here to EndLoad somebody reads what an earlier process has stored. Meanwhile the ledger
  // knows what came since: nothing leaves, at most `allowance_bytes` may come, and removals and
  // uses of what it does not know are remembered.
  void BeginLoad(std::uint64_t allowance_bytes);
  // `stored` holds what was read. What this ledger holds is newer, and what was removed from it is
  // gone. Returns the digests that came or were used meanwhile: their times may be others now.
  std::vector<Digest> EndLoad(LruLedger stored);
  bool loading() const { return load_.has_value(); }

  // Adds the hottest entry. Requires that it is not there.
  void Add(const BlobEntry& entry);
  // False: it is not there. `now_unix_ns` is made to grow strictly, so that times order uses.
  bool Touch(const Digest& digest, std::int64_t now_unix_ns);
  // What was there.
  std::optional<BlobEntry> Remove(const Digest& digest);
  const BlobEntry* Find(const Digest& digest) const;

  void Pin(const Digest& digest);
  void Unpin(const Digest& digest);
  bool IsPinned(const Digest& digest) const { return pins_.contains(digest); }

  // A time for a new entry: `now_unix_ns`, or later than every use so far.
  std::int64_t NextAccess(std::int64_t now_unix_ns);

  LedgerUsage usage() const;
  // Coldest first, pinned ones last.
  std::vector<BlobEntry> Entries() const;

 private:
  using List = std::list<BlobEntry>;
  struct Load {
    std::uint64_t allowance_bytes = 0;
    std::unordered_set<Digest, DigestHash> removed;
    std::vector<std::pair<Digest, std::int64_t>> uses;  // At most kMaxUsesWhileLoading.
  };

  static std::uint64_t Charge(const BlobEntry& entry) { return entry.bytes + kEntryOverheadBytes; }
  void Insert(const BlobEntry& entry, bool hottest);
  BlobEntry Take(List::iterator entry);

  Watermarks watermarks_;
  List unpinned_;  // Coldest first.
  List pinned_;
  std::unordered_map<Digest, List::iterator, DigestHash> index_;
  std::unordered_map<Digest, std::uint32_t, DigestHash> pins_;
  std::uint64_t pinned_bytes_ = 0;
  std::optional<Load> load_;
  std::int64_t last_access_ = 0;
  LedgerUsage usage_;
};

}  // namespace stoker
