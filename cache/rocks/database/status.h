// RocksDB statuses as our errors.
#pragma once

#include <rocksdb/status.h>

#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

// Requires !status.ok().
Error FromRocks(const rocksdb::Status& status, std::string_view what);

// The bytes on disk are not what was written: checksum mismatch, truncated or missing file.
bool IsDamage(const rocksdb::Status& status);

}  // namespace stoker
