// CompleteActionIndex: an entry is visible only while every blob it names is stored, so that a hit
// is never half a program.
#pragma once

#include <atomic>
#include <memory>
#include <shared_mutex>

#include "cache/action_index.h"
#include "cache/blob_store.h"

namespace stoker {

class CompleteActionIndex : public ActionIndex {
 public:
  // `blobs` must outlive the index.
  CompleteActionIndex(std::unique_ptr<ActionIndex> inner, BlobStore& blobs)
      : inner_(std::move(inner)), blobs_(blobs) {}

  // Counts as a use of every blob that the entry names.
  Result<ActionEntry> Lookup(std::string_view name_space, const Digest& key) override;
  // kFailedPrecondition names the first blob that is missing.
  Status Publish(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                 Durability durability) override;
  Status Remove(std::string_view name_space, const Digest& key) override;
  Status Visit(std::string_view name_space, const Visitor& visit) override;

  // Removes every entry that names a missing blob. Takes time in proportion to the index.
  Status Prune();
  // Entries removed because a blob was missing.
  std::uint64_t removed_count() const { return removed_count_; }

 private:
  // Zero if every blob is there.
  Result<Digest> FirstMissing(const ActionEntry& entry);
  // Removes the entry unless it has become complete meanwhile.
  Status RemoveIncomplete(std::string_view name_space, const Digest& key);

  const std::unique_ptr<ActionIndex> inner_;
  BlobStore& blobs_;
  // Publishers share it; a removal has it alone, so that it cannot hit a newer entry.
  std::shared_mutex publish_mutex_;
  std::atomic<std::uint64_t> removed_count_ = 0;
};

}  // namespace stoker
