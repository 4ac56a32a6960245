// ActionIndex: request key -> artifact digest, within a namespace: the only mutable mapping in the
// system. All calls are safe from any thread and may block on I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/blob.h"
#include "protocol/base/digest.h"
#include "protocol/base/namespace.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kMaxLabelBytes = 4096;
inline constexpr std::size_t kMaxMetadataBytes = 64 * 1024;
inline constexpr std::size_t kMaxReferences = 65536;

enum class Durability {
  kSynced,    // On return the entry, and all that was stored before it, survive a power failure.
  kBuffered,  // It survives the end of this process, and a power failure after the next kSynced.
};

struct ActionEntry {
  Digest artifact;
  BlobKind kind = BlobKind::kArtifact;  // What `artifact` is.
  std::vector<Digest> references;       // Every further blob without which the artifact is useless.
  std::uint64_t bytes = 0;              // The artifact and its references: what quotas count.
  double compile_seconds = 0;           // What a hit saves.
  std::int64_t published_unix_ns = 0;
  std::string label;     // For people: the graph's name.
  std::string metadata;  // Opaque to the cache: what explains a later miss.

  friend bool operator==(const ActionEntry&, const ActionEntry&) = default;
};

class ActionIndex {
 public:
  using Visitor =
      std::function<bool(std::string_view name_space, const Digest& key, const ActionEntry& entry)>;

  virtual ~ActionIndex() = default;

  // kNotFound: a miss. kDataLoss: an entry was there, but what it names is gone (evicted or
  // quarantined) or the entry is damaged; it has been removed, so treat it as a miss with that
  // reason. Counts as a use of the entry.
  virtual Result<ActionEntry> Lookup(std::string_view name_space, const Digest& key) = 0;

  // Replaces an earlier entry. Store the blobs first.
  // kInvalidArgument: the namespace or a limit above. kResourceExhausted: quota or full disk.
  // kFailedPrecondition: a blob that the entry names is not stored.
  virtual Status Publish(std::string_view name_space, const Digest& key, const ActionEntry& entry,
                         Durability durability) = 0;

  // kNotFound: nothing to remove. The blobs stay.
  virtual Status Remove(std::string_view name_space, const Digest& key) = 0;

  // Calls `visit` for each entry of the namespace (of all namespaces if it is empty), ordered by
  // namespace and key, until it returns false.
  virtual Status Visit(std::string_view name_space, const Visitor& visit) = 0;
};

// The limits above.
Status CheckActionEntry(const ActionEntry& entry);

}  // namespace stoker
