// How the tasks of a launch are cut for the threads there are.
#pragma once

#include <cstdint>

#include "runtime/cpu/threads/thread_pool.h"

namespace stoker::cpu {

// Chunks 0, 1, ... follow each other and cover all tasks; thread i of `threads` begins with its
// share of them, [FirstOf(i), FirstOf(i + 1)).
struct Cut {
  std::int64_t tasks = 0;
  std::int64_t chunks = 1;
  int threads = 1;

  std::int64_t FirstOf(int thread) const { return thread * chunks / threads; }
  // Spread evenly, so that shares differ by no more than a task wherever chunks are cut.
  std::int64_t BeginOf(std::int64_t chunk) const {
    return tasks / chunks * chunk + tasks % chunks * chunk / chunks;
  }
};

// For at most `threads` threads: as few as have the same longest share, and no more than have a
// part of a chunk each that is worth more than what it costs to tell a thread that is awake. A
// chunk has at least as many tasks as the grain says where a share is as long as that. `tasks`
// >= 1.
Cut CutTasks(std::int64_t tasks, const Grain& grain, int threads);

}  // namespace stoker::cpu
