// EntryStore: entries of the index as they go from one daemon to another. Blocking.
#pragma once

#include <string_view>

#include "cache/stack.h"
#include "daemon/service/artifact_store.h"
#include "protocol/base/result.h"
#include "protocol/wire/entry_messages.h"

namespace stoker {

class EntryStore {
 public:
  // The stack must outlive it.
  explicit EntryStore(CacheStack& stack) : stack_(stack), artifacts_(stack) {}

  // NotFound: no such entry, or one of another kind than artifact and capture.
  Result<wire::StoredEntry> Get(const wire::EntryQuery& query);

  // Stores an artifact's entry of another daemon, if all its blobs are here: those that the
  // artifact itself names, and the graph. Its key must be that of the request, of which the graph
  // is hashed anew. Captures are refused: /v1/captures/put takes them.
  Result<wire::EntryReply> Put(const wire::StoredEntry& entry);

 private:
  // Whether whoever made the artifact is believed here. The place where its signature is checked.
  static Status CheckOrigin(const wire::StoredEntry& entry, const Artifact& manifest);

  CacheStack& stack_;
  ArtifactStore artifacts_;
};

}  // namespace stoker
