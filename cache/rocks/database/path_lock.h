// One process per cache folder. The lock is a POSIX record lock: it ends with the process, however
// it ends, and is not inherited by children.
#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

#include "protocol/base/result.h"

namespace stoker {

class PathLock {
 public:
  // `folder` must exist. kFailedPrecondition names the folder and who holds it.
  static Result<std::unique_ptr<PathLock>> Acquire(rocksdb::Env& env, const std::string& folder);
  ~PathLock();
  PathLock(const PathLock&) = delete;
  PathLock& operator=(const PathLock&) = delete;

 private:
  PathLock(rocksdb::Env& env, rocksdb::FileLock* lock) : env_(env), lock_(lock) {}

  rocksdb::Env& env_;
  rocksdb::FileLock* lock_;
};

}  // namespace stoker
