#include "runtime/cpu/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "protocol/base/check.h"

namespace stoker::cpu {
namespace {

constexpr std::size_t kCacheLine = 64;

void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Spins until `ready()` or until the time is over; true when ready.
template <typename Ready>
bool SpinUntil(Ready ready) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::microseconds(kSpinMicroseconds);
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// CPUs that the calling thread may run on.
cpu_set_t CallerAffinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails only on machines with more CPUs than cpu_set_t has room for: use those it names.
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &set);
  }
  return set;
}

// Chunks that lie ready for one thread: a range, and how many threads take part in the launch. One
// word, so that a thread that comes late sees either an old launch with no chunk left or a new one
// whole.
class Range {
 public:
  static constexpr int kChunkBits = 24;
  explicit Range(std::uint64_t word) : word_(word) {}
  Range(int threads, std::int64_t first, std::int64_t end)
      : word_(static_cast<std::uint64_t>(threads) << (2 * kChunkBits) |
              static_cast<std::uint64_t>(end) << kChunkBits | static_cast<std::uint64_t>(first)) {}

  std::uint64_t word() const { return word_; }
  int threads() const { return static_cast<int>(word_ >> (2 * kChunkBits)); }
  std::int64_t first() const { return static_cast<std::int64_t>(word_ & kMask); }
  std::int64_t end() const { return static_cast<std::int64_t>(word_ >> kChunkBits & kMask); }
  bool HasChunkFor(int thread) const { return thread < threads() && first() < end(); }
  Range WithoutFirst() const { return Range(word_ + 1); }
  Range WithoutLast() const { return Range(word_ - (std::uint64_t{1} << kChunkBits)); }

 private:
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kChunkBits) - 1;
  std::uint64_t word_;
};
static_assert(kMaxThreads * kChunksPerThread < (std::int64_t{1} << Range::kChunkBits));

struct Job {
  std::int64_t tasks = 0;
  std::int64_t chunks = 0;
  int threads = 0;
  const void* context = nullptr;
  ThreadPool::Body body = nullptr;
};

}  // namespace

// Workers of one process. Threads do not survive a fork: a child abandons its parent's crew.
class ThreadPool::Crew {
 public:
  Crew() : pid_(getpid()) {}

  ~Crew() {
    stop_.store(true);
    for (int i = 1; i <= size_; ++i) Unpark(*workers_[Index(i)]);
    for (int i = 1; i <= size_; ++i) workers_[Index(i)]->thread.join();
  }

  pid_t pid() const { return pid_; }

  // Requires ThreadPool::mutex_.
  void Grow(int threads, const cpu_set_t& affinity) {
    if (size_ + 1 < threads) {
      // New threads inherit the caller's affinity.
      for (int i = size_ + 1; i < threads; ++i) {
        workers_[Index(i)] = std::make_unique<Worker>();
        workers_[Index(i)]->thread = std::thread([this, i] { Work(i); });
      }
      size_ = threads - 1;
    }
    if (!CPU_EQUAL(&affinity, &affinity_)) {
      affinity_ = affinity;
      for (int i = 1; i <= size_; ++i) {
        pthread_setaffinity_np(workers_[Index(i)]->thread.native_handle(), sizeof affinity,
                               &affinity);
      }
    }
  }

  void Wake(int threads) {
    for (int i = 1; i < threads; ++i) Unpark(*workers_[Index(i)]);
  }

  void Run(const Job& job) {
    if (busy_.exchange(true, std::memory_order_acquire)) {
      job.body(job.context, 0, job.tasks, 0);
      return;
    }
    job_ = job;
    done_.store(0, std::memory_order_relaxed);
    // The same thread gets the same part of every launch of the same size: what it wrote in the
    // last one is in its cache.
    for (int i = 0; i < job.threads; ++i) {
      const Range range(job.threads, i * job.chunks / job.threads,
                        (i + 1) * job.chunks / job.threads);
      // Sequentially consistent, as the worker's store to `parked` is: either we see it parked, or
      // it sees the range.
      ready_[Index(i)].word.store(range.word());
    }
    Wake(job.threads);
    TakeChunks(0);
    const auto finished = [&] { return done_.load(std::memory_order_acquire) == job.chunks; };
    while (!SpinUntil(finished)) {
      // A worker was taken off its CPU in the middle of a chunk: it may need this one.
      sched_yield();
    }
    busy_.store(false, std::memory_order_release);
  }

 private:
  struct alignas(kCacheLine) Worker {
    std::atomic<std::uint32_t> parked{0};  // 1: sleeps, or is about to.
    std::thread thread;
  };
  struct alignas(kCacheLine) Ready {
    std::atomic<std::uint64_t> word{0};
  };

