// Database: the RocksDB behind the blob store, the action index and the counters of one cache
// folder. FORMAT.md describes what lies in it. Only the stores' sources include this header; their
// headers name the class. Safe from any thread; blocks on I/O.
#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "cache/rocks/database/path_lock.h"
#include "cache/rocks/database/space_reclaimer.h"
#include "cache/rocks/database/write_ops.h"
#include "protocol/base/result.h"
#include "protocol/base/trouble.h"

namespace stoker {

inline constexpr std::uint32_t kCacheFormatVersion = 1;
// After a fatal error the database is reopened, but not more often than this, and only when the
// disk says that so much is free.
inline constexpr std::int64_t kReopenIntervalNanos = 5'000'000'000;
inline constexpr std::uint64_t kReopenFreeBytes = std::uint64_t{16} << 20;

struct DatabaseConfig {
  std::string path;
  std::uint64_t min_free_disk_bytes = 0;  // Writes are refused when less would be left.
  std::uint64_t reclaim_bytes = std::uint64_t{64} << 20;  // Deleted bytes that start a compaction.
  std::function<void(std::string_view)> log;              // From any thread; may be empty.
  std::function<std::int64_t()> steady_nanos;             // Null: the system's steady clock.
  std::shared_ptr<rocksdb::FileSystem> file_system;       // Null: the operating system's.
};

class Database {
 public:
  // Creates the folder if needed. A database that is damaged as a whole is moved to
  // `path`/damaged (replacing an earlier one), and an empty one takes its place. Access records and
  // actions are not looked at: they are many, and whoever reads them meets their damage.
  // kFailedPrecondition: another process holds the folder, or its format is another version's.
  static Result<std::shared_ptr<Database>> Open(DatabaseConfig config);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // With `sync`, this and every earlier write survive a power failure.
  // kResourceExhausted: the disk is full. Reads go on, and so do writes when there is room again.
  Status Write(const WriteOps& ops, bool sync);
  // Makes every earlier write survive a power failure.
  Status SyncLog();
  // Untranslated, because callers tell damage from absence.
  rocksdb::Status Get(Family family, std::string_view key, std::string* value);
  // Calls `visit` for each key with the prefix, in order, until it returns false. `visit` may use
  // the database; it sees changes that are made meanwhile or not.
  Status Scan(Family family, std::string_view prefix,
              const std::function<bool(std::string_view key, std::string_view value)>& visit);

  // kResourceExhausted unless `bytes` more leave min_free_disk_bytes on the disk.
  Status CheckFreeDisk(std::uint64_t bytes);
  void AddGarbage(std::uint64_t bytes) { reclaimer_->AddGarbage(bytes); }
  void RequestReclaim() { reclaimer_->Request(); }
  // Of what was deleted: bytes that the disk has not got back yet.
  std::uint64_t owed_bytes() const { return reclaimer_->owed_bytes(); }

  // Bytes of the files of the database, logs included.
  std::uint64_t DiskBytes();
  // Of the blobs: waits until the space of what was deleted is given back. `canceled` ends it soon.
  Status Compact(std::atomic<bool>& canceled);
  // What Open does with a database that is damaged as a whole, for who meets damage later: reads
  // and writes wait, and go on with an empty one.
  Status SetAside(std::string_view reason);
  // Since Open began: the database was damaged as a whole.
  bool was_moved_aside() const { return was_moved_aside_; }
  void Log(std::string_view message) const;

 private:
  class DamageListener;

  explicit Database(DatabaseConfig config);
  Status OpenEnvironment();
  Status OpenOrMoveAside();
  rocksdb::Status OpenFamilies(bool read_only);
  rocksdb::Status ReadRecords();
  Status MoveAside(std::string_view reason);
  Status CheckFormat();
  rocksdb::Status TryWrite(const WriteOps& ops, bool sync);
  rocksdb::Status ReadChunk(Family family, const std::string& from, std::string_view prefix,
                            std::vector<std::pair<std::string, std::string>>& chunk);
  bool Recover(const rocksdb::Status& failed);
  bool Reopen(const rocksdb::Status& failed);
  Status OpenEmpty(std::string_view reason);
  void CloseFamilies();
  rocksdb::ColumnFamilyHandle* family(Family family) const {
    return families_[static_cast<std::size_t>(family)];
  }
  std::string DatabaseFolder() const { return config_.path + "/db"; }
  std::string DamageMarker() const { return config_.path + "/DAMAGED"; }

  DatabaseConfig config_;
  std::unique_ptr<rocksdb::Env> owned_env_;
  rocksdb::Env* env_ = nullptr;
  std::unique_ptr<PathLock> lock_;
  Trouble compaction_trouble_;  // The reclaimer's.
  // Shared by everybody who uses the handles below, had alone by who replaces them.
  std::shared_mutex handles_mutex_;
  std::unique_ptr<rocksdb::DB> db_;  // Null only if not even reading could be resumed.
  rocksdb::Status write_failure_;    // Unless ok, db_ is null or open for reading only.
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> families_{};
  std::mutex recover_mutex_;  // Guards what follows; taken before handles_mutex_.
  std::int64_t next_reopen_ns_ = 0;
  std::atomic<bool> was_moved_aside_ = false;
  std::unique_ptr<SpaceReclaimer> reclaimer_;  // Last: its thread uses all of the above.
};

}  // namespace stoker
