#include "client/core/warm/bundle_transfer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ranges>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "protocol/artifact/capture_envelope.h"
#include "protocol/base/host/file_descriptor.h"
#include "protocol/manifest/bundle.h"
#include "protocol/manifest/manifest.h"
#include "protocol/wire/limits.h"

namespace stoker {
namespace {

constexpr std::string_view kArtifact = "artifact";
constexpr std::string_view kCapture = "capture";

// Puts records at the end of a bundle, each name once.
class BundleWriter {
 public:
  static Result<BundleWriter> Open(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file) return Failed(path);
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      return FailedPrecondition("Another process exports into '" + path + "'.");
    }
    STOKER_TRY(const Bundle bundle, Bundle::Read(path));
    // What was torn off in the middle of a write goes; damage elsewhere is not ours to mend.
    const std::uint64_t torn = bundle.file_bytes() - bundle.end();
    if (bundle.damaged_bytes() > torn) {
      return DataLoss("'" + path + "' is damaged: remove it, and export again.");
    }
    if (torn > 0 && ftruncate(file.get(), static_cast<off_t>(bundle.end())) != 0) {
      return Failed(path);
    }
    BundleWriter writer(std::move(file), path);
    for (const Record& record : bundle.records()) {
      writer.records_.push_back({record.kind, record.name, {}});
      writer.names_.insert(record.name);
    }
    writer.sealed_ = !bundle.records().empty() && bundle.records().back().kind == kSealRecord;
    return writer;
  }

  bool Has(const Digest& name) const { return names_.contains(name); }

  // False: it is there.
  Result<bool> Add(std::uint32_t kind, std::string_view content) {
    const Digest name = Sha256Of(content);
    if (Has(name)) return false;
    STOKER_TRY(const std::string record, EncodeRecord(kBundleFormat, kind, name, content));
    if (!WriteAll(file_.get(), record)) return Failed(path_);
    records_.push_back({kind, name, {}});
    names_.insert(name);
    sealed_ = kind == kSealRecord;
    return true;
  }

  // Everything is on the disk before the seal says so.
  Status Finish() {
    if (sealed_) return Ok();
    if (fdatasync(file_.get()) != 0) return Failed(path_);
    STOKER_RETURN_IF_ERROR(Add(kSealRecord, EncodeSeal(SealOf(records_))));
    return fdatasync(file_.get()) == 0 ? Ok() : Status(Failed(path_));
  }

 private:
  BundleWriter(FileDescriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  static Error Failed(const std::string& path) {
    return Unavailable("Writing '" + path + "' fails: " + std::strerror(errno) + ".");
  }

  FileDescriptor file_;
  std::string path_;
  std::vector<Record> records_;  // Without their payloads.
  std::unordered_set<Digest, DigestHash> names_;
  bool sealed_ = false;
};

// Of one entry after the other.
class Export {
 public:
  Export(DaemonClient& daemon, BundleWriter& bundle, std::string compiler_epoch)
      : daemon_(daemon), bundle_(bundle), compiler_epoch_(std::move(compiler_epoch)) {}

  // What is damaged is left out, and Finish says so.
  Status Take(const wire::ListEntry& listed) {
    ++entries_;
    Status taken = TryTake(listed);
    // A daemon that finds something of an entry lost forgets the entry, and says so when it is
    // asked again.
    if (IsDamage(taken)) taken = TryTake(listed);
    if (taken.ok()) return Ok();
    if (taken.error().code == ErrorCode::kNotFound) {  // Evicted since it was listed.
      ++counts_.skipped;
      return Ok();
    }
    const Error error = taken.error().WithContext(listed.kind + " " + listed.key.ToHex() +
                                                  " of namespace '" + listed.ns + "'");
    if (!IsDamage(taken)) return error;
    if (damaged_++ < kMaxNamed) names_ += "\n  " + error.message;
    return Ok();
  }

  Status Finish(const std::string& path) {
    if (foreign_ == entries_) {  // An image would be baked with nothing in it.
      return NotFound("All " + std::to_string(entries_) + " entries are of another compiler than " +
                      compiler_epoch_ +
                      ", the daemon's: there is nothing to export. 'stoker warm "
                      "--hot' has them compiled anew.");
    }
    if (damaged_ == 0) return bundle_.Finish();
    if (damaged_ > kMaxNamed) names_ += "\n  and others";
    return DataLoss("'" + path + "' is not complete, " + std::to_string(damaged_) + " of " +
                    std::to_string(entries_) + " entries came damaged:" + names_);
  }

