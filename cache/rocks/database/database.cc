#include "cache/rocks/database/database.h"

#include <rocksdb/file_system.h>
#include <rocksdb/listener.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include "cache/rocks/database/options.h"
#include "cache/rocks/database/status.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr char kFormatKey[] = "format";
constexpr char kFormatMagic[] = "stoker-cache";
constexpr std::array<const char*, kFamilyCount> kFamilyNames = {
    "blobs", "access", "actions", "counters", "quarantine", "default"};

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// So many records are read before their visitor is called.
constexpr std::size_t kScanChunk = 256;

rocksdb::Status Closed() { return rocksdb::Status::IOError("the database could not be reopened"); }

}  // namespace

// Damage met by a flush or compaction stops RocksDB's writes for good. The marker makes the next
// start begin with an empty database instead of running into the same block again.
class Database::DamageListener : public rocksdb::EventListener {
 public:
  explicit DamageListener(const Database& database) : database_(database) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/,
                         rocksdb::Status* status) override {
    database_.Log("Cache background work failed: " + status->ToString());
    if (!IsDamage(*status)) return;
    std::ofstream(database_.DamageMarker()) << status->ToString() << '\n';
  }

 private:
  const Database& database_;
};

Database::Database(DatabaseConfig config) : config_(std::move(config)) {
  if (config_.steady_nanos) return;
  config_.steady_nanos = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
}

Result<std::shared_ptr<Database>> Database::Open(DatabaseConfig config) {
  auto database = std::shared_ptr<Database>(new Database(std::move(config)));
  STOKER_RETURN_IF_ERROR(database->OpenEnvironment());
  STOKER_RETURN_IF_ERROR(database->OpenOrMoveAside());
  STOKER_RETURN_IF_ERROR(database->CheckFormat());
  Database* const raw = database.get();
  raw->reclaimer_ = std::make_unique<SpaceReclaimer>(
      raw->config_.reclaim_bytes, [raw](std::atomic<bool>& canceled) {
        const Status compacted = raw->Compact(canceled);
        if (raw->compaction_trouble_.IsNew(compacted) && !canceled) {
          raw->Log(compacted.error().message);
        }
        return compacted.ok();
      });
  return database;
}

Database::~Database() {
  reclaimer_.reset();
  if (db_ == nullptr) return;
  if (write_failure_.ok()) {
    // So that the next start has no log to replay.
    const std::vector<rocksdb::ColumnFamilyHandle*> all(families_.begin(), families_.end());
    const rocksdb::Status status = db_->Flush(rocksdb::FlushOptions(), all);
    if (!status.ok()) Log("Cache flush at close failed: " + status.ToString());
  }
  CloseFamilies();
}

Status Database::OpenEnvironment() {
  std::error_code error;
  if (fs::create_directories(config_.path, error)) {
    fs::permissions(config_.path, fs::perms::owner_all, error);
  }
  // RocksDB calls it an error that it is not there.
  if (!error) fs::create_directory(DatabaseFolder(), error);
  if (error) {
    return FailedPrecondition("Cache folder '" + config_.path +
                              "' cannot be created: " + error.message() + ".");
  }
  if (config_.file_system != nullptr) {
    owned_env_ = rocksdb::NewCompositeEnv(config_.file_system);
    env_ = owned_env_.get();
  } else {
    env_ = rocksdb::Env::Default();
  }
  STOKER_TRY(lock_, PathLock::Acquire(*env_, config_.path));
  return Ok();
}

Status Database::OpenOrMoveAside() {
  if (fs::exists(DamageMarker())) STOKER_RETURN_IF_ERROR(MoveAside("it was marked as damaged"));
  rocksdb::Status status = OpenFamilies(/*read_only=*/false);
  if (status.ok()) status = ReadRecords();
  if (IsDamage(status)) return OpenEmpty(status.ToString());
  if (!status.ok()) return FromRocks(status, "Cache database '" + DatabaseFolder() + "'");
  return Ok();
}

Status Database::OpenEmpty(std::string_view reason) {
  if (db_ != nullptr) CloseFamilies();
  STOKER_RETURN_IF_ERROR(MoveAside(reason));
  const rocksdb::Status status = OpenFamilies(/*read_only=*/false);
  if (!status.ok()) return FromRocks(status, "Cache database '" + DatabaseFolder() + "'");
  return Ok();
}

Status Database::SetAside(std::string_view reason) {
  const std::lock_guard recovering(recover_mutex_);
  const std::unique_lock lock(handles_mutex_);
  // Until it has succeeded nobody may write into what is to be moved.
  write_failure_ = rocksdb::Status::IOError("the database is being set aside");
  STOKER_RETURN_IF_ERROR(OpenEmpty(reason));
  STOKER_RETURN_IF_ERROR(CheckFormat());
  write_failure_ = rocksdb::Status::OK();
  return Ok();
}

