#include "daemon/service/capture_store.h"

#include <algorithm>

#include "protocol/artifact/capture_envelope.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

constexpr std::string_view kListMagic = "stokcaps";
constexpr std::size_t kShownKeyDigits = 16;
// Entries that a miss is compared with at most.
constexpr int kMaxExplainedEntries = 512;

// The key's fields, so that a later miss can be compared. Beyond the index's limit: none.
std::string MetadataOf(const wire::CaptureQuery& key) {
  std::string metadata = wire::EncodeCaptureQuery(key);
  return metadata.size() <= kMaxMetadataBytes ? metadata : std::string();
}

std::string TextOf(const std::vector<KeyField>& fields, std::string_view tag) {
  for (const KeyField& field : fields) {
    if (field.tag == tag) return field.text;
  }
  return "nothing";
}

// The fields of `to` that `from` has otherwise or not at all.
std::vector<const KeyField*> DifferencesOf(const std::vector<KeyField>& from,
                                           const std::vector<KeyField>& to) {
  std::vector<const KeyField*> differences;
  for (const KeyField& field : to) {
    const bool same = std::any_of(from.begin(), from.end(), [&](const KeyField& other) {
      return other.tag == field.tag && other.digest == field.digest;
    });
    if (!same) differences.push_back(&field);
  }
  return differences;
}

}  // namespace

Result<ActionEntry> CaptureStore::Entry(std::string_view ns, const Digest& key) {
  STOKER_TRY(ActionEntry entry, stack_.actions().Lookup(ns, key));
  if (entry.kind == BlobKind::kCapture) return entry;
  return NotFound("Key " + key.ToHex() + " names no captures.");
}

Result<std::vector<Digest>> CaptureStore::DigestsOf(const ActionEntry& entry) {
  STOKER_TRY(const Blob list, stack_.blobs().Get(entry.artifact));
  std::string_view bytes = list.bytes();
  if (!bytes.starts_with(kListMagic) || (bytes.size() - kListMagic.size()) % Digest::kSize != 0) {
    return DataLoss("List " + entry.artifact.ToHex() + " is no list of captures.");
  }
  std::vector<Digest> digests;
  for (bytes.remove_prefix(kListMagic.size()); !bytes.empty(); bytes.remove_prefix(Digest::kSize)) {
    STOKER_TRY(digests.emplace_back(), Digest::FromBytes(bytes.substr(0, Digest::kSize)));
  }
  return digests;
}

Result<wire::CaptureList> CaptureStore::Find(const wire::CaptureQuery& query) {
  STOKER_TRY(const ActionEntry entry, Entry(query.ns, query.capture_key));
  STOKER_TRY(const std::vector<Digest> digests, DigestsOf(entry));
  wire::CaptureList list;
  for (const Digest& digest : digests) {
    const auto blob = stack_.blobs().Get(digest);
    if (blob.ok()) list.captures.push_back({digest, std::string(blob->bytes())});
  }
  if (list.captures.empty()) {
    return DataLoss("Every capture under key " + query.capture_key.ToHex() +
                    " is damaged or was evicted.");
  }
  return list;
}

Status CaptureStore::Publish(std::string_view ns, const Digest& key,
                             const std::vector<Digest>& captures, ActionEntry entry) {
  std::string bytes(kListMagic);
  for (const Digest& digest : captures) bytes += digest.AsBytes();
  const NamedBlob list = NamedBlob::Of(Blob(std::move(bytes), BlobKind::kCapture));
  const BlobPin pin(stack_.blobs(), list.digest());
  STOKER_RETURN_IF_ERROR(stack_.blobs().Put(list));
  entry.artifact = list.digest();
  entry.kind = BlobKind::kCapture;
  entry.references = captures;
  entry.published_unix_ns = SystemUnixNanos();
  return stack_.actions().Publish(ns, key, entry, Durability::kSynced);
}

