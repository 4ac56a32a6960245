#include "daemon/service/store/capture_store.h"

#include <algorithm>

#include "protocol/artifact/capture_envelope.h"
#include "protocol/base/signature/public_key_list.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

constexpr std::string_view kListMagic = "stokcaps";
constexpr std::string_view kWritersMagic = "stokwrit";
// Entries that a miss is compared with at most.
constexpr int kMaxExplainedEntries = 512;

// Whose captures of which key, with the key's fields, so that a later miss can be compared. Beyond
// the index's limit: without these.
std::string MetadataOf(wire::CaptureQuery key, std::vector<PublicKey> writers) {
  key.writers = std::move(writers);
  std::string metadata = wire::EncodeCaptureQuery(key);
  if (metadata.size() <= kMaxMetadataBytes) return metadata;
  key.fields.clear();
  return wire::EncodeCaptureQuery(key);
}

bool Holds(const std::vector<PublicKey>& keys, const PublicKey& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

Result<ActionEntry> CaptureStore::Entry(std::string_view ns, const Digest& index_key) {
  STOKER_TRY(ActionEntry entry, stack_.actions().Lookup(ns, index_key));
  if (entry.kind == BlobKind::kCapture) return entry;
  return NotFound("Key " + index_key.ToHex() + " names no captures.");
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
  wire::CaptureList list;
  bool is_lost = false;
  for (const PublicKey& writer : query.writers) {
    const auto entry = Entry(query.ns, CaptureListKey(query.capture_key, writer));
    if (!entry.ok() && entry.error().code == ErrorCode::kNotFound) continue;
    is_lost = true;  // Unless one is found after all.
    if (!entry.ok() && entry.error().code == ErrorCode::kDataLoss) continue;
    if (!entry.ok()) return entry.error();
    STOKER_TRY(const std::vector<Digest> digests, DigestsOf(*entry));
    for (const Digest& digest : digests) {
      if (list.captures.size() == wire::kMaxCapturesPerKey) break;
      const auto blob = stack_.blobs().Get(digest);
      if (blob.ok()) list.captures.push_back({digest, std::string(blob->bytes())});
    }
  }
  if (!list.captures.empty()) return list;
  const std::string key = query.capture_key.ToHex();
  if (!is_lost) return NotFound("No capture of these writers is under key " + key + ".");
  return DataLoss("Every capture under key " + key + " is damaged or was evicted.");
}

Status CaptureStore::Publish(std::string_view ns, const Digest& index_key,
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
  return stack_.actions().Publish(ns, index_key, entry, Durability::kSynced);
}

// A key that names an artifact is a request's.
Status CaptureStore::CheckIsFree(std::string_view ns, const Digest& capture_key) {
  const auto there = stack_.actions().Lookup(ns, capture_key);
  if (!there.ok() || there->kind == BlobKind::kCapture) return Ok();
  return FailedPrecondition("Field 'capture.key' is " + capture_key.ToHex() +
                            ", which names something of kind '" +
                            std::string(BlobKindName(there->kind)) + "'.");
}

// Nobody where nothing is known. DataLoss: what is there was stored before captures were signed.
Result<std::vector<PublicKey>> CaptureStore::WritersOf(std::string_view ns,
                                                       const Digest& capture_key) {
  std::vector<PublicKey> writers;
  const auto entry = Entry(ns, capture_key);
  if (!entry.ok()) return writers;
  const auto blob = stack_.blobs().Get(entry->artifact);
  if (!blob.ok()) return writers;
  std::string_view bytes = blob->bytes();
  if (!bytes.starts_with(kWritersMagic)) {
    return DataLoss("the captures under this key are not signed: an earlier version stored them");
  }
  bytes.remove_prefix(kWritersMagic.size());
  for (; bytes.size() >= PublicKey::kSize; bytes.remove_prefix(PublicKey::kSize)) {
    STOKER_TRY(writers.emplace_back(), PublicKey::FromBytes(bytes.substr(0, PublicKey::kSize)));
  }
  return writers;
}

std::vector<Digest> CaptureStore::ListKeys(std::string_view ns, const Digest& capture_key) {
  std::vector<Digest> keys;
  const auto writers = WritersOf(ns, capture_key);
  if (!writers.ok()) return keys;
  for (const PublicKey& writer : *writers) {
    const Digest key = CaptureListKey(capture_key, writer);
    if (Entry(ns, key).ok()) keys.push_back(key);
  }
  return keys;
}

Status CaptureStore::NameWriter(const wire::CapturePut& put, const PublicKey& writer) {
  const wire::CaptureQuery& key = put.key;
  const auto known = WritersOf(key.ns, key.capture_key);
  if (known.ok() && Holds(*known, writer)) return Ok();
  std::string bytes(kWritersMagic);
  bytes += writer.AsBytes();
  std::size_t count = 1;
  for (const PublicKey& other : known.ok() ? *known : std::vector<PublicKey>()) {
    if (count++ < kMaxNamedWriters) bytes += other.AsBytes();
  }
  const NamedBlob writers = NamedBlob::Of(Blob(std::move(bytes), BlobKind::kCapture));
  const BlobPin pin(stack_.blobs(), writers.digest());
  STOKER_RETURN_IF_ERROR(stack_.blobs().Put(writers));
  ActionEntry entry;
  entry.artifact = writers.digest();
  entry.kind = BlobKind::kCapture;
  entry.bytes = writers.blob().size();
  entry.label = put.label;
  entry.metadata = MetadataOf(key, {});
  entry.published_unix_ns = SystemUnixNanos();
  return stack_.actions().Publish(key.ns, key.capture_key, entry, Durability::kBuffered);
}

Status CaptureStore::Put(const wire::CapturePut& put) {
  const auto opened = OpenCapture(put.capture);
  if (!opened.ok()) {
    return InvalidArgument("Field 'capture.capture': " + opened.error().message);
  }
  if (!IsSignedFor(put.key.capture_key, *opened)) {
    return InvalidArgument("Field 'capture.capture' is not signed by its writer " +
                           opened->writer.ToString() + " for key " + put.key.capture_key.ToHex() +
                           ".");
  }
  const NamedBlob capture = NamedBlob::Of(Blob(put.capture, BlobKind::kCapture));
  const Digest index_key = CaptureListKey(put.key.capture_key, opened->writer);
  const std::lock_guard lock(mutex_);
  STOKER_RETURN_IF_ERROR(CheckIsFree(put.key.ns, put.key.capture_key));
  const BlobPin pin(stack_.blobs(), capture.digest());  // Until the entry names it.
  STOKER_RETURN_IF_ERROR(stack_.blobs().Put(capture));
  std::vector<Digest> captures = {capture.digest()};
  ActionEntry entry;
  entry.bytes = put.capture.size();
  if (const auto earlier = Entry(put.key.ns, index_key); earlier.ok()) {
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
  entry.metadata = MetadataOf(put.key, {opened->writer});
  STOKER_RETURN_IF_ERROR(NameWriter(put, opened->writer));
  return Publish(put.key.ns, index_key, captures, std::move(entry));
}

Status CaptureStore::Drop(const wire::CaptureDrop& drop) {
  const std::lock_guard lock(mutex_);
  for (const PublicKey& writer : drop.writers) {
    const Digest index_key = CaptureListKey(drop.capture_key, writer);
    auto entry = Entry(drop.ns, index_key);
    if (!entry.ok()) continue;
    STOKER_TRY(std::vector<Digest> captures, DigestsOf(*entry));
    if (std::erase(captures, drop.capture) == 0) continue;
    const bool is_own =
        writer == drop.writers.front() &&
        Verify(writer, CaptureDropText(drop.ns, drop.capture_key, drop.capture), drop.signature);
    const auto damaged = IsDamaged(drop.capture);
    if (!is_own && !(damaged.ok() && *damaged)) {
      return FailedPrecondition("Capture " + drop.capture.ToHex() + " is whole, and " +
                                writer.ToString() + " wrote it, who alone may drop it.");
    }
    // The entry first: it is a miss as soon as a blob that it names is gone.
    if (captures.empty()) {
      STOKER_RETURN_IF_ERROR(stack_.actions().Remove(drop.ns, index_key));
    } else {
      STOKER_RETURN_IF_ERROR(Publish(drop.ns, index_key, captures, *std::move(entry)));
    }
    if (!damaged.ok()) return damaged.error();
    if (!*damaged) return Ok();
    // The store may have seen the damage itself.
    const Status gone = stack_.blobs().Quarantine(drop.capture, "A client refused this capture.");
    return gone.ok() || gone.error().code == ErrorCode::kNotFound ? Ok() : gone;
  }
  return NotFound("Capture " + drop.capture.ToHex() + " is not under key " +
                  drop.capture_key.ToHex() + ".");
}

// Who else names a blob cannot be asked: other daemons share a tier. What nobody names is evicted
// in its turn.
Result<bool> CaptureStore::IsDamaged(const Digest& capture) {
  const auto blob = stack_.blobs().Get(capture);
  if (blob.ok()) return !NamedBlob::Verify(capture, *blob).ok();
  if (blob.error().code == ErrorCode::kNotFound) return true;
  return blob.error();
}

wire::Miss CaptureStore::ExplainMiss(const wire::CaptureQuery& query) {
  wire::Miss miss;
  const auto writers = WritersOf(query.ns, query.capture_key);
  if (!writers.ok()) {
    miss.untrusted_writers = 1;
    miss.reason = writers.error().message;
    return miss;
  }
  std::vector<PublicKey> others;
  for (const PublicKey& writer : *writers) {
    if (!Holds(query.writers, writer)) others.push_back(writer);
  }
  miss.untrusted_writers = static_cast<std::uint32_t>(others.size());
  miss.reason = others.empty() ? NearestKey(query)
                               : "the captures under this key are by " + ListOf(others) +
                                     ", whom this client does not trust (STOKER_TRUSTED_WRITERS)";
  return miss;
}

std::string CaptureStore::NearestKey(const wire::CaptureQuery& query) {
  std::size_t fewest = query.fields.size() + 1;
  std::string nearest = "no capture is stored in namespace '" + query.ns + "'";
  int visited = 0;
  const Status status = stack_.actions().Visit(
      query.ns, [&](std::string_view, const Digest&, const ActionEntry& entry) {
        if (entry.kind != BlobKind::kCapture) return true;
        const auto other = wire::DecodeCaptureQuery(entry.metadata);
        if (!other.ok() || other->fields.empty() || other->writers.empty()) return true;
        const auto differences = DifferencesOf(other->fields, query.fields);
        if (!differences.empty() && differences.size() < fewest) {
          const KeyField& first = *differences.front();
          const KeyField* theirs = FindField(other->fields, first.tag);
          fewest = differences.size();
          nearest = first.tag + " is new: the nearest capture key " +
                    other->capture_key.ToHex().substr(0, kShownKeyDigits) + " has " +
                    (theirs == nullptr ? "nothing" : theirs->text) + ", this one " + first.text;
        }
        return ++visited < kMaxExplainedEntries;
      });
  return status.ok() ? nearest : status.error().message;
}

}  // namespace stoker
