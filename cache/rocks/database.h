// Database: the RocksDB behind the blob store, the action index and the counters of one cache
// folder. FORMAT.md describes what lies in it. Only the stores' sources include this header; their
// headers name the class.
#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cache/rocks/path_lock.h"
#include "cache/rocks/space_reclaimer.h"
#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::uint32_t kCacheFormatVersion = 1;

enum class Family { kBlobs, kAccess, kActions, kCounters, kQuarantine };
inline constexpr std::size_t kFamilyCount = 5;

struct DatabaseConfig {
  std::string path;
  std::uint64_t min_free_disk_bytes = 0;  // Writes are refused when less would be left.
  std::uint64_t reclaim_bytes = std::uint64_t{64} << 20;  // Deleted bytes that start a compaction.
  std::function<void(std::string_view)> log;              // From any thread; may be empty.
  std::shared_ptr<rocksdb::FileSystem> file_system;       // Null: the operating system's.
};

class Database {
 public:
  // Creates the folder if needed. A database that is damaged as a whole is moved to
  // `path`/damaged (replacing an earlier one), and an empty one takes its place.
  // kFailedPrecondition: another process holds the folder, or its format is another version's.
  static Result<std::shared_ptr<Database>> Open(DatabaseConfig config);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // With `sync`, this and every earlier write survive a power failure.
  Status Write(rocksdb::WriteBatch& batch, bool sync);
  // Makes every earlier write survive a power failure.
  Status SyncLog();
  // Untranslated, because callers tell damage from absence.
  rocksdb::Status Get(Family family, std::string_view key, std::string* value,
                      bool verify_checksums = true);
  // Calls `visit` for each key with the prefix, in order, until it returns false.
  Status Scan(Family family, std::string_view prefix,
              const std::function<bool(std::string_view key, std::string_view value)>& visit);

  // kResourceExhausted unless `bytes` more leave min_free_disk_bytes on the disk.
  Status CheckFreeDisk(std::uint64_t bytes);
  void AddGarbage(std::uint64_t bytes) { reclaimer_->AddGarbage(bytes); }
  void RequestReclaim() { reclaimer_->Request(); }

  rocksdb::ColumnFamilyHandle* family(Family family) const {
    return families_[static_cast<std::size_t>(family)];
  }
  // Bytes of the files of the database, logs included.
  std::uint64_t DiskBytes();
  bool was_moved_aside() const { return was_moved_aside_; }
  void Log(std::string_view message) const;

 private:
  class DamageListener;

  explicit Database(DatabaseConfig config) : config_(std::move(config)) {}
  Status OpenEnvironment();
  Status OpenOrMoveAside();
  rocksdb::Status OpenFamilies();
  Status MoveAside(std::string_view reason);
  Status CheckFormat();
  void Compact(std::atomic<bool>& canceled);
  void CloseFamilies();
  std::string DatabaseFolder() const { return config_.path + "/db"; }
  std::string DamageMarker() const { return config_.path + "/DAMAGED"; }

  const DatabaseConfig config_;
  std::unique_ptr<rocksdb::Env> owned_env_;
  rocksdb::Env* env_ = nullptr;
  std::unique_ptr<PathLock> lock_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* default_family_ = nullptr;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> families_{};
  std::unique_ptr<SpaceReclaimer> reclaimer_;
  std::mutex resume_mutex_;
  bool was_moved_aside_ = false;
};

}  // namespace stoker
