#include "cache/policy/complete_action_index.h"

#include <mutex>
#include <utility>
#include <vector>

namespace stoker {

Result<ActionEntry> CompleteActionIndex::Lookup(std::string_view name_space, const Digest& key) {
  STOKER_TRY(ActionEntry entry, inner_->Lookup(name_space, key));
  STOKER_TRY(const Digest missing, FirstMissing(entry));
  if (!missing.IsZero()) {
    (void)RemoveIncomplete(name_space,
                           key);  // On a disk that takes no writes it stays, and is found again.
    return DataLoss("Entry " + key.ToHex() + " of namespace '" + std::string(name_space) +
                    "' names blob " + missing.ToHex() + ", which is no longer stored.");
  }
  blobs_.Touch({&entry.artifact, 1});
  blobs_.Touch(entry.references);
  return entry;
}

Status CompleteActionIndex::Publish(std::string_view name_space, const Digest& key,
                                    const ActionEntry& entry, Durability durability) {
  STOKER_RETURN_IF_ERROR(CheckActionEntry(entry));
  STOKER_TRY(const Digest missing, FirstMissing(entry));
  if (!missing.IsZero()) {
    return FailedPrecondition("Blob " + missing.ToHex() + " must be stored before entry " +
                              key.ToHex() + " can name it.");
  }
  const std::shared_lock lock(publish_mutex_);
  return inner_->Publish(name_space, key, entry, durability);
}

Status CompleteActionIndex::Remove(std::string_view name_space, const Digest& key) {
  return inner_->Remove(name_space, key);
}

Status CompleteActionIndex::Visit(std::string_view name_space, const Visitor& visit) {
  Status failed;
  STOKER_RETURN_IF_ERROR(inner_->Visit(
      name_space, [&](std::string_view seen, const Digest& key, const ActionEntry& entry) {
        const Result<Digest> missing = FirstMissing(entry);
        if (!missing.ok()) {
          failed = missing.error();
          return false;
        }
        return !missing->IsZero() || visit(seen, key, entry);
      }));
  return failed;
}

Status CompleteActionIndex::Prune() {
  std::vector<std::pair<std::string, Digest>> incomplete;
  Status failed;
  STOKER_RETURN_IF_ERROR(
      inner_->Visit("", [&](std::string_view seen, const Digest& key, const ActionEntry& entry) {
        const Result<Digest> missing = FirstMissing(entry);
        if (!missing.ok()) failed = missing.error();
        if (missing.ok() && !missing->IsZero()) incomplete.emplace_back(seen, key);
        return missing.ok();
      }));
  STOKER_RETURN_IF_ERROR(failed);
  for (const auto& [name_space, key] : incomplete) {
    STOKER_RETURN_IF_ERROR(RemoveIncomplete(name_space, key));
  }
  return Ok();
}

Result<Digest> CompleteActionIndex::FirstMissing(const ActionEntry& entry) {
  STOKER_TRY(const bool artifact, blobs_.Contains(entry.artifact));
  if (!artifact) return entry.artifact;
  for (const Digest& reference : entry.references) {
    STOKER_TRY(const bool found, blobs_.Contains(reference));
    if (!found) return reference;
  }
  return Digest();
}

Status CompleteActionIndex::RemoveIncomplete(std::string_view name_space, const Digest& key) {
  const std::unique_lock lock(publish_mutex_);
  const Result<ActionEntry> entry = inner_->Lookup(name_space, key);
  if (!entry.ok()) return Ok();  // Somebody else removed it.
  STOKER_TRY(const Digest missing, FirstMissing(*entry));
  if (missing.IsZero()) return Ok();
  STOKER_RETURN_IF_ERROR(inner_->Remove(name_space, key));
  ++removed_count_;
  return Ok();
}

}  // namespace stoker
