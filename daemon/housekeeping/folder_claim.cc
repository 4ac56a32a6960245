#include "daemon/housekeeping/folder_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kPollInterval{5};
// For one that was killed: its files stay locked until the system has taken it apart.
constexpr std::chrono::milliseconds kEndOfAKilledOne{500};
constexpr std::string_view kServing = "serving";
constexpr std::string_view kDraining = "draining";

std::string LockIn(const std::string& folder) { return folder + "/stokerd.lock"; }
std::string StoreIn(const std::string& folder) { return folder + "/store"; }

bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void WriteState(int fd, std::string_view state) {
  const std::string text = std::to_string(getpid()) + " " + std::string(state) + "\n";
  // What it says only shortens the wait of others: a full disk may keep it from being said.
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, text.data(), text.size(), 0);
}

std::string ReadState(int fd) {
  char text[64];
  const ssize_t n = pread(fd, text, sizeof text, 0);
  return std::string(text, n > 0 ? static_cast<std::size_t>(n) : 0);
}

// What is stored is code that others run: nobody else may put anything there. A folder of this
// user's own that its group may write to, as some systems make them, is closed to it.
Status CheckFolder(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) {
    return FailedPrecondition("Cache folder '" + folder + "' cannot be looked at: " +
                              std::generic_category().message(errno) + ".");
  }
  const uid_t self = geteuid();
  if (status.st_uid != self && status.st_uid != 0) {
    return FailedPrecondition("Cache folder '" + folder + "' belongs to user " +
                              std::to_string(status.st_uid) + ", who is neither root nor user " +
                              std::to_string(self) + ".");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return Ok();
  if (status.st_uid == self && (status.st_mode & S_IWOTH) == 0 &&
      chmod(folder.c_str(), status.st_mode & 07777U & ~static_cast<unsigned>(S_IWGRP)) == 0) {
    return Ok();
  }
  return FailedPrecondition("Cache folder '" + folder + "' may be written to by other users.");
}

}  // namespace

Result<std::unique_ptr<FolderClaim>> FolderClaim::Take(const std::string& folder,
                                                       std::chrono::milliseconds patience) {
  STOKER_RETURN_IF_ERROR(CheckFolder(folder));
  if (const std::string store = StoreIn(folder); IsThere(store)) {
    STOKER_RETURN_IF_ERROR(CheckFolder(store));
  }
  const std::string path = LockIn(folder);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return FailedPrecondition("Lock file '" + path + "' cannot be opened: " +
                              std::generic_category().message(errno) + ".");
  }
  const auto start = std::chrono::steady_clock::now();
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const std::string state = ReadState(fd);
    const bool serves = state.find(kServing) != std::string::npos;
    const auto limit = serves ? std::min(patience, kEndOfAKilledOne) : patience;
    if (std::chrono::steady_clock::now() - start > limit) {
      close(fd);
      return FailedPrecondition("Cache folder '" + folder + "' is held by stokerd process " +
                                state.substr(0, state.find(' ')) +
                                (serves ? "." : ", which is still draining."));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  WriteState(fd, kServing);
  return std::unique_ptr<FolderClaim>(new FolderClaim(folder, fd));
}

FolderClaim::~FolderClaim() {
  SayDraining();  // Not "serving" at a moment when nobody does.
  close(fd_);
}

void FolderClaim::SayDraining() { WriteState(fd_, kDraining); }

bool FolderClaim::IsGone() const {
  struct stat held {};
  struct stat found {};
  if (fstat(fd_, &held) != 0) return false;  // Nothing can be told.
  if (lstat(LockIn(folder_).c_str(), &found) != 0) return errno == ENOENT || errno == ENOTDIR;
  if (held.st_dev != found.st_dev || held.st_ino != found.st_ino) return true;
  return !IsThere(StoreIn(folder_)) && errno == ENOENT;
}

}  // namespace stoker
