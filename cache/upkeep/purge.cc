// PurgeEntries and DropUnnamed: which blobs does nothing name?
#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cache/upkeep/upkeep.h"

namespace stoker {
namespace {

using Names = std::unordered_set<Digest, DigestHash>;
using EntryName = std::pair<std::string, Digest>;

// Progress is told once in so many.
constexpr std::uint64_t kEntriesPerStep = 256;

class Steps {
 public:
  Steps(const UpkeepWatch& watch, std::string_view stage, std::uint64_t total = 0)
      : watch_(watch), stage_(stage), total_(total) {}

  // Another one was done. False: stop.
  bool Go() {
    if (done_++ % kEntriesPerStep == 0 && watch_.progress) watch_.progress(stage_, done_, total_);
    return !watch_.stop;
  }

 private:
  const UpkeepWatch& watch_;
  const std::string_view stage_;
  const std::uint64_t total_;
  std::uint64_t done_ = 0;
};

Error Stopped() { return Unavailable("The work on the cache was stopped."); }

template <typename Each>
void ForEachName(const ActionEntry& entry, const Each& each) {
  each(entry.artifact);
  for (const Digest& reference : entry.references) each(reference);
}

Result<std::unordered_map<Digest, std::int64_t, DigestHash>> LastUses(BlobStore& blobs) {
  std::unordered_map<Digest, std::int64_t, DigestHash> uses;
  STOKER_RETURN_IF_ERROR(blobs.Visit([&](const BlobEntry& blob) {
    uses.emplace(blob.digest, blob.accessed_unix_ns);
    return true;
  }));
  return uses;
}

// Deletes those that are there, unless `dry_run`, and counts them.
Result<Dropped> Delete(BlobStore& blobs, const std::vector<BlobEntry>& doomed, bool dry_run,
                       const UpkeepWatch& watch) {
  Dropped dropped;
  Steps steps(watch, "removing blobs", doomed.size());
  for (const BlobEntry& blob : doomed) {
    if (!steps.Go()) return Stopped();
    if (!dry_run) {
      const Status deleted = blobs.Delete(blob.digest);
      const bool stays = !deleted.ok() && (deleted.error().code == ErrorCode::kNotFound ||
                                           deleted.error().code == ErrorCode::kFailedPrecondition);
      if (stays) continue;
      STOKER_RETURN_IF_ERROR(deleted);
    }
    ++dropped.blobs;
    dropped.bytes += blob.bytes;
  }
  return dropped;
}

Result<std::vector<BlobEntry>> Select(BlobStore& blobs,
                                      const std::function<bool(const BlobEntry&)>& wanted) {
  std::vector<BlobEntry> selected;
  STOKER_RETURN_IF_ERROR(blobs.Visit([&](const BlobEntry& blob) {
    if (wanted(blob)) selected.push_back(blob);
    return true;
  }));
  return selected;
}

using VisitEntry = std::function<void(std::string_view, const Digest&, const ActionEntry&)>;

Status VisitEntries(ActionIndex& actions, std::string_view stage, const UpkeepWatch& watch,
                    const VisitEntry& visit) {
  Steps steps(watch, stage);
  STOKER_RETURN_IF_ERROR(actions.Visit(
      "", [&](std::string_view name_space, const Digest& key, const ActionEntry& entry) {
        visit(name_space, key, entry);
        return steps.Go();
      }));
  if (watch.stop) return Stopped();
  return Ok();
}

Status RemoveEntries(ActionIndex& actions, const std::vector<EntryName>& doomed,
                     const UpkeepWatch& watch) {
  Steps steps(watch, "removing entries", doomed.size());
  for (const auto& [name_space, key] : doomed) {
    if (!steps.Go()) return Stopped();
    const Status removed = actions.Remove(name_space, key);
    if (!removed.ok() && removed.error().code != ErrorCode::kNotFound) return removed;
  }
  return Ok();
}

}  // namespace

Result<PurgeReport> PurgeEntries(
    ActionIndex& actions, BlobStore& blobs, const PurgeRequest& request,
    const std::function<bool(std::string_view name_space, const Digest& key)>& is_pinned,
    const UpkeepWatch& watch) {
  PurgeReport report;
  std::unordered_map<Digest, std::int64_t, DigestHash> last_uses;
  if (request.wants_last_use) {
    STOKER_TRY(last_uses, LastUses(blobs));
  }
  Names loose;                    // What the doomed name, and then what nobody else does.
  std::vector<EntryName> doomed;  // In the order of the index.
  STOKER_RETURN_IF_ERROR(
      VisitEntries(actions, "reading entries", watch,
                   [&](std::string_view name_space, const Digest& key, const ActionEntry& entry) {
                     const auto used = last_uses.find(entry.artifact);
                     const std::int64_t last = used == last_uses.end() ? 0 : used->second;
                     if (!request.matches(name_space, key, entry, last)) return;
                     if (is_pinned(name_space, key)) {
                       ++report.pinned_entries;
                       return;
                     }
                     doomed.emplace_back(name_space, key);
                     ForEachName(entry, [&](const Digest& name) { loose.insert(name); });
                   }));
  report.entries = doomed.size();
  if (!request.dry_run) STOKER_RETURN_IF_ERROR(RemoveEntries(actions, doomed, watch));
  // The index after the removal: what was published meanwhile keeps what it names.
  std::vector<std::pair<EntryName, Digest>> shadows;
  STOKER_RETURN_IF_ERROR(
      VisitEntries(actions, "reading what stays", watch,
                   [&](std::string_view name_space, const Digest& key, const ActionEntry& entry) {
                     const EntryName name(name_space, key);
                     if (std::binary_search(doomed.begin(), doomed.end(), name) && request.dry_run)
                       return;
                     if (request.shadows.contains(name_space)) {
                       shadows.emplace_back(name, entry.artifact);
                     } else {
                       ForEachName(entry, [&](const Digest& named) { loose.erase(named); });
                     }
                   }));
  if (!request.dry_run) {
    std::vector<EntryName> vain;
    for (const auto& [name, blob] : shadows) {
      if (loose.contains(blob)) vain.push_back(name);
    }
    STOKER_RETURN_IF_ERROR(RemoveEntries(actions, vain, watch));
  }
  STOKER_TRY(const std::vector<BlobEntry> unnamed,
             Select(blobs, [&](const BlobEntry& blob) { return loose.contains(blob.digest); }));
  STOKER_TRY(const Dropped dropped, Delete(blobs, unnamed, request.dry_run, watch));
  report.blobs = dropped.blobs;
  report.bytes = dropped.bytes;
  return report;
}

Result<Dropped> DropUnnamed(ActionIndex& actions, BlobStore& blobs, std::int64_t unix_ns,
                            const UpkeepWatch& watch) {
  // The blobs first: what is stored later is not looked at.
  STOKER_TRY(std::vector<BlobEntry> unnamed, Select(blobs, [&](const BlobEntry& blob) {
               return blob.kind != BlobKind::kOther && blob.accessed_unix_ns < unix_ns;
             }));
  Names names;
  STOKER_RETURN_IF_ERROR(
      VisitEntries(actions, "reading entries", watch,
                   [&](std::string_view, const Digest&, const ActionEntry& entry) {
                     ForEachName(entry, [&](const Digest& name) { names.insert(name); });
                   }));
  std::erase_if(unnamed, [&](const BlobEntry& blob) { return names.contains(blob.digest); });
  return Delete(blobs, unnamed, /*dry_run=*/false, watch);
}

}  // namespace stoker
