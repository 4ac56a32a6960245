// What the threads of a crew tell each other: chunks that are ready, and whom a worker works for.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/cpu/threads/cut.h"
#include "runtime/cpu/threads/thread_pool.h"

namespace stoker::cpu {

inline constexpr std::size_t kCacheLine = 64;

// Chunks that lie ready for one thread: a range, how many threads take part in the launch, and in
// which formation of its team. One word, so that a thread that comes late sees either an old launch
// with no chunk left, or a new one whole, or one that it has no part in.
class Range {
 public:
  Range() = default;
  explicit Range(std::uint64_t word) : word_(word) {}
  Range(std::uint32_t formation, int threads, std::int64_t first, std::int64_t end)
      : word_(std::uint64_t{formation} << kFormationShift |
              static_cast<std::uint64_t>(threads) << kThreadsShift |
              static_cast<std::uint64_t>(end) << kChunkBits | static_cast<std::uint64_t>(first)) {}

  std::uint64_t word() const { return word_; }
  int threads() const { return static_cast<int>(word_ >> kThreadsShift & kThreadsMask); }
  std::int64_t first() const { return static_cast<std::int64_t>(word_ & kChunkMask); }
  std::int64_t end() const { return static_cast<std::int64_t>(word_ >> kChunkBits & kChunkMask); }
  bool HasChunkFor(std::uint32_t formation, int thread) const {
    return word_ >> kFormationShift == formation && thread < threads() && first() < end();
  }
  Range WithoutFirst() const { return Range(word_ + 1); }
  Range WithoutLast() const { return Range(word_ - (std::uint64_t{1} << kChunkBits)); }

  static constexpr int kChunkBits = 11;

 private:
  static constexpr int kThreadsShift = 2 * kChunkBits;
  static constexpr int kFormationShift = 32;
  static constexpr std::uint64_t kChunkMask = (std::uint64_t{1} << kChunkBits) - 1;
  static constexpr std::uint64_t kThreadsMask =
      (std::uint64_t{1} << (kFormationShift - kThreadsShift)) - 1;
  static_assert(kMaxThreads <= kThreadsMask);
  std::uint64_t word_ = 0;
};
static_assert(kMaxThreads * kChunksPerThread < (std::int64_t{1} << Range::kChunkBits));

// Whom a worker works for: one word, so that it changes whole.
class Post {
 public:
  Post() = default;  // For nobody.
  explicit Post(std::uint64_t word) : word_(word) {}
  Post(int squad, int thread, std::uint32_t formation)
      : word_(std::uint64_t{formation} << 32 | static_cast<std::uint64_t>(thread) << 16 |
              static_cast<std::uint64_t>(squad + 1)) {}

  std::uint64_t word() const { return word_; }
  bool IsFree() const { return (word_ & 0xFFFF) == 0; }
  int squad() const { return static_cast<int>(word_ & 0xFFFF) - 1; }
  int thread() const { return static_cast<int>(word_ >> 16 & 0xFFFF); }
  std::uint32_t formation() const { return static_cast<std::uint32_t>(word_ >> 32); }

 private:
  std::uint64_t word_ = 0;
};

struct Job {
  std::uint64_t launch = 0;  // 1, 2, ... in the squad's life.
  Cut cut;
  const void* context = nullptr;
  ThreadPool::Body body = nullptr;
};

struct Squad;

struct alignas(kCacheLine) Worker {
  std::atomic<std::uint32_t> parked{0};  // 1: sleeps, or is about to.
  std::atomic<std::uint64_t> post{0};
  std::thread thread;
  // Guarded by the crew's mutex.
  Squad* squad = nullptr;  // Null: free.
  cpu_set_t cpus{};
};

// The crew's side of a team. A team's end leaves its workers in it for the next team.
struct Squad {
  struct alignas(kCacheLine) Word {
    std::atomic<std::uint64_t> word{0};
  };

  // By thread; 0 is the caller. What is in a line of its own costs nobody else anything.
  std::array<Word, kMaxThreads> ready;  // A Range, read by workers.
  std::array<Word, kMaxThreads> done;   // Chunks in the squad's life, written by the thread alone.
  alignas(kCacheLine) Job job;

  // Written by the caller, under the crew's mutex.
  alignas(kCacheLine) std::vector<Worker*> members;  // Of threads 1, 2, ...
  std::uint32_t formation = 0;  // Another one whenever a thread number has changed hands.
  std::uint64_t seen_changes = 0;

  // Guarded by the crew's mutex.
  int wanted = 0;  // Threads.
  cpu_set_t cpus{};
  int strength = 1;  // Threads: the caller and the workers whose `squad` this is.
  bool is_active = false;
  std::chrono::steady_clock::time_point left_at;  // While it is not.
};

}  // namespace stoker::cpu
