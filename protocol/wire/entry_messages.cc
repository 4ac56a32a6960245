#include "protocol/wire/entry_messages.h"

#include "protocol/wire/checked_fields.h"
#include "protocol/wire/limits.h"
#include "protocol/wire/proto/proto_writer.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker::wire {
namespace {

constexpr std::size_t kMaxEntryMetadataBytes = std::size_t{1} << 20;

void Write(ProtoWriter& out, const EntryQuery& query) {
  out.Bytes(1, query.ns);
  WriteDigest(out, 2, query.key);
}

void Write(ProtoWriter& out, const StoredEntry& entry) {
  out.Bytes(1, entry.ns);
  WriteDigest(out, 2, entry.key);
  out.Bytes(3, ToValidUtf8(entry.kind));
  out.Bytes(4, ToValidUtf8(entry.label));
  out.Double(5, entry.compile_seconds);
  if (!entry.artifact.IsZero()) WriteDigest(out, 6, entry.artifact);
  for (const Digest& digest : entry.references) out.Element(7, digest.AsBytes());
  out.Bytes(8, entry.metadata);
}

void Write(ProtoWriter& out, const EntryReply& reply) {
  for (const Digest& digest : reply.missing) out.Element(1, digest.AsBytes());
}

Status Read(std::string_view name, std::string_view bytes, EntryQuery* out) {
  std::string_view key;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("entry.namespace", field, &out->ns);
      case 2:
        return field.Get("entry.key", &key);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return ToDigest("entry.key", key, &out->key);
}

Status Read(std::string_view name, std::string_view bytes, StoredEntry* out) {
  std::string_view key;
  STOKER_RETURN_IF_ERROR(ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    switch (field.number()) {
      case 1:
        return TakeNamespace("entry.namespace", field, &out->ns);
      case 2:
        return field.Get("entry.key", &key);
      case 3:
        return TakeText("entry.kind", field, kMaxNameBytes, &out->kind);
      case 4:
        return TakeText("entry.label", field, kMaxNameBytes, &out->label);
      case 5:
        return TakeSeconds("entry.compile_seconds", field, &out->compile_seconds);
      case 6:
        return TakeOptionalDigest("entry.artifact", field, &out->artifact);
      case 7:
        return AppendDigest("entry.references", field, &out->references);
      case 8:
        return TakeBytes("entry.metadata", field, kMaxEntryMetadataBytes, &out->metadata);
      default:
        return Ok();
    }
  }));
  if (out->ns.empty()) out->ns = kDefaultNamespace;
  return ToDigest("entry.key", key, &out->key);
}

Status Read(std::string_view name, std::string_view bytes, EntryReply* out) {
  return ForEachField(name, bytes, [&](const ProtoField& field) -> Status {
    if (field.number() != 1) return Ok();
    return AppendDigest("entry.missing", field, &out->missing);
  });
}

template <typename Struct>
std::string Encode(const Struct& message) {
  ProtoWriter out;
  Write(out, message);
  return std::move(out).Take();
}

}  // namespace

std::string EncodeEntryQuery(const EntryQuery& message) { return Encode(message); }
std::string EncodeStoredEntry(const StoredEntry& message) { return Encode(message); }
std::string EncodeEntryReply(const EntryReply& message) { return Encode(message); }

Result<EntryQuery> DecodeEntryQuery(std::string_view bytes) {
  return Decode<EntryQuery>("entry", bytes, Read);
}

Result<StoredEntry> DecodeStoredEntry(std::string_view bytes) {
  return Decode<StoredEntry>("entry", bytes, Read);
}

Result<EntryReply> DecodeEntryReply(std::string_view bytes) {
  return Decode<EntryReply>("entry", bytes, Read);
}

}  // namespace stoker::wire
