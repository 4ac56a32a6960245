#include "cache/rocks/rocks_records.h"

#include "protocol/base/bytes.h"

namespace stoker {
namespace {

constexpr std::uint64_t kMaxReasonBytes = 64 * 1024;
constexpr std::uint64_t kMaxContentBytes = 1 << 20;

Result<BlobKind> ReadKind(ByteReader& reader) {
  STOKER_TRY(const std::uint8_t number, reader.U8("kind"));
  return BlobKindFromNumber(number);
}

Result<Digest> ReadDigest(ByteReader& reader, std::string_view field) {
  STOKER_TRY(const std::string_view bytes, reader.Raw(field, Digest::kSize));
  return Digest::FromBytes(bytes);
}

Result<BlobEntry> ReadAccess(std::string_view key, std::string_view value) {
  BlobEntry entry;
  STOKER_TRY(entry.digest, Digest::FromBytes(key));
  ByteReader reader(value);
  STOKER_TRY(entry.kind, ReadKind(reader));
  STOKER_TRY(entry.bytes, reader.U64("bytes"));
  STOKER_TRY(entry.accessed_unix_ns, reader.I64("accessed"));
  STOKER_RETURN_IF_ERROR(reader.ExpectEnd());
  return entry;
}

Result<QuarantineRecord> ReadQuarantine(std::string_view value) {
  QuarantineRecord record;
  ByteReader reader(value);
  STOKER_TRY(record.unix_ns, reader.I64("time"));
  STOKER_TRY(record.kind, ReadKind(reader));
  STOKER_TRY(record.bytes, reader.U64("bytes"));
  STOKER_TRY(record.reason, reader.Bytes("reason", kMaxReasonBytes));
  STOKER_TRY(record.content, reader.Bytes("content", kMaxContentBytes));
  STOKER_RETURN_IF_ERROR(reader.ExpectEnd());
  return record;
}

Result<ActionEntry> ReadAction(std::string_view value) {
  ActionEntry entry;
  ByteReader reader(value);
  STOKER_TRY(entry.artifact, ReadDigest(reader, "artifact"));
  STOKER_TRY(entry.kind, ReadKind(reader));
  STOKER_TRY(entry.bytes, reader.U64("bytes"));
  STOKER_TRY(entry.compile_seconds, reader.F64("compile seconds"));
  STOKER_TRY(entry.published_unix_ns, reader.I64("published"));
  STOKER_TRY(entry.label, reader.Bytes("label", kMaxLabelBytes));
  STOKER_TRY(entry.metadata, reader.Bytes("metadata", kMaxMetadataBytes));
  STOKER_TRY(const std::uint64_t count, reader.Count("references", Digest::kSize));
  entry.references.resize(count);
  for (Digest& reference : entry.references) {
    STOKER_TRY(reference, ReadDigest(reader, "reference"));
  }
  STOKER_RETURN_IF_ERROR(reader.ExpectEnd());
  STOKER_RETURN_IF_ERROR(CheckActionEntry(entry));
  return entry;
}

// Whatever the reader objects to, for a stored record it means damage.
template <typename T>
Result<T> AsDamage(Result<T> result, std::string_view what) {
  if (result.ok()) return result;
  return DataLoss(std::string(what) + " is damaged: " + result.error().message);
}

}  // namespace

std::string EncodeAccess(const BlobEntry& entry) {
  ByteWriter writer;
  writer.U8(static_cast<std::uint8_t>(entry.kind));
  writer.U64(entry.bytes);
  writer.I64(entry.accessed_unix_ns);
  return std::move(writer).Take();
}

Result<BlobEntry> DecodeAccess(std::string_view key, std::string_view value) {
  return AsDamage(ReadAccess(key, value), "Access record");
}

std::string EncodeQuarantine(const QuarantineRecord& record) {
  ByteWriter writer;
  writer.I64(record.unix_ns);
  writer.U8(static_cast<std::uint8_t>(record.kind));
  writer.U64(record.bytes);
  writer.Bytes(std::string_view(record.reason).substr(0, kMaxReasonBytes));
  writer.Bytes(std::string_view(record.content).substr(0, kMaxContentBytes));
  return std::move(writer).Take();
}

Result<QuarantineRecord> DecodeQuarantine(std::string_view value) {
  return AsDamage(ReadQuarantine(value), "Quarantine record");
}

std::string EncodeAction(const ActionEntry& entry) {
  ByteWriter writer;
  writer.Raw(entry.artifact.AsBytes());
  writer.U8(static_cast<std::uint8_t>(entry.kind));
  writer.U64(entry.bytes);
  writer.F64(entry.compile_seconds);
  writer.I64(entry.published_unix_ns);
  writer.Bytes(entry.label);
  writer.Bytes(entry.metadata);
  writer.U64(entry.references.size());
  for (const Digest& reference : entry.references) writer.Raw(reference.AsBytes());
  return std::move(writer).Take();
}

Result<ActionEntry> DecodeAction(std::string_view value) {
  return AsDamage(ReadAction(value), "Action entry");
}

}  // namespace stoker
