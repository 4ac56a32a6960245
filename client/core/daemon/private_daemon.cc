#include "client/core/daemon/private_daemon.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "client/core/connection/http_connection.h"
#include "client/core/settings/environment.h"
#include "protocol/base/digest.h"
#include "protocol/base/host/file_descriptor.h"
#include "protocol/base/host/regular_file.h"
#include "protocol/wire/proto/utf8.h"

extern char** environ;

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kProbeTimeout{2000};
constexpr std::chrono::milliseconds kPollInterval{5};
// How long a private daemon waits without a client before it stops itself.
constexpr std::string_view kIdleTimeoutSeconds = "10800";
constexpr std::size_t kMaxTailBytes = 16384;  // Of what one that failed has written.
constexpr std::size_t kMaxQuotedBytes = 500;
constexpr std::string_view kErrorStart = "stokerd: ";  // Of its last words: daemon/main.cc

std::string ErrnoText() { return std::generic_category().message(errno); }

bool IsProgram(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code) && access(path.c_str(), X_OK) == 0;
}

// The folder this library (or the program it is linked into) was loaded from.
fs::path OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&EnsurePrivateDaemon), &info) == 0 ||
      info.dli_fname == nullptr) {
    return {};
  }
  std::error_code code;
  const fs::path absolute = fs::canonical(info.dli_fname, code);
  return code ? fs::path() : absolute.parent_path();
}

bool Answers(const DaemonUrl& url) {
  auto connection = HttpConnection::Connect(url, kProbeTimeout);
  if (!connection.ok()) return false;
  const auto response = (*connection)->Call("GET", "/-/ready", "", kProbeTimeout);
  return response.ok() && response->status == 200;
}

bool Listens(const DaemonUrl& url) { return HttpConnection::Connect(url, kProbeTimeout).ok(); }

