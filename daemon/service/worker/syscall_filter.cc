#include "daemon/service/worker/syscall_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace stoker {
namespace {

// Whatever their arguments are.
constexpr std::initializer_list<std::uint32_t> kAllowed = {
    // The socket and standard error.
    SYS_read, SYS_write, SYS_writev, SYS_sendto, SYS_recvfrom, SYS_poll, SYS_ppoll, SYS_close,
    SYS_lseek, SYS_fstat,
    // Memory.
    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise,
    // Threads.
    SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_exit, SYS_exit_group, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_getcpu, SYS_gettid, SYS_getpid, SYS_membarrier,
    // Signals within the process.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    // What time it is, and how much there is of what.
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_time, SYS_getrusage, SYS_sysinfo, SYS_getrandom};

constexpr std::uint32_t kX32Bit = 0x40000000;
constexpr std::uint32_t kSetVma = 0x53564d41;  // PR_SET_VMA: the C library names its memory.

constexpr std::uint32_t OffsetOfArgument(std::size_t argument) {  // Of its lower half.
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * 8);
}

class Program {
 public:
  Program() {
    Load(offsetof(seccomp_data, arch));
    Jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    Return(SECCOMP_RET_KILL_PROCESS);
    Load(offsetof(seccomp_data, nr));
    Jump(BPF_JGE, kX32Bit, 0, 1);
    Return(SECCOMP_RET_KILL_PROCESS);
  }

  void Allow(std::uint32_t call) {
    Jump(BPF_JEQ, call, 0, 1);
    Return(SECCOMP_RET_ALLOW);
  }
  void Fail(std::uint32_t call, std::uint32_t error) {
    Jump(BPF_JEQ, call, 0, 1);
    Return(SECCOMP_RET_ERRNO | error);
  }
  // Only with these bits set, or not set, in the lower half of an argument.
  void AllowWithBits(std::uint32_t call, std::size_t argument, std::uint32_t mask,
                     std::uint32_t bits) {
    Jump(BPF_JEQ, call, 0, 5);
    Load(OffsetOfArgument(argument));
    Code(BPF_ALU | BPF_AND | BPF_K, mask);
    Jump(BPF_JEQ, bits, 0, 1);
    Return(SECCOMP_RET_ALLOW);
    Return(SECCOMP_RET_ERRNO | EPERM);
  }
  // Only with an argument that is this, in both halves.
  void AllowWithValue(std::uint32_t call, std::size_t argument, std::uint32_t value) {
    Jump(BPF_JEQ, call, 0, 6);
    Load(OffsetOfArgument(argument) + 4);
    Jump(BPF_JEQ, 0, 0, 3);
    Load(OffsetOfArgument(argument));
    Jump(BPF_JEQ, value, 0, 1);
    Return(SECCOMP_RET_ALLOW);
    Load(offsetof(seccomp_data, nr));  // Another rule may know the call.
  }

  bool Install() {
    Return(SECCOMP_RET_ERRNO | EPERM);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
  }

 private:
  void Code(std::uint32_t code, std::uint32_t value) {
    code_.push_back({static_cast<std::uint16_t>(code), 0, 0, value});
  }
  void Load(std::size_t offset) {
    Code(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  void Jump(std::uint32_t kind, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
    code_.push_back({static_cast<std::uint16_t>(BPF_JMP | kind | BPF_K), if_true, if_false, value});
  }
  void Return(std::uint32_t action) { Code(BPF_RET | BPF_K, action); }

  std::vector<sock_filter> code_;
};

}  // namespace

bool InstallSyscallFilter() {
  Program program;
  for (const std::uint32_t call : kAllowed) program.Allow(call);
  // Memory, but no code.
  program.AllowWithBits(SYS_mmap, 2, PROT_EXEC, 0);
  program.AllowWithBits(SYS_mprotect, 2, PROT_EXEC, 0);
  // Threads, but no processes. The arguments of clone3 cannot be seen; the C library then uses
  // clone.
  program.Fail(SYS_clone3, ENOSYS);
  constexpr std::uint32_t kThread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
  program.AllowWithBits(SYS_clone, 0, kThread | CLONE_NEWUSER, kThread);
  program.AllowWithValue(SYS_tgkill, 0, static_cast<std::uint32_t>(getpid()));
  // Limits are read, not set.
  program.AllowWithValue(SYS_prlimit64, 2, 0);
  program.AllowWithValue(SYS_prctl, 0, PR_SET_NAME);
  program.AllowWithValue(SYS_prctl, 0, kSetVma);
  return program.Install();
}

}  // namespace stoker