  static std::size_t Index(int i) { return static_cast<std::size_t>(i); }

  static void Unpark(Worker& worker) {
    if (worker.parked.load() == 1 && worker.parked.exchange(0) == 1) FutexWake(worker.parked);
  }

  bool HasChunkFor(int thread) const {
    return Range(ready_[Index(thread)].word.load()).HasChunkFor(thread);
  }

  // The first chunk of its own range, or the last one of another thread's; -1: nothing is left.
  std::int64_t Claim(int thread, int owner) {
    std::atomic<std::uint64_t>& word = ready_[Index(owner)].word;
    Range range(word.load(std::memory_order_acquire));
    while (range.HasChunkFor(thread)) {
      const Range rest = owner == thread ? range.WithoutFirst() : range.WithoutLast();
      std::uint64_t seen = range.word();
      if (word.compare_exchange_weak(seen, rest.word(), std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
        return owner == thread ? range.first() : rest.end();
      }
      range = Range(seen);
    }
    return -1;
  }

  // Runs chunks until no thread's range has one for this thread.
  void TakeChunks(int thread) {
    std::int64_t taken = 0;
    const int threads = Range(ready_[Index(thread)].word.load(std::memory_order_acquire)).threads();
    for (int i = 0; i < threads; ++i) {
      const int owner = (thread + i) % threads;
      while (true) {
        const std::int64_t chunk = Claim(thread, owner);
        if (chunk < 0) break;
        // The claim keeps job_ as it is: the launch is over when all its chunks are counted.
        const std::int64_t quotient = job_.tasks / job_.chunks;
        const std::int64_t remainder = job_.tasks % job_.chunks;
        const std::int64_t begin = chunk * quotient + std::min(chunk, remainder);
        const std::int64_t end = begin + quotient + (chunk < remainder ? 1 : 0);
        job_.body(job_.context, begin, end, thread);
        ++taken;
      }
    }
    if (taken != 0) done_.fetch_add(taken, std::memory_order_release);
  }

  void Work(int thread) {
    Worker& self = *workers_[Index(thread)];
    const auto wanted = [&] { return HasChunkFor(thread) || stop_.load(); };
    while (!stop_.load()) {
      TakeChunks(thread);
      if (SpinUntil(wanted)) continue;
      self.parked.store(1);
      if (wanted()) {
        self.parked.store(0);
        continue;
      }
      while (self.parked.load() == 1) FutexWait(self.parked, 1);
    }
  }

  const pid_t pid_;
  std::array<std::unique_ptr<Worker>, kMaxThreads> workers_;  // By thread; 0 is the caller.
  int size_ = 0;
  cpu_set_t affinity_{};

  std::array<Ready, kMaxThreads> ready_;  // By thread.
  alignas(kCacheLine) Job job_;
  std::atomic<bool> stop_{false};
  alignas(kCacheLine) std::atomic<std::int64_t> done_{0};
  alignas(kCacheLine) std::atomic<bool> busy_{false};
};

ThreadPool::ThreadPool() = default;

ThreadPool::~ThreadPool() {
  // In a child process the workers to join do not exist.
  if (crew_ != nullptr && crew_->pid() != getpid()) (void)crew_.release();
}

int ThreadPool::Prepare(int wanted) {
  const cpu_set_t affinity = CallerAffinity();
  const int cpus = std::clamp(CPU_COUNT(&affinity), 1, kMaxThreads);
  const int threads = wanted > 0 ? std::min(wanted, cpus) : cpus;
  if (threads == 1) return 1;

  const std::lock_guard lock(mutex_);
  if (crew_ != nullptr && crew_->pid() != getpid()) (void)crew_.release();
  if (crew_ == nullptr) crew_ = std::make_unique<Crew>();
  crew_->Grow(threads, affinity);
  crew_->Wake(threads);
  return threads;
}

void ThreadPool::Run(int threads, std::int64_t tasks, std::int64_t min_tasks_per_chunk,
                     const void* context, Body body) {
  STOKER_CHECK(threads >= 1 && threads <= kMaxThreads && min_tasks_per_chunk >= 1);
  if (tasks <= 0) return;
  const std::int64_t chunks = std::min(threads * kChunksPerThread, tasks / min_tasks_per_chunk);
  if (threads == 1 || chunks <= 1) {
    body(context, 0, tasks, 0);
    return;
  }
  STOKER_CHECK(crew_ != nullptr);
  const int team = static_cast<int>(std::min<std::int64_t>(threads, chunks));
  crew_->Run(Job{tasks, chunks, team, context, body});
}

}  // namespace stoker::cpu
