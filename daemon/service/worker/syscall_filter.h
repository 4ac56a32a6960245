// The system calls of a compile worker. Written as a program for the kernel, because Debian's
// libseccomp would be one more package for forty numbers.
#pragma once

namespace stoker {

// From now on this thread, and those that it starts, may make the calls of syscall_filter.cc; any
// other fails with EPERM. Needs PR_SET_NO_NEW_PRIVS. False: the kernel has no such filters.
bool InstallSyscallFilter();

}  // namespace stoker
