// How callers share the CPUs.
#pragma once

#include <array>

#include "runtime/cpu/threads/thread_pool.h"

namespace stoker::cpu {

// Threads for each caller that wants some (0: there is none). Nobody gets less than one or more
// than it wants, and all together no more than `cpus` unless there are more callers; those that get
// less than they want get as many as each other, or one more.
std::array<int, kMaxTeams> FairShares(const std::array<int, kMaxTeams>& wanted, int cpus);

}  // namespace stoker::cpu
