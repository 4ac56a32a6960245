#include "daemon/housekeeping/program_watch.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace stoker {
namespace {

constexpr const char* kSelf = "/proc/self/exe";

}  // namespace

ProgramWatch::ProgramWatch() {
  std::error_code code;
  const std::filesystem::path path = std::filesystem::read_symlink(kSelf, code);
  const std::optional<Identity> running = IdentityOf(kSelf);
  if (code || !running || IdentityOf(path.c_str()) != running) return;
  path_ = path.string();
  started_ = *running;
}

bool ProgramWatch::IsReplaced() const {
  return !path_.empty() && IdentityOf(path_.c_str()) != started_;
}

std::optional<ProgramWatch::Identity> ProgramWatch::IdentityOf(const char* path) {
  struct stat file {};
  if (stat(path, &file) != 0) return std::nullopt;
  return Identity{file.st_dev, file.st_ino, file.st_size, file.st_mtim.tv_sec,
                  file.st_mtim.tv_nsec};
}

}  // namespace stoker