Status CaptureStore::Put(const wire::CapturePut& put) {
  if (auto opened = OpenCapture(put.capture); !opened.ok()) {
    return InvalidArgument("Field 'capture.capture': " + opened.error().message);
  }
  const NamedBlob capture = NamedBlob::Of(Blob(put.capture, BlobKind::kCapture));
  const std::lock_guard lock(mutex_);
  if (const auto there = stack_.actions().Lookup(put.key.ns, put.key.capture_key);
      there.ok() && there->kind != BlobKind::kCapture) {
    return FailedPrecondition("Field 'capture.key' is " + put.key.capture_key.ToHex() +
                              ", which names something of kind '" +
                              std::string(BlobKindName(there->kind)) + "'.");
  }
  const BlobPin pin(stack_.blobs(), capture.digest());  // Until the entry names it.
  STOKER_RETURN_IF_ERROR(stack_.blobs().Put(capture));
  std::vector<Digest> captures = {capture.digest()};
  ActionEntry entry;
  entry.bytes = put.capture.size();
  if (const auto earlier = Entry(put.key.ns, put.key.capture_key); earlier.ok()) {
    if (const auto digests = DigestsOf(*earlier); digests.ok()) {
      for (const Digest& digest : *digests) {
        if (digest == capture.digest() || captures.size() == wire::kMaxCapturesPerKey) continue;
        const auto blob = stack_.blobs().Get(digest);
        if (!blob.ok()) continue;
        captures.push_back(digest);
        entry.bytes += blob->size();
      }
    }
  }
  entry.label = put.label;
  entry.metadata = MetadataOf(put.key);
  return Publish(put.key.ns, put.key.capture_key, captures, std::move(entry));
}

Status CaptureStore::Drop(const wire::CaptureDrop& drop) {
  const std::lock_guard lock(mutex_);
  STOKER_TRY(ActionEntry entry, Entry(drop.ns, drop.capture_key));
  STOKER_TRY(std::vector<Digest> captures, DigestsOf(entry));
  if (std::erase(captures, drop.capture) == 0) {
    return NotFound("Capture " + drop.capture.ToHex() + " is not under key " +
                    drop.capture_key.ToHex() + ".");
  }
  // The entry first: it is a miss as soon as a blob that it names is gone.
  if (captures.empty()) {
    STOKER_RETURN_IF_ERROR(stack_.actions().Remove(drop.ns, drop.capture_key));
  } else {
    STOKER_RETURN_IF_ERROR(Publish(drop.ns, drop.capture_key, captures, std::move(entry)));
  }
  return QuarantineIfDamaged(drop.capture);
}

// Who else names a blob cannot be asked: other daemons share a tier. What nobody names is evicted
// in its turn.
Status CaptureStore::QuarantineIfDamaged(const Digest& capture) {
  const auto blob = stack_.blobs().Get(capture);
  if (!blob.ok()) {
    // Gone: the store itself saw the damage, or evicted it.
    return blob.error().code == ErrorCode::kNotFound ? Ok() : Status(blob.error());
  }
  const auto whole = NamedBlob::Verify(capture, *blob);
  if (whole.ok()) return Ok();
  return stack_.blobs().Quarantine(capture,
                                   "A client refused this capture: " + whole.error().message);
}

MissReason CaptureStore::ExplainMiss(const wire::CaptureQuery& query) {
  std::size_t fewest = query.fields.size() + 1;
  MissReason nearest{"no captures", "no capture is stored in namespace '" + query.ns + "'"};
  int visited = 0;
  const Status status = stack_.actions().Visit(
      query.ns, [&](std::string_view, const Digest& key, const ActionEntry& entry) {
        if (entry.kind != BlobKind::kCapture) return true;
        const auto other = wire::DecodeCaptureQuery(entry.metadata);
        if (!other.ok()) return true;
        const auto differences = DifferencesOf(other->fields, query.fields);
        if (!differences.empty() && differences.size() < fewest) {
          const KeyField& first = *differences.front();
          fewest = differences.size();
          nearest.name = first.tag + " is new";
          nearest.text = first.tag + " is new: the nearest capture key " +
                         key.ToHex().substr(0, kShownKeyDigits) + " has " +
                         TextOf(other->fields, first.tag) + ", this one " + first.text;
        }
        return ++visited < kMaxExplainedEntries;
      });
  if (!status.ok()) return {"no captures", status.error().message};
  return nearest;
}

}  // namespace stoker
