// WorkerSandbox: what a compile worker gives up before it reads the first byte of a request. A
// compile needs memory, threads and its socket, and nothing else of the machine.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// In the order in which they are taken. What a host or a container forbids is left out; the daemon
// says so in its log and in /status. The last four need no privilege, and no namespace.
inline constexpr std::array<std::string_view, 7> kWorkerProtections = {
    "network",       // A network namespace of its own: no interface but a loopback that is down.
    "files",         // A mount namespace of its own, whose root is empty and read-only.
    "capabilities",  // None, also of root.
    "limits",        // No core dump, no further descriptors; not traced, no privileges by exec.
    "landlock",      // The kernel refuses every access to files by path, to TCP, and to sockets and
                     // processes outside.
    "syscalls",      // seccomp: the calls that a compile makes, and no others.
    "code",          // seccomp: memory never becomes executable.
};

// Confines this process, which must have no other threads, for good. The protections in force.
std::vector<std::string> EnterSandbox();

// Those of kWorkerProtections that are not in `in_force`.
std::vector<std::string> MissingProtections(const std::vector<std::string>& in_force);

}  // namespace stoker