  const TransferCounts& counts() const { return counts_; }

 private:
  static constexpr std::size_t kMaxNamed = 10;

  static bool IsDamage(const Status& status) {
    return !status.ok() && status.error().code == ErrorCode::kDataLoss;
  }

  Status TryTake(const wire::ListEntry& listed) {
    STOKER_TRY(const Digest key, IndexKeyOf(listed));
    STOKER_TRY(wire::StoredEntry entry, daemon_.GetEntry({listed.ns, key}));
    if (entry.ns != listed.ns || entry.key != key || entry.kind != listed.kind) {
      return DataLoss("The daemon answers with " + entry.kind + " " + entry.key.ToHex() +
                      " of namespace '" + entry.ns + "'.");
    }
    return entry.kind == kArtifact ? TakeArtifact(std::move(entry))
                                   : TakeCaptures(std::move(entry));
  }

  static Result<Digest> IndexKeyOf(const wire::ListEntry& listed) {
    if (listed.kind == kArtifact) return listed.key;
    STOKER_TRY(const PublicKey writer, PublicKey::Parse(listed.writer));
    return CaptureListKey(listed.key, writer);
  }

  Status TakeArtifact(wire::StoredEntry entry) {
    // Without metadata: a request that is too large for the index, which no daemon could take.
    const auto call = wire::DecodeCompileCall(entry.metadata);
    if (!call.ok() && !entry.metadata.empty()) return DataLoss(call.error().message);
    if (entry.metadata.empty() || call->compiler_epoch != compiler_epoch_) {
      ++counts_.skipped;
      if (call.ok()) ++foreign_;
      return Ok();
    }
    const std::string content = wire::EncodeStoredEntry(entry);
    if (bundle_.Has(Sha256Of(content))) {
      ++counts_.there_already;
      return Ok();
    }
    std::vector<Digest> blobs = entry.references;
    blobs.push_back(entry.artifact);
    for (const Digest& digest : blobs) {
      if (bundle_.Has(digest)) continue;
      STOKER_TRY(const std::string bytes, daemon_.GetBlob(digest));
      STOKER_RETURN_IF_ERROR(bundle_.Add(kBlobRecord, bytes));
      counts_.bytes += bytes.size();
    }
    STOKER_RETURN_IF_ERROR(bundle_.Add(kEntryRecord, content));
    ++counts_.artifacts;
    return Ok();
  }

  // Oldest first: in that order they are put.
  Status TakeCaptures(wire::StoredEntry entry) {
    wire::CapturePut put;
    auto query = wire::DecodeCaptureQuery(entry.metadata);
    if (!query.ok()) return DataLoss(query.error().message);
    const auto is_of_another = [&](const KeyField& field) {
      return field.tag == kCompilerTag && field.text != compiler_epoch_;
    };
    if (std::ranges::any_of(query->fields, is_of_another)) {
      ++counts_.skipped;
      ++foreign_;
      return Ok();
    }
    put.key = *std::move(query);
    put.key.ns = entry.ns;
    put.label = entry.label;
    for (const Digest& digest : std::views::reverse(entry.references)) {
      auto capture = daemon_.GetBlob(digest);
      if (!capture.ok() && capture.error().code == ErrorCode::kNotFound) {
        ++counts_.skipped;
        continue;
      }
      STOKER_TRY(put.capture, std::move(capture));
      STOKER_TRY(const bool is_new, bundle_.Add(kCaptureRecord, CaptureContentOf(put)));
      ++(is_new ? counts_.captures : counts_.there_already);
      if (is_new) counts_.bytes += put.capture.size();
    }
    return Ok();
  }

  DaemonClient& daemon_;
  BundleWriter& bundle_;
  const std::string compiler_epoch_;
  TransferCounts counts_;
  std::size_t entries_ = 0;
  std::size_t foreign_ = 0;  // Of another compiler.
  std::size_t damaged_ = 0;
  std::string names_;  // Of those, with what is wrong with them.
};

class Import {
 public:
  Import(DaemonClient& daemon, const Bundle& bundle) : daemon_(daemon) {
    for (const Record& record : bundle.records()) {
      if (record.kind == kBlobRecord) blobs_.emplace(record.name, &record);
    }
  }

