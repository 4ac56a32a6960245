// Enters the worker's sandbox and tries what a compile that a hostile graph took over would try. A
// line each: "in <protection>", then "<attempt> <errno>", 0 where it was allowed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/service/worker/worker_sandbox.h"

namespace {

std::string g_lines;

// Descriptors and results that are not negative are success.
void Try(const std::string& name, const std::function<long()>& attempt) {
  errno = 0;
  const long result = attempt();
  g_lines += name + " " + std::to_string(result < 0 ? errno : 0) + "\n";
}

long Connect(int family, const sockaddr* address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM, 0);
  return fd < 0 ? fd : connect(fd, address, size);
}

long Map(int protection) {
  void* memory = mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? -1 : 0;
}

void TryWhatACompileNeeds() {
  Try("memory", [] { return Map(PROT_READ | PROT_WRITE); });
  Try("thread", [] {
    int done = 0;
    std::thread([&] {
      std::vector<std::string> strings(1000, std::string(1000, 'x'));
      done = static_cast<int>(strings.size());
    }).join();
    return done == 1000 ? 0L : -1L;
  });
  Try("cores", [] { return std::thread::hardware_concurrency() > 0 ? 0L : -1L; });
  Try("read a limit", [] {
    rlimit limit{};
    return static_cast<long>(getrlimit(RLIMIT_DATA, &limit));
  });
}

void TryFiles() {
  Try("read /etc/passwd", [] { return open("/etc/passwd", O_RDONLY); });
  Try("list /", [] { return open("/", O_RDONLY | O_DIRECTORY); });
  Try("write /tmp", [] { return open("/tmp/stoker-probe", O_WRONLY | O_CREAT, 0600); });
  Try("write here", [] { return open("stoker-probe", O_WRONLY | O_CREAT, 0600); });
  Try("remove", [] { return unlink("/tmp/stoker-probe"); });
  Try("make a folder", [] { return mkdir("/tmp/stoker-probe", 0700); });
  Try("read its own memory by name", [] { return open("/proc/self/mem", O_RDWR); });
  Try("file in memory", [] { return syscall(SYS_memfd_create, "x", 0); });
  Try("mount", [] { return mount("none", "/", "tmpfs", 0, nullptr); });
}

void TryOthers() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(80);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Try("connect by TCP", [&] {
    return Connect(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  });
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  Try("connect by a Unix socket",
      [&] { return Connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&local), sizeof local); });
  Try("socket pair", [] {
    int fds[2];
    return static_cast<long>(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
  });
  Try("fork", [] {
    const long pid = syscall(SYS_fork);
    if (pid == 0) _exit(0);
    return pid;
  });
  Try("clone a process", [] {
    const long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    return pid;
  });
  Try("exec", [] {
    char* const arguments[] = {nullptr};
    return static_cast<long>(execve("/bin/true", arguments, arguments));
  });
  Try("signal its parent", [] { return kill(getppid(), 0); });
  Try("trace its parent", [] { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr); });
  Try("raise a limit", [] {
    const rlimit limit{64, 64};
    return static_cast<long>(setrlimit(RLIMIT_NOFILE, &limit));
  });
  Try("leave the sandbox", [] { return unshare(CLONE_NEWUSER); });
  Try("memory for code", [] { return Map(PROT_READ | PROT_WRITE | PROT_EXEC); });
  Try("code from memory", [] {
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return static_cast<long>(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
  });
}

}  // namespace

int main() {
  for (const std::string& protection : stoker::EnterSandbox()) {
    g_lines += "in " + protection + "\n";
  }
  TryWhatACompileNeeds();
  TryFiles();
  TryOthers();
  return write(STDOUT_FILENO, g_lines.data(), g_lines.size()) ==
                 static_cast<ssize_t>(g_lines.size())
             ? 0
             : 1;
}
