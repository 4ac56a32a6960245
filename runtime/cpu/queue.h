// Queue: runs launches on the calling thread and workers. What is given to it has been done when
// the call returns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cpu/device.h"
#include "runtime/cpu/launch_list.h"
#include "runtime/cpu/threads/thread_pool.h"
#include "runtime/queue.h"

namespace stoker::cpu {

class Queue final : public stoker::Queue {
 public:
  // `threads`: at most this many, the calling one included; 0: as many as there are CPUs.
  Queue(Device& device, int threads) : device_(device), threads_(threads) {}

  // In the caller's FlushMode; what is prepared, whoever prepares it, with denormal numbers, for
  // others take it.
  Status Run(const stoker::LaunchList& launches, std::span<std::byte*> addresses, Pauses* pauses,
             std::vector<double>* seconds) override;
  Status Wait() override { return Ok(); }
  Status Copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return CopyOut(to, from, bytes);
  }
  Status CopyIn(std::byte* to, const void* from, std::size_t bytes) override {
    return CopyOut(to, static_cast<const std::byte*>(from), bytes);
  }
  Status CopyOut(void* to, const std::byte* from, std::size_t bytes) override;

  // Threads for so many independent pieces of work, one of which needs none but this. For as long
  // as something is computed: a queue that waits for its caller holds no workers.
  ThreadPool::Team Gather(std::int64_t pieces) const;
  int ThreadsFor(std::int64_t pieces) const { return pieces > 1 ? threads_ : 1; }

 private:
  // A list with marks, on no more threads than `team` has. During a host call the queue holds no
  // workers: what happens there has threads of its own. `pauses`: null where there is none.
  Status RunMarked(const LaunchList& list, std::span<std::byte*> addresses, std::byte* memory,
                   ThreadPool::Team team, Pauses* pauses, std::vector<double>* seconds);

  Device& device_;
  const int threads_;
};

}  // namespace stoker::cpu