rocksdb::Status Database::OpenFamilies(bool read_only) {
  rocksdb::DBOptions options = DatabaseOptions(env_, config_.log);
  options.listeners.push_back(std::make_shared<DamageListener>(*this));
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (std::size_t i = 0; i < kFamilyCount; ++i) {
    const bool blobs = i == static_cast<std::size_t>(Family::kBlobs);
    descriptors.emplace_back(kFamilyNames[i], blobs ? BlobFamilyOptions() : RecordFamilyOptions());
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      read_only
          ? rocksdb::DB::OpenForReadOnly(options, DatabaseFolder(), descriptors, &handles, &db)
          : rocksdb::DB::Open(options, DatabaseFolder(), descriptors, &handles, &db);
  if (!status.ok()) return status;
  db_.reset(db);
  std::copy_n(handles.begin(), kFamilyCount, families_.begin());
  return status;
}

// The families that are read as a whole and hold little. Damage in them is not the loss of one blob
// but of what is known about all of them: it is answered with an empty database.
rocksdb::Status Database::ReadRecords() {
  for (const Family which : {Family::kCounters, Family::kQuarantine, Family::kDefault}) {
    const std::unique_ptr<rocksdb::Iterator> it(
        db_->NewIterator(rocksdb::ReadOptions(), family(which)));
    it->SeekToFirst();
    while (it->Valid()) it->Next();
    if (!it->status().ok()) return it->status();
  }
  return rocksdb::Status::OK();
}

Status Database::MoveAside(std::string_view reason) {
  const std::string aside = config_.path + "/damaged";
  Log("Cache database '" + DatabaseFolder() + "' is moved to '" + aside +
      "' and rebuilt: " + std::string(reason));
  std::error_code error;
  fs::remove_all(aside, error);
  if (!error && fs::exists(DatabaseFolder())) fs::rename(DatabaseFolder(), aside, error);
  if (!error) fs::remove(DamageMarker(), error);
  if (error) {
    return Unavailable("Damaged cache database '" + DatabaseFolder() +
                       "' cannot be moved aside: " + error.message() + ".");
  }
  was_moved_aside_ = true;
  return Ok();
}

Status Database::CheckFormat() {
  std::string found;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), family(Family::kDefault), kFormatKey, &found);
  const std::string wanted = std::string(kFormatMagic) + " " + std::to_string(kCacheFormatVersion);
  if (status.ok()) {
    if (found == wanted) return Ok();
    return FailedPrecondition("Cache folder '" + config_.path + "' has the format '" + found +
                              "'; this build reads '" + wanted + "'.");
  }
  if (!status.IsNotFound()) return FromRocks(status, "Cache format record");
  rocksdb::WriteOptions options;
  options.sync = true;
  const rocksdb::Status put = db_->Put(options, family(Family::kDefault), kFormatKey, wanted);
  if (!put.ok()) return FromRocks(put, "Cache format record");
  return Ok();
}

Status Database::Write(const WriteOps& ops, bool sync) {
  rocksdb::Status status = TryWrite(ops, sync);
  if (!status.ok() && !IsDamage(status) && Recover(status)) status = TryWrite(ops, sync);
  if (!status.ok()) return FromRocks(status, "Cache write");
  return Ok();
}

rocksdb::Status Database::TryWrite(const WriteOps& ops, bool sync) {
  const std::shared_lock lock(handles_mutex_);
  if (!write_failure_.ok()) return write_failure_;
  rocksdb::WriteBatch batch;
  for (const WriteOps::Op& op : ops.ops()) {
    const rocksdb::Status added = op.is_delete
                                      ? batch.Delete(family(op.family), op.key)
                                      : batch.Put(family(op.family), op.key, ToSlice(op.bytes()));
    if (!added.ok()) return added;
  }
  rocksdb::WriteOptions options;
  options.sync = sync;
  return db_->Write(options, &batch);
}

// By a write of nothing: after a failed write SyncWAL() ends the process (RocksDB 7.8,
// WritableFileWriter::AssertFalseAndGetStatusForPrevError), where a write is refused.
Status Database::SyncLog() { return Write(WriteOps(), /*sync=*/true); }

rocksdb::Status Database::Get(Family which, std::string_view key, std::string* value) {
  const std::shared_lock lock(handles_mutex_);
  if (db_ == nullptr) return Closed();
  return db_->Get(rocksdb::ReadOptions(), family(which), ToSlice(key), value);
}

