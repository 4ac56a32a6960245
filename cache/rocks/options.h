// How we set RocksDB up: the sizes and the reasons.
#pragma once

#include <rocksdb/options.h>

namespace stoker {

// For the whole database. `env` must outlive it.
rocksdb::DBOptions DatabaseOptions(rocksdb::Env* env);
// For small records: access records, actions, counters, quarantine.
rocksdb::ColumnFamilyOptions RecordFamilyOptions();
// For blobs: BlobDB files, zstd, garbage collection.
rocksdb::ColumnFamilyOptions BlobFamilyOptions();

}  // namespace stoker
