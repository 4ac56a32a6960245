// CaptureStore: the captures under each capture key, in the cache's blobs and index. Blocking.
//
// An index entry names a list: "stokcaps", then the digests of its captures, most recent first.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/stack.h"
#include "daemon/service/artifact_store.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/wire/capture_messages.h"

namespace stoker {

class CaptureStore {
 public:
  // The stack must outlive it.
  explicit CaptureStore(CacheStack& stack) : stack_(stack) {}

  // Most recent first, at least one. NotFound: a miss. DataLoss: a miss, because what was stored is
  // damaged or was evicted.
  Result<wire::CaptureList> Find(const wire::CaptureQuery& query);
  // Durable on return. InvalidArgument: no envelope that opens. FailedPrecondition: the key names
  // something else, which stays.
  Status Put(const wire::CapturePut& put);
  // Takes the capture from under this key. Its bytes are quarantined only if they are damaged:
  // whole ones that are wrong here (of another key or format) may be right under another key.
  // NotFound: it is not under the key.
  Status Drop(const wire::CaptureDrop& drop);
  // Compares with the nearest key of the namespace.
  MissReason ExplainMiss(const wire::CaptureQuery& query);

 private:
  Result<ActionEntry> Entry(std::string_view ns, const Digest& key);
  Result<std::vector<Digest>> DigestsOf(const ActionEntry& entry);
  Status Publish(std::string_view ns, const Digest& key, const std::vector<Digest>& captures,
                 ActionEntry entry);
  Status QuarantineIfDamaged(const Digest& capture);

  CacheStack& stack_;
  std::mutex mutex_;  // Held while a list is read and replaced.
};

}  // namespace stoker
