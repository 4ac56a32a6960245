#include "cache/rocks/database/status.h"

namespace stoker {

Error FromRocks(const rocksdb::Status& status, std::string_view what) {
  STOKER_CHECK(!status.ok());
  std::string message = std::string(what) + ": " + status.ToString();
  if (status.IsNotFound()) return NotFound(std::move(message));
  if (status.IsNoSpace()) return ResourceExhausted(std::move(message));
  if (IsDamage(status)) return DataLoss(std::move(message));
  return Unavailable(std::move(message));
}

bool IsDamage(const rocksdb::Status& status) {
  return status.IsCorruption() || status.IsPathNotFound();
}

}  // namespace stoker
