#include "daemon/service/worker/worker_sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "daemon/service/worker/syscall_filter.h"

namespace stoker {
namespace {

// Sanitizers read files, and make calls that no filter of ours knows.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
constexpr bool kIsSandboxed = false;
#else
constexpr bool kIsSandboxed = true;
#endif

// The standard ones, the socket, and what the sandbox needs until it stands.
constexpr rlim_t kMaxDescriptors = 8;

bool WriteFile(const char* path, std::string_view text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

// When the machine runs out of memory, the kernel's choice falls on a compile rather than on the
// daemon or on the job that waits. Where it is forbidden the kernel chooses as it likes.
void VolunteerForOomKiller() { (void)WriteFile("/proc/self/oom_score_adj", "500"); }

// Namespaces of its own, in which it may mount. Without the right to have some, it asks as the root
// of a user namespace; its user outside stays what it is.
bool LeaveNamespaces() {
  constexpr int kOthers = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
  const auto uid = geteuid();
  const auto gid = getegid();
  if (unshare(CLONE_NEWUSER | kOthers) != 0) return unshare(kOthers) == 0;
  (void)WriteFile("/proc/self/setgroups", "deny");
  return WriteFile("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
         WriteFile("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
}

// An empty root that nobody can write to. /proc is where the new one is mounted, because it is
// everywhere, and needed no more.
bool LeaveFiles() {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/proc", "tmpfs", kFlags, "size=4k,nr_inodes=2,mode=0") == 0 &&
         chdir("/proc") == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
         umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 &&
         mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kFlags, nullptr) == 0;
}

bool DropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

bool SetLimits() {
  const rlimit no_core{0, 0};
  const rlimit descriptors{kMaxDescriptors, kMaxDescriptors};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
         setrlimit(RLIMIT_CORE, &no_core) == 0 && setrlimit(RLIMIT_NOFILE, &descriptors) == 0;
}

// A ruleset that handles all that the running kernel can refuse, and allows nothing of it. The
// numbers are the kernel's; Debian 12's headers have the first ones only.
bool RefuseByLandlock() {
  constexpr int kRulesetVersion = 1;
  struct {
    std::uint64_t files;
    std::uint64_t network;
    std::uint64_t scopes;
  } handled{};
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kRulesetVersion);
  if (version < 1) return false;
  struct Since {
    long version;
    int count;
  };
  int file_rights = 13;
  for (const Since& since : {Since{2, 14}, Since{3, 15}, Since{5, 16}}) {
    if (version >= since.version) file_rights = since.count;
  }
  handled.files = (std::uint64_t{1} << file_rights) - 1;
  std::size_t size = sizeof handled.files;
  if (version >= 4) {  // Binding and connecting TCP sockets.
    handled.network = 3;
    size += sizeof handled.network;
  }
  if (version >= 6) {  // Abstract Unix sockets and signals.
    handled.scopes = 3;
    size += sizeof handled.scopes;
  }
  const long ruleset = syscall(SYS_landlock_create_ruleset, &handled, size, 0);
  if (ruleset < 0) return false;
  const bool restricted = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  close(static_cast<int>(ruleset));
  return restricted;
}

}  // namespace

std::vector<std::string> EnterSandbox() {
  std::vector<std::string> in_force;
  VolunteerForOomKiller();
  if (!kIsSandboxed) return in_force;
  const auto note = [&](std::string_view protection, bool holds) {
    if (holds) in_force.emplace_back(protection);
    return holds;
  };
  // Before the process is no longer dumpable: its files in /proc would be root's.
  if (note("network", LeaveNamespaces())) note("files", LeaveFiles());
  note("capabilities", DropCapabilities());
  note("limits", SetLimits());
  note("landlock", RefuseByLandlock());
  // Last, for it refuses all of the above.
  if (note("syscalls", InstallSyscallFilter())) note("code", true);
  return in_force;
}

std::vector<std::string> MissingProtections(const std::vector<std::string>& in_force) {
  std::vector<std::string> missing;
  for (const std::string_view protection : kWorkerProtections) {
    if (std::find(in_force.begin(), in_force.end(), protection) == in_force.end()) {
      missing.emplace_back(protection);
    }
  }
  return missing;
}

}  // namespace stoker
