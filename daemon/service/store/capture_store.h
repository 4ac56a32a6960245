// CaptureStore: the captures under each capture key, in the cache's blobs and index. Blocking.
//
// Each writer's captures are a list of their own, so that nobody's push out another's: an index
// entry under a digest of capture key and writer names it: "stokcaps", then the digests of the
// captures, most recent first. The entry under the capture key itself names who has written there:
// "stokwrit", then public keys, the latest first; it decides nothing.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cache/stack/stack.h"
#include "daemon/service/store/artifact_store.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "protocol/base/signature/signature.h"
#include "protocol/wire/capture_messages.h"

namespace stoker {

class CaptureStore {
 public:
  // The latest writers of a key that are remembered by name.
  static constexpr std::size_t kMaxNamedWriters = 64;

  // The stack must outlive it.
  explicit CaptureStore(CacheStack& stack) : stack_(stack) {}

  // Those of the writers that are asked for, in their order, each one's most recent first; at least
  // one. NotFound: a miss. DataLoss: a miss, because what was stored is damaged or was evicted.
  Result<wire::CaptureList> Find(const wire::CaptureQuery& query);
  // Durable on return. InvalidArgument: no envelope that opens, or not signed for this key.
  // FailedPrecondition: the key names something else, which stays.
  Status Put(const wire::CapturePut& put);
  // Takes the capture from under this key: a whole one for its writer alone, who has signed for it,
  // a damaged one for anybody. Bytes are quarantined only if they are damaged: whole ones that are
  // wrong here (of another key or format) may be right under another key. NotFound: it is not under
  // the key. FailedPrecondition: it is whole, and another one's.
  Status Drop(const wire::CaptureDrop& drop);
  // The index keys of the lists of those who have written under a capture key; none for any other
  // key.
  std::vector<Digest> ListKeys(std::string_view ns, const Digest& capture_key);
  // Other writers, or a comparison with the nearest key of the namespace.
  wire::Miss ExplainMiss(const wire::CaptureQuery& query);

 private:
  Result<ActionEntry> Entry(std::string_view ns, const Digest& index_key);
  Result<std::vector<Digest>> DigestsOf(const ActionEntry& entry);
  Status Publish(std::string_view ns, const Digest& index_key, const std::vector<Digest>& captures,
                 ActionEntry entry);
  Status CheckIsFree(std::string_view ns, const Digest& capture_key);
  Result<std::vector<PublicKey>> WritersOf(std::string_view ns, const Digest& capture_key);
  Status NameWriter(const wire::CapturePut& put, const PublicKey& writer);
  Result<bool> IsDamaged(const Digest& capture);
  std::string NearestKey(const wire::CaptureQuery& query);

  CacheStack& stack_;
  std::mutex mutex_;  // Held while a list is read and replaced.
};

}  // namespace stoker
