// How we set RocksDB up: the sizes and the reasons.
#pragma once

#include <rocksdb/options.h>

#include <functional>
#include <string_view>

namespace stoker {

// For the whole database. `env` must outlive it; what RocksDB says of itself goes to `log`.
rocksdb::DBOptions DatabaseOptions(rocksdb::Env* env,
                                   const std::function<void(std::string_view)>& log);
// For small records: access records, actions, counters, quarantine.
rocksdb::ColumnFamilyOptions RecordFamilyOptions();
// For blobs: BlobDB files, zstd, garbage collection.
rocksdb::ColumnFamilyOptions BlobFamilyOptions();

}  // namespace stoker
