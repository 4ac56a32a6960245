#include "client/cli/commands/export_archive.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "stoker/stoker.hpp"

extern char** environ;

namespace stoker::cli {
namespace {

constexpr std::string_view kZipMagic = "PK\x03\x04";
constexpr const char* kPythonVariable = "STOKER_PYTHON";
constexpr const char* kDefaultPython = "python3";
constexpr const char* kNeeds =
    "an archive of torch.export is read by a Python with PyTorch and the package stoker; "
    "STOKER_PYTHON names it";

// What one Python lacks is said in one line.
constexpr const char* kProgram = R"(import sys
try:
    import torch
    from stoker.export_archive.__main__ import main
except (ImportError, OSError) as error:
    sys.exit(f"stoker: {sys.executable}: {error}; " + sys.argv[1] + ".")
sys.exit(main(sys.argv[2:]))
)";

std::string Python() {
  const char* chosen = std::getenv(kPythonVariable);
  return chosen != nullptr && *chosen != '\0' ? chosen : kDefaultPython;
}

std::vector<std::string> WordsOf(const std::string& python, const std::string& archive,
                                 const ArchiveOptions& options) {
  std::vector<std::string> words = {python, "-c", kProgram, kNeeds};
  for (const std::string& size : options.sizes) words.insert(words.end(), {"--size", size});
  for (const std::string& name : options.modules) words.insert(words.end(), {"--import", name});
  if (options.no_grad_only) words.emplace_back("--no-grad-only");
  words.insert(words.end(), {"--", archive});
  return words;
}

// This process's, in which requests are written to `manifest` and to no other, captures are no
// matter, and Python imports nothing from the folder that it is started in.
std::vector<std::string> EnvironmentWith(const std::string& manifest) {
  const std::array<std::pair<std::string, std::string>, 3> changes = {
      {{"STOKER_RECORD", manifest}, {"STOKER_CAPTURES", "off"}, {"PYTHONSAFEPATH", "1"}}};
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::strcspn(*entry, "="));
    bool is_changed = false;
    for (const auto& [changed, value] : changes) is_changed |= changed == name;
    if (!is_changed) result.emplace_back(*entry);
  }
  for (const auto& [name, value] : changes) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> PointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Its standard output is this one's standard error: what is printed there is for people.
pid_t Start(std::vector<std::string> words, std::vector<std::string> environment) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0].c_str(), &actions, nullptr,
                                 PointersTo(words).data(), PointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(STOKER_NOT_FOUND, fmt::format("'{}' does not start: {}; {}.", words[0],
                                              std::strerror(error), kNeeds));
  }
  return child;
}

// Its exit status.
int WaitFor(pid_t child, const std::string& python) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(STOKER_INTERNAL, std::strerror(errno));
  }
  if (WIFSIGNALED(status)) {
    throw Error(STOKER_UNAVAILABLE, fmt::format("'{}', which read the archive, was ended by {}.",
                                                python, strsignal(WTERMSIG(status))));
  }
  return WEXITSTATUS(status);
}

}  // namespace

// Not closed when a program is started: the reader writes it.
ArchiveManifest::ArchiveManifest() : fd_(memfd_create("stoker-manifest", 0)) {
  if (fd_ < 0) {
    throw Error(STOKER_UNAVAILABLE,
                fmt::format("A manifest in memory cannot be made: {}.", std::strerror(errno)));
  }
  path_ = fmt::format("/proc/self/fd/{}", fd_);
}

ArchiveManifest::ArchiveManifest(ArchiveManifest&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

ArchiveManifest::~ArchiveManifest() {
  if (fd_ >= 0) close(fd_);
}

// What is no regular file is refused by who reads manifests.
bool IsZip(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::is_regular_file(path, code)) return false;
  std::string start(kZipMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) && start == kZipMagic;
}

std::optional<ArchiveManifest> RecordArchive(const std::string& path,
                                             const ArchiveOptions& options) {
  ArchiveManifest manifest;
  const std::string python = Python();
  const pid_t child = Start(WordsOf(python, path, options), EnvironmentWith(manifest.path()));
  if (WaitFor(child, python) != 0) return std::nullopt;
  return manifest;
}

}  // namespace stoker::cli