Status Database::Scan(
    Family which, std::string_view prefix,
    const std::function<bool(std::string_view key, std::string_view value)>& visit) {
  std::string from(prefix);
  std::vector<std::pair<std::string, std::string>> chunk;
  do {
    chunk.clear();
    const rocksdb::Status status = ReadChunk(which, from, prefix, chunk);
    if (!status.ok()) return FromRocks(status, "Cache scan");
    for (const auto& [key, value] : chunk) {
      if (!visit(key, value)) return Ok();
    }
    if (!chunk.empty()) from = chunk.back().first + '\0';  // The next possible key.
  } while (chunk.size() == kScanChunk);
  return Ok();
}

rocksdb::Status Database::ReadChunk(Family which, const std::string& from, std::string_view prefix,
                                    std::vector<std::pair<std::string, std::string>>& chunk) {
  const std::shared_lock lock(handles_mutex_);
  if (db_ == nullptr) return Closed();
  const std::unique_ptr<rocksdb::Iterator> it(
      db_->NewIterator(rocksdb::ReadOptions(), family(which)));
  for (it->Seek(from);
       it->Valid() && it->key().starts_with(ToSlice(prefix)) && chunk.size() < kScanChunk;
       it->Next()) {
    chunk.emplace_back(it->key().ToString(), it->value().ToString());
  }
  return it->status();
}

// True: it is worth trying once more.
bool Database::Recover(const rocksdb::Status& failed) {
  const std::lock_guard recovering(recover_mutex_);
  {
    // After a failed write RocksDB refuses all others until it is resumed.
    const std::shared_lock lock(handles_mutex_);
    if (write_failure_.ok() && failed.severity() < rocksdb::Status::Severity::kFatalError) {
      const rocksdb::Status resumed = db_->Resume();
      if (resumed.ok()) return true;
      // After a full disk it resumes by itself, looking every few seconds for room.
      if (resumed.IsBusy()) return false;
    }
  }
  const std::int64_t now_ns = config_.steady_nanos();
  if (now_ns < next_reopen_ns_ || !CheckFreeDisk(kReopenFreeBytes).ok()) return false;
  next_reopen_ns_ = now_ns + kReopenIntervalNanos;
  return Reopen(failed);
}

// What cannot be resumed is opened again: acknowledged writes are in its log. Requires
// recover_mutex_.
bool Database::Reopen(const rocksdb::Status& failed) {
  const std::unique_lock lock(handles_mutex_);
  if (db_ != nullptr) CloseFamilies();
  write_failure_ = failed;
  const rocksdb::Status writable = OpenFamilies(/*read_only=*/false);
  if (writable.ok()) {
    write_failure_ = rocksdb::Status::OK();
    Log("Cache database is reopened after an error: " + failed.ToString());
    return true;
  }
  Log("Cache database cannot be reopened: " + writable.ToString());
  const rocksdb::Status readable = OpenFamilies(/*read_only=*/true);
  if (!readable.ok()) Log("Cache database cannot be read: " + readable.ToString());
  return false;
}

Status Database::CheckFreeDisk(std::uint64_t bytes) {
  std::uint64_t free_bytes = 0;
  const rocksdb::IOStatus status = env_->GetFileSystem()->GetFreeSpace(
      config_.path, rocksdb::IOOptions(), &free_bytes, /*dbg=*/nullptr);
  if (!status.ok()) return FromRocks(status, "Free space of '" + config_.path + "'");
  if (free_bytes >= config_.min_free_disk_bytes + bytes) return Ok();
  return ResourceExhausted("Disk of '" + config_.path + "' has " + std::to_string(free_bytes) +
                           " bytes free; " + std::to_string(bytes) +
                           " bytes are to be written and " +
                           std::to_string(config_.min_free_disk_bytes) + " must stay free.");
}

std::uint64_t Database::DiskBytes() {
  std::uint64_t total = 0;
  std::error_code error;
  for (auto it = fs::directory_iterator(DatabaseFolder(), error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code gone;  // Files may be deleted while we look.
    const std::uint64_t size = it->file_size(gone);
    if (!gone) total += size;
  }
  return total;
}

void Database::Log(std::string_view message) const {
  if (config_.log) config_.log(message);
}

// Moves the deletions down the tree, where RocksDB learns which blob files hold only garbage.
Status Database::Compact(std::atomic<bool>& canceled) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.canceled = &canceled;
  const std::shared_lock lock(handles_mutex_);
  if (!write_failure_.ok()) return FromRocks(write_failure_, "Cache compaction");
  const rocksdb::Status status =
      db_->CompactRange(options, family(Family::kBlobs), nullptr, nullptr);
  if (!status.ok()) return FromRocks(status, "Cache compaction");
  return Ok();
}

void Database::CloseFamilies() {
  for (rocksdb::ColumnFamilyHandle* handle : families_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  const rocksdb::Status status = db_->Close();
  if (!status.ok()) Log("Cache close failed: " + status.ToString());
  db_.reset();
}

}  // namespace stoker
