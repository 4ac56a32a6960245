// EntryStore: entries of the index as they go from one daemon to another. Blocking.
#pragma once

#include <string_view>

#include "cache/stack/stack.h"
#include "daemon/service/store/artifact_store.h"
#include "protocol/base/result.h"
#include "protocol/wire/entry_messages.h"

namespace stoker {

class EntryStore {
 public:
  // Both must outlive it.
  EntryStore(CacheStack& stack, const KeyRing& keys)
      : stack_(stack), artifacts_(stack, keys), signer_(keys) {}

  // NotFound: no such entry, or one of another kind than artifact and capture.
  Result<wire::StoredEntry> Get(const wire::EntryQuery& query);

  // Stores an artifact's entry of another daemon, if all its blobs are here: those that the
  // artifact itself names, and the graph. Its key must be that of the request, of which the graph
  // is hashed anew. FailedPrecondition: neither a key of this daemon signed it nor one that it
  // trusts. Captures are refused: /v1/captures/put takes them.
  Result<wire::EntryReply> Put(const wire::StoredEntry& entry);

 private:
  // The artifact with this daemon's signatures, if whoever signed it is believed here.
  Result<std::string> Vouched(std::string_view artifact);

  CacheStack& stack_;
  ArtifactStore artifacts_;
  ArtifactSigner signer_;
};

}  // namespace stoker
