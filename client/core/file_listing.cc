#include "client/core/file_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stoker {
namespace {

constexpr int kMaxDepth = 64;  // Links may lead back to where they lie.

std::int64_t NanosecondsOf(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::string LineOf(const struct stat& status) {
  return std::to_string(status.st_size) + " " + std::to_string(NanosecondsOf(status.st_mtim)) +
         " " + std::to_string(NanosecondsOf(status.st_ctim)) + " " + std::to_string(status.st_ino);
}

class Lister {
 public:
  Lister(std::string_view suffix, const std::vector<std::string>& without)
      : suffix_(suffix), without_(without) {}

  // The folder `name` in the open folder `parent`. `path`: what precedes names in it.
  void List(int parent, const char* name, const std::string& path, int depth) {
    const int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    DIR* const folder = fdopendir(descriptor);
    if (folder == nullptr) {
      close(descriptor);
      return;
    }
    while (const dirent* const entry = readdir(folder)) {
      const std::string_view found = entry->d_name;
      if (found == "." || found == ".." ||
          (depth == 0 && std::ranges::count(without_, found) > 0)) {
        continue;
      }
      Look(descriptor, *entry, path + entry->d_name, depth);
    }
    closedir(folder);
  }

  std::string TakeText() {
    std::ranges::sort(files_);
    std::string text;
    for (const auto& [path, line] : files_) text += path + " " + line + "\n";
    return text;
  }

 private:
  void Look(int folder, const dirent& entry, const std::string& path, int depth) {
    const bool may_be_folder = entry.d_type != DT_REG;
    const bool has_suffix = path.ends_with(suffix_);
    struct stat status {};
    if ((!may_be_folder && !has_suffix) || fstatat(folder, entry.d_name, &status, 0) != 0) return;
    if (S_ISDIR(status.st_mode)) {
      if (depth < kMaxDepth) List(folder, entry.d_name, path + "/", depth + 1);
    } else if (has_suffix) {
      files_.emplace_back(path, LineOf(status));
    }
  }

  const std::string_view suffix_;
  const std::vector<std::string>& without_;
  std::vector<std::pair<std::string, std::string>> files_;  // (path, what is known of it)
};

}  // namespace

std::string ListFiles(const std::string& folder, std::string_view suffix,
                      const std::vector<std::string>& without) {
  Lister lister(suffix, without);
  lister.List(AT_FDCWD, folder.c_str(), "", 0);
  return lister.TakeText();
}

}  // namespace stoker