  Status PutArtifact(const Record& record) {
    STOKER_TRY(const std::string content, UnpackRecord(record));
    STOKER_TRY(const wire::StoredEntry entry, wire::DecodeStoredEntry(content));
    wire::LookupRequest probe;
    probe.ns = entry.ns;
    probe.request_key = entry.key;
    probe.probe = true;
    STOKER_TRY(const auto answer, daemon_.Lookup(probe));
    if (std::holds_alternative<wire::Bundle>(answer)) {
      ++counts_.there_already;
      return Ok();
    }
    // What an artifact names is known once the artifact is there.
    for (int round = 0; round < kMaxRounds; ++round) {
      STOKER_TRY(const wire::EntryReply reply, daemon_.PutEntry(entry));
      if (reply.missing.empty()) {
        ++counts_.artifacts;
        return Ok();
      }
      for (const Digest& digest : reply.missing) STOKER_RETURN_IF_ERROR(PutBlob(digest));
    }
    return ResourceExhausted("The daemon's cache has no room for artifact " +
                             entry.artifact.ToHex() + " with all that it needs.");
  }

  Status PutCapture(const Record& record) {
    STOKER_TRY(const std::string content, UnpackRecord(record));
    STOKER_TRY(const wire::CapturePut put, wire::DecodeCapturePut(content));
    STOKER_TRY(const bool is_there, daemon_.HasCapture(put));
    if (is_there) {
      ++counts_.there_already;
      return Ok();
    }
    STOKER_RETURN_IF_ERROR(daemon_.PutCapture(put));
    ++counts_.captures;
    counts_.bytes += put.capture.size();
    return Ok();
  }

  const TransferCounts& counts() const { return counts_; }

 private:
  static constexpr int kMaxRounds = 4;  // Blobs may be evicted while others come.

  Status PutBlob(const Digest& digest) {
    const auto it = blobs_.find(digest);
    if (it == blobs_.end()) {
      return DataLoss("The bundle has no blob " + digest.ToHex() + ", which an artifact needs.");
    }
    STOKER_TRY(const std::string bytes, UnpackRecord(*it->second));
    counts_.bytes += bytes.size();
    return daemon_.PutBlob(digest, bytes);
  }

  DaemonClient& daemon_;
  std::unordered_map<Digest, const Record*, DigestHash> blobs_;
  TransferCounts counts_;
};

}  // namespace

Result<TransferCounts> ExportBundle(DaemonClient& daemon, const std::string& name_space,
                                    const std::string& path, const OnTransfer& on_transfer) {
  STOKER_TRY(const wire::Hello hello, daemon.Hello());
  std::vector<wire::ListEntry> entries;
  for (const std::string_view kind : {kArtifact, kCapture}) {
    wire::ListRequest request;
    request.ns = name_space;
    request.kind = kind;
    STOKER_TRY(wire::ListReply reply, daemon.List(request));
    if (reply.entries.size() >= wire::kMaxListEntries) {
      return ResourceExhausted("The daemon lists " + std::to_string(reply.entries.size()) +
                               " entries, the limit, and may have more: export each namespace into "
                               "a bundle of its own.");
    }
    std::ranges::move(reply.entries, std::back_inserter(entries));
  }
  // An empty answer is an empty list, wherever it comes from: no bundle vouches for that.
  if (entries.empty()) {
    return NotFound("The daemon lists no artifacts and no captures" +
                    (name_space.empty() ? "" : " in namespace '" + name_space + "'") +
                    ": there is nothing to export.");
  }
  STOKER_TRY(BundleWriter bundle, BundleWriter::Open(path));
  Export transfer(daemon, bundle, hello.compiler_epoch);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    STOKER_RETURN_IF_ERROR(transfer.Take(entries[i]));
    on_transfer(i + 1, entries.size());
  }
  STOKER_RETURN_IF_ERROR(transfer.Finish(path));
  return transfer.counts();
}

Result<TransferCounts> ImportBundle(DaemonClient& daemon, const std::string& path,
                                    const OnTransfer& on_transfer) {
  STOKER_TRY(const Bundle bundle, Bundle::Read(path));
  if (const auto seal = bundle.CheckedSeal(); !seal.ok()) return seal.error().WithContext(path);
  Import transfer(daemon, bundle);
  std::vector<const Record*> entries;
  // Captures behind the artifacts that they start.
  for (const std::uint32_t kind : {kEntryRecord, kCaptureRecord}) {
    for (const Record& record : bundle.records()) {
      if (record.kind == kind) entries.push_back(&record);
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Record& record = *entries[i];
    STOKER_RETURN_IF_ERROR(record.kind == kEntryRecord ? transfer.PutArtifact(record)
                                                       : transfer.PutCapture(record));
    on_transfer(i + 1, entries.size());
  }
  return transfer.counts();
}

}  // namespace stoker