// A job that is a service has a manager, to whom the daemon is nobody.
std::vector<char*> EnvironmentOfDaemon() {
  constexpr std::array<std::string_view, 3> kOfTheJob = {
      "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID="};
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool is_of_the_job = std::any_of(
        kOfTheJob.begin(), kOfTheJob.end(),
        [&](std::string_view name) { return std::string_view(*variable).starts_with(name); });
    if (!is_of_the_job) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

std::string LogOf(const PrivateDaemonOptions& options) {
  return options.cache_dir + "/stokerd.log";
}

off_t SizeOf(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

// The end of what was written to a file behind `begin`.
std::string TailOf(const std::string& path, off_t begin) {
  const auto file = RegularFile::Open("Log file", path);
  if (!file.ok()) return "";
  const off_t end = file->status().st_size;
  begin = std::max(begin, end - static_cast<off_t>(kMaxTailBytes));
  std::string text(end > begin ? static_cast<std::size_t>(end - begin) : 0, '\0');
  const ssize_t size = pread(file->descriptor(), text.data(), text.size(), begin);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

// The last line of `text` that says why a daemon stopped, or else the last that is there: another
// one, which drains, may write to the same log.
std::string LastWordsIn(std::string_view text) {
  std::string_view last;
  std::string_view error;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty()) last = line;
    if (line.starts_with(kErrorStart)) error = line.substr(kErrorStart.size());
  }
  std::string words = wire::ToValidUtf8((error.empty() ? last : error).substr(0, kMaxQuotedBytes));
  std::replace_if(
      words.begin(), words.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return words;
}

// `begin`: how much was in its log when it was started.
Error Stopped(const PrivateDaemonOptions& options, int exit_status, off_t begin) {
  const int code = WIFEXITED(exit_status) ? WEXITSTATUS(exit_status) : 128 + WTERMSIG(exit_status);
  const std::string words = LastWordsIn(TailOf(LogOf(options), begin));
  return Unavailable("'" + options.program + "' stopped at once (status " + std::to_string(code) +
                     ")" + (words.empty() ? "" : ", saying \"" + words + "\"") + "; see " +
                     LogOf(options) + ".");
}

Result<pid_t> Spawn(const PrivateDaemonOptions& options, const DaemonUrl& url) {
  const std::string log = LogOf(options);
  std::vector<std::string> arguments = {options.program,
                                        "--listen",
                                        url.ToString(),
                                        "--cache-dir",
                                        options.cache_dir,
                                        "--idle-timeout-s",
                                        std::string(kIdleTimeoutSeconds)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  // No descriptor of the job may live on in the daemon: an inherited pipe would never close.
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  const std::vector<char*> variables = EnvironmentOfDaemon();
  pid_t pid = 0;
  const int result = posix_spawn(&pid, options.program.c_str(), &actions, &attributes, argv.data(),
                                 variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (result != 0) {
    return Unavailable("Starting '" + options.program +
                       "' fails: " + std::generic_category().message(result) + ".");
  }
  return pid;
}

// One that was not there is for its user alone. Of one that was, the daemon looks at the mode.
Status MakeFolder(const std::string& folder) {
  std::error_code code;
  fs::create_directories(fs::path(folder).parent_path(), code);
  const bool made = !code && mkdir(folder.c_str(), 0700) == 0;
  struct stat status {};
  if (made) return Ok();
  if (!code && errno == EEXIST && stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    if (status.st_uid == geteuid() || status.st_uid == 0) return Ok();
    return FailedPrecondition("Cache folder '" + folder + "' belongs to user " +
                              std::to_string(status.st_uid) + ".");
  }
  return FailedPrecondition("Cache folder '" + folder +
                            "' cannot be made: " + (code ? code.message() : ErrnoText()) + ".");
}

}  // namespace

Result<std::string> DefaultCacheDir() {
  if (std::string dir = Environment("STOKER_CACHE_DIR"); !dir.empty()) {
    return fs::absolute(dir).string();
  }
  if (std::string dir = Environment("XDG_CACHE_HOME"); !dir.empty()) return dir + "/stoker";
  if (std::string home = Environment("HOME"); !home.empty()) return home + "/.cache/stoker";
  return FailedPrecondition(
      "No cache folder: STOKER_CACHE_DIR, XDG_CACHE_HOME and HOME are unset.");
}

Result<std::string> FindDaemonProgram(const std::string& given) {
  // Who names a daemon wants that one and no other.
  for (const std::string& named : {given, Environment("STOKER_DAEMON")}) {
    if (named.empty()) continue;
    if (IsProgram(named)) return named;
    return NotFound("'" + named + "' is not a program.");
  }
  std::vector<fs::path> candidates;
  if (const fs::path own = OwnFolder(); !own.empty()) {
    candidates.push_back(own / "stokerd");
    candidates.push_back(own.parent_path() / "bin" / "stokerd");
  }
  const std::string search = Environment("PATH");
  for (std::size_t begin = 0; begin <= search.size();) {
    const std::size_t end = std::min(search.find(':', begin), search.size());
    if (end > begin) candidates.push_back(fs::path(search.substr(begin, end - begin)) / "stokerd");
    begin = end + 1;
  }
  std::string looked;
  for (const fs::path& candidate : candidates) {
    if (IsProgram(candidate)) return candidate.string();
    looked += (looked.empty() ? "" : ", ") + candidate.string();
  }
  return NotFound("No stokerd: looked for " + looked + ". Set STOKER_DAEMON or STOKER_URL.");
}

DaemonUrl PrivateDaemonUrl(const std::string& cache_dir) {
  DaemonUrl url;
  url.scheme = DaemonUrl::Scheme::kUnix;
  url.path = cache_dir + "/stokerd.sock";
  if (url.path.size() >= sizeof(sockaddr_un::sun_path)) {
    std::string runtime = Environment("XDG_RUNTIME_DIR");
    if (runtime.empty()) runtime = "/tmp";
    url.path = runtime + "/stokerd-" + std::to_string(getuid()) + "-" +
               Sha256Of(cache_dir).ToHex().substr(0, 16) + ".sock";
  }
  return url;
}

Status EnsurePrivateDaemon(const PrivateDaemonOptions& options, const DaemonUrl& url,
                           std::chrono::milliseconds timeout) {
  if (Answers(url)) return Ok();
  if (options.program.empty()) {
    STOKER_TRY(const std::string program, FindDaemonProgram(""));
    return EnsurePrivateDaemon({options.cache_dir, program}, url, timeout);
  }
  STOKER_RETURN_IF_ERROR(MakeFolder(options.cache_dir));

  const std::string lock_path = options.cache_dir + "/stokerd.start";
  const FileDescriptor lock(
      open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) {
    return FailedPrecondition("Lock file '" + lock_path + "' cannot be opened: " + ErrnoText() +
                              ".");
  }
  const Clock::time_point deadline = Clock::now() + timeout;
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    // Somebody else is starting it.
    if (Clock::now() > deadline) {
      return DeadlineExceeded("Lock file '" + lock_path + "' stays taken for " +
                              std::to_string(timeout.count()) + " ms.");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  if (Answers(url)) return Ok();
  // One that listens is short of time, or drains: it answers or goes before long.
  while (Listens(url) && Clock::now() < deadline) {
    if (Answers(url)) return Ok();
    std::this_thread::sleep_for(kPollInterval);
  }

  const off_t log_begin = SizeOf(LogOf(options));
  STOKER_TRY(const pid_t pid, Spawn(options, url));
  while (Clock::now() < deadline) {
    if (Answers(url)) return Ok();
    int exit_status = 0;
    if (waitpid(pid, &exit_status, WNOHANG) == pid) {
      if (Answers(url)) return Ok();
      return Stopped(options, exit_status, log_begin);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return DeadlineExceeded("'" + options.program + "' does not answer at " + url.ToString() +
                          " after " + std::to_string(timeout.count()) + " ms; see " +
                          LogOf(options) + ".");
}

}  // namespace stoker
