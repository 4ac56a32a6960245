#include "cache/rocks/database/path_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

namespace stoker {
namespace {

// Must not be called by the process that holds the lock: closing the file would end its lock.
std::string NameHolder(const std::string& file) {
  const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return "another process";
  struct flock query {};
  query.l_type = F_WRLCK;
  query.l_whence = SEEK_SET;
  const int status = fcntl(fd, F_GETLK, &query);
  close(fd);
  // A holder in another PID namespace reads as 0 or less.
  if (status != 0 || query.l_type == F_UNLCK || query.l_pid <= 0) return "another process";
  const std::string pid = std::to_string(query.l_pid);
  std::string name;
  std::getline(std::ifstream("/proc/" + pid + "/comm") >> std::ws, name);
  return "process " + pid + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

Result<std::unique_ptr<PathLock>> PathLock::Acquire(rocksdb::Env& env, const std::string& folder) {
  const std::string file = folder + "/LOCK";
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status status = env.LockFile(file, &lock);
  if (status.ok()) return std::unique_ptr<PathLock>(new PathLock(env, lock));
  // RocksDB keeps a table of this process's own locks, and says so in words only.
  const bool ours = status.ToString().find("current process") != std::string::npos;
  const std::string holder = ours ? "this process already" : NameHolder(file);
  if (access(folder.c_str(), W_OK) != 0) {
    return FailedPrecondition("Cache folder '" + folder + "' is not writable by this user.");
  }
  return FailedPrecondition("Cache folder '" + folder + "' is held by " + holder +
                            "; stop it or use another folder.");
}

PathLock::~PathLock() { env_.UnlockFile(lock_).PermitUncheckedError(); }

}  // namespace stoker
