// The messages of /v1/entries/..., by which entries of the index go from one daemon to another, as
// plain structs; messages.h says what encoding and decoding do. Blobs travel on their own (/cas/).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/wire/messages.h"

namespace stoker::wire {

// POST /v1/entries/get -> 200 StoredEntry
struct EntryQuery {
  std::string ns{kDefaultNamespace};
  Digest key;
};

// POST /v1/entries/put -> 200 EntryReply
struct StoredEntry {
  std::string ns{kDefaultNamespace};
  Digest key;
  std::string kind;  // artifact, capture
  std::string label;
  double compile_seconds = 0.0;
  Digest artifact;                 // Of an artifact's entry: the manifest.
  std::vector<Digest> references;  // Every further blob; of captures: these, most recent first.
  std::string metadata;            // EncodeCompileCall without the graph, or EncodeCaptureQuery.
};

struct EntryReply {
  std::vector<Digest> missing;  // Blobs to store first; none: the entry is stored.
};

std::string EncodeEntryQuery(const EntryQuery& message);
std::string EncodeStoredEntry(const StoredEntry& message);
std::string EncodeEntryReply(const EntryReply& message);

Result<EntryQuery> DecodeEntryQuery(std::string_view bytes);
Result<StoredEntry> DecodeStoredEntry(std::string_view bytes);
Result<EntryReply> DecodeEntryReply(std::string_view bytes);

}  // namespace stoker::wire
