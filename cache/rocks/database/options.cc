#include "cache/rocks/database/options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "cache/rocks/database/engine_log.h"

namespace stoker {
namespace {

constexpr std::size_t kBlobWriteBufferBytes = std::size_t{32} << 20;
constexpr std::size_t kRecordWriteBufferBytes = std::size_t{4} << 20;
constexpr std::size_t kBlockCacheBytes = std::size_t{16} << 20;
constexpr std::uint64_t kMaxLogBytes = std::uint64_t{96} << 20;
constexpr std::uint64_t kBlobFileBytes = std::uint64_t{64} << 20;
// Smaller values stay in the tree: a blob file costs a second read.
constexpr std::uint64_t kMinBlobFileValueBytes = 4096;

rocksdb::BlockBasedTableOptions TableOptions() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  return table;
}

}  // namespace

rocksdb::DBOptions DatabaseOptions(rocksdb::Env* env,
                                   const std::function<void(std::string_view)>& log) {
  rocksdb::DBOptions options;
  options.env = env;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  // A torn tail of the log is what a power failure leaves: everything before it counts.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.max_total_wal_size = kMaxLogBytes;
  options.max_background_jobs = 2;
  options.max_open_files = 512;
  // Opening must be quick: a private daemon is started by the first client that needs it.
  options.avoid_flush_during_recovery = true;
  options.skip_stats_update_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log = std::make_shared<EngineLog>(log);
  options.info_log_level = options.info_log->GetInfoLogLevel();
  return options;
}

rocksdb::ColumnFamilyOptions RecordFamilyOptions() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = kRecordWriteBufferBytes;
  options.compression = rocksdb::kZSTD;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions()));
  return options;
}

rocksdb::ColumnFamilyOptions BlobFamilyOptions() {
  rocksdb::ColumnFamilyOptions options = RecordFamilyOptions();
  options.write_buffer_size = kBlobWriteBufferBytes;
  options.enable_blob_files = true;
  options.min_blob_size = kMinBlobFileValueBytes;
  options.blob_file_size = kBlobFileBytes;
  options.blob_compression_type = rocksdb::kZSTD;
  options.enable_blob_garbage_collection = true;
  options.blob_garbage_collection_age_cutoff = 0.5;
  options.blob_garbage_collection_force_threshold = 0.5;
  return options;
}

}  // namespace stoker
