#include "cache/policy/pinned_action_index.h"

#include <optional>

#include "cache/rocks/database/database.h"
#include "protocol/base/bytes.h"

namespace stoker {
namespace {

constexpr std::string_view kRecordPrefix = "pin/";

std::string RecordKey(std::string_view name_space, const Digest& key) {
  std::string record(kRecordPrefix);
  record.append(name_space).push_back('\0');
  return record.append(key.AsBytes());
}

std::string RecordValue(std::int64_t unix_ns) {
  ByteWriter writer;
  writer.I64(unix_ns);
  return std::move(writer).Take();
}

struct PinRecord {
  std::string name_space;
  Digest key;
  std::int64_t unix_ns = 0;
};

Result<PinRecord> DecodePin(std::string_view record_key, std::string_view value) {
  record_key.remove_prefix(kRecordPrefix.size());
  const std::size_t separator = record_key.find('\0');
  if (separator == std::string_view::npos) return DataLoss("Pin record has no namespace.");
  PinRecord record;
  record.name_space = record_key.substr(0, separator);
  STOKER_TRY(record.key, Digest::FromBytes(record_key.substr(separator + 1)));
  ByteReader reader(value);
  STOKER_TRY(record.unix_ns, reader.I64("time"));
  return record;
}

std::string Describe(std::string_view name_space, const Digest& key) {
  return "Entry " + key.ToHex() + " of namespace '" + std::string(name_space) + "'";
}

}  // namespace

PinnedActionIndex::PinnedActionIndex(std::unique_ptr<ActionIndex> inner, QuotaActionIndex& quotas,
                                     BlobStore& blobs, std::shared_ptr<Database> database,
                                     std::uint64_t limit_bytes, UnixClock clock)
    : inner_(std::move(inner)),
      quotas_(quotas),
      blobs_(blobs),
      database_(std::move(database)),
      limit_bytes_(limit_bytes),
      clock_(std::move(clock)) {}

Status PinnedActionIndex::Load() {
  if (database_ == nullptr) return Ok();
  std::vector<PinRecord> records;
  STOKER_RETURN_IF_ERROR(database_->Scan(
      Family::kDefault, kRecordPrefix, [&](std::string_view key, std::string_view value) {
        Result<PinRecord> record = DecodePin(key, value);
        if (record.ok()) records.push_back(*std::move(record));
        if (!record.ok()) database_->Log("A pin is skipped: " + record.error().message);
        return true;
      }));
  const std::unique_lock pinning(entries_mutex_);
  for (const PinRecord& record : records) {
    const Name name(record.name_space, record.key);
    STOKER_RETURN_IF_ERROR(quotas_.Pin(record.name_space, record.key));
    const Result<ActionEntry> entry = inner_->Lookup(record.name_space, record.key);
    Keep(name, PinnedOf(name, entry.ok() ? *entry : ActionEntry(), record.unix_ns));
  }
  return Ok();
}

Status PinnedActionIndex::Rewrite() {
  if (database_ == nullptr) return Ok();
  WriteOps ops;
  for (const PinnedEntry& pin : Pins()) {
    ops.Put(Family::kDefault, RecordKey(pin.name_space, pin.key), RecordValue(pin.pinned_unix_ns));
  }
  return ops.empty() ? Ok() : database_->Write(ops, /*sync=*/true);
}

Result<ActionEntry> PinnedActionIndex::Lookup(std::string_view name_space, const Digest& key) {
  return inner_->Lookup(name_space, key);
}

Status PinnedActionIndex::Publish(std::string_view name_space, const Digest& key,
                                  const ActionEntry& entry, Durability durability) {
  const std::shared_lock changing(entries_mutex_);
  STOKER_RETURN_IF_ERROR(inner_->Publish(name_space, key, entry, durability));
  if (!IsPinned(name_space, key)) return Ok();
  // The pins of the entry that was replaced end after those of this one have begun.
  const Name name(name_space, key);
  std::int64_t since = 0;
  {
    const std::lock_guard lock(mutex_);
    since = pins_.at(name).entry.pinned_unix_ns;
  }
  Keep(name, PinnedOf(name, entry, since));
  return Ok();
}

Status PinnedActionIndex::Remove(std::string_view name_space, const Digest& key) {
  const std::shared_lock changing(entries_mutex_);
  STOKER_RETURN_IF_ERROR(inner_->Remove(name_space, key));
  std::vector<BlobPin> released;
  const std::lock_guard lock(mutex_);
  const auto pin = pins_.find({std::string(name_space), key});
  if (pin == pins_.end()) return Ok();
  bytes_ -= pin->second.entry.bytes;
  pin->second.entry.bytes = 0;
  released.swap(pin->second.blobs);
  return Ok();
}

Status PinnedActionIndex::Visit(std::string_view name_space, const Visitor& visit) {
  return inner_->Visit(name_space, visit);
}

Status PinnedActionIndex::Pin(std::string_view name_space, const Digest& key) {
  const std::unique_lock pinning(entries_mutex_);
  if (IsPinned(name_space, key)) return Ok();
  const Name name(name_space, key);
  STOKER_TRY(const ActionEntry found, inner_->Lookup(name_space, key));
  Pinned pinned = PinnedOf(name, found, clock_());
  // Again, now that nothing it names can leave.
  STOKER_RETURN_IF_ERROR(inner_->Lookup(name_space, key));
  const PinUsage used = usage();
  if (used.count >= kMaxPins) {
    return ResourceExhausted("There are " + std::to_string(used.count) +
                             " pins, as many as there may be.");
  }
  if (used.bytes + found.bytes > limit_bytes_) {
    return ResourceExhausted(Describe(name_space, key) + " has " + std::to_string(found.bytes) +
                             " bytes; " + std::to_string(used.bytes) + " bytes of at most " +
                             std::to_string(limit_bytes_) + " are pinned already.");
  }
  STOKER_RETURN_IF_ERROR(quotas_.Pin(name_space, key));
  if (database_ != nullptr) {
    WriteOps ops;
    ops.Put(Family::kDefault, RecordKey(name_space, key), RecordValue(pinned.entry.pinned_unix_ns));
    if (const Status written = database_->Write(ops, /*sync=*/true); !written.ok()) {
      quotas_.Unpin(name_space, key);
      return written;
    }
  }
  Keep(name, std::move(pinned));
  return Ok();
}

Status PinnedActionIndex::Unpin(std::string_view name_space, const Digest& key) {
  const std::unique_lock pinning(entries_mutex_);
  if (!IsPinned(name_space, key)) {
    return NotFound(Describe(name_space, key) + " is not pinned.");
  }
  if (database_ != nullptr) {
    WriteOps ops;
    ops.Delete(Family::kDefault, RecordKey(name_space, key));
    STOKER_RETURN_IF_ERROR(database_->Write(ops, /*sync=*/true));
  }
  quotas_.Unpin(name_space, key);
  const std::lock_guard lock(mutex_);
  const auto pin = pins_.find({std::string(name_space), key});
  bytes_ -= pin->second.entry.bytes;
  pins_.erase(pin);
  return Ok();
}

bool PinnedActionIndex::IsPinned(std::string_view name_space, const Digest& key) const {
  const std::lock_guard lock(mutex_);
  return !pins_.empty() && pins_.contains({std::string(name_space), key});
}

std::vector<PinnedEntry> PinnedActionIndex::Pins() const {
  const std::lock_guard lock(mutex_);
  std::vector<PinnedEntry> pins;
  for (const auto& [name, pinned] : pins_) pins.push_back(pinned.entry);
  return pins;
}

PinUsage PinnedActionIndex::usage() const {
  const std::lock_guard lock(mutex_);
  return {.count = pins_.size(), .bytes = bytes_, .limit_bytes = limit_bytes_};
}

std::vector<BlobPin> PinnedActionIndex::PinBlobs(const ActionEntry& entry) {
  std::vector<BlobPin> pins;
  if (entry.artifact.IsZero()) return pins;
  pins.emplace_back(blobs_, entry.artifact);
  for (const Digest& reference : entry.references) pins.emplace_back(blobs_, reference);
  return pins;
}

PinnedActionIndex::Pinned PinnedActionIndex::PinnedOf(const Name& name, const ActionEntry& entry,
                                                      std::int64_t pinned_unix_ns) {
  Pinned pinned;
  pinned.entry = {.name_space = name.first,
                  .key = name.second,
                  .kind = entry.kind,
                  .label = entry.label,
                  .bytes = entry.bytes,
                  .pinned_unix_ns = pinned_unix_ns};
  pinned.blobs = PinBlobs(entry);
  return pinned;
}

void PinnedActionIndex::Keep(const Name& name, Pinned pinned) {
  const std::lock_guard lock(mutex_);
  Pinned& kept = pins_[name];
  bytes_ += pinned.entry.bytes;
  bytes_ -= kept.entry.bytes;
  std::swap(kept, pinned);  // The earlier pins end with `pinned`.
}

}  // namespace stoker
