#include "runtime/cpu/threads/crew.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "runtime/cpu/threads/shares.h"

namespace stoker::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kSpin{kSpinMicroseconds};

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

void FutexWait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Unpark(Worker& worker) {
  if (worker.parked.load() == 1 && worker.parked.exchange(0) == 1) FutexWake(worker.parked);
}

// Spins until `ready()` or until the time is over; true when ready.
template <typename Ready>
bool SpinUntil(Ready ready) {
  const auto deadline = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (Clock::now() < deadline);
  return false;
}

// A thread of a squad takes chunks: those of its own range, then what others have not begun.
class Taker {
 public:
  Taker(Squad& squad, std::uint32_t formation, int thread)
      : squad_(squad), formation_(formation), thread_(thread) {}

  bool HasChunk() const { return Own().HasChunkFor(formation_, thread_); }

  template <typename Stays>
  void TakeOwn(Stays stays) {
    Take(thread_, stays);
  }

  // Ends early where the next launch has begun.
  template <typename Stays>
  void TakeOver(Stays stays) {
    const int threads = Own().threads();
    for (int i = 1; i < threads && !HasChunk(); ++i) Take((thread_ + i) % threads, stays);
  }

 private:
  Range Own() const { return Range(squad_.ready[Index(thread_)].word.load()); }

  // Runs chunks of one thread's range while `stays()`. They are counted at once: the launch is over
  // when all its chunks are, and until then its job stays as it is.
  template <typename Stays>
  void Take(int owner, Stays stays) {
    std::uint64_t taken = 0;
    for (; stays(); ++taken) {
      const std::int64_t chunk = Claim(owner);
      if (chunk < 0) break;
      const Job& job = squad_.job;
      const bool begins = std::exchange(launch_, job.launch) != job.launch;
      job.body(job.context, job.cut.BeginOf(chunk), job.cut.BeginOf(chunk + 1),
               {thread_, job.cut.threads, begins});
    }
    if (taken == 0) return;
    std::atomic<std::uint64_t>& done = squad_.done[Index(thread_)].word;
    done.store(done.load(std::memory_order_relaxed) + taken, std::memory_order_release);
  }

  // The first chunk of its own range, or the last one of another thread's; -1: nothing is left.
  std::int64_t Claim(int owner) {
    std::atomic<std::uint64_t>& word = squad_.ready[Index(owner)].word;
    Range range(word.load(std::memory_order_acquire));
    while (range.HasChunkFor(formation_, thread_)) {
      const Range rest = owner == thread_ ? range.WithoutFirst() : range.WithoutLast();
      std::uint64_t seen = range.word();
      if (word.compare_exchange_weak(seen, rest.word(), std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
        return owner == thread_ ? range.first() : rest.end();
      }
      range = Range(seen);
    }
    return -1;
  }

  Squad& squad_;
  const std::uint32_t formation_;
  const int thread_;
  std::uint64_t launch_ = 0;  // Whose chunk was the last.
};

// Chunks that threads [0, threads) have run in the squad's life.
std::uint64_t DoneBy(const Squad& squad, int threads) {
  std::uint64_t done = 0;
  for (int i = 0; i < threads; ++i) {
    done += squad.done[Index(i)].word.load(std::memory_order_acquire);
  }
  return done;
}

}  // namespace

ThreadPool::Crew::Crew() : pid_(getpid()) {}

ThreadPool::Crew::~Crew() {
  stop_.store(true);
  for (int i = 0; i < size_; ++i) Unpark(*workers_[Index(i)]);
  for (int i = 0; i < size_; ++i) workers_[Index(i)]->thread.join();
}

int ThreadPool::Crew::Join(int wanted, const cpu_set_t& cpus) {
  const std::lock_guard lock(mutex_);
  const int index = IdleSquad();
  if (index < 0) return index;
  Squad& squad = *squads_[Index(index)];
  const bool moves = !CPU_EQUAL(&squad.cpus, &cpus);
  squad.is_active = true;
  squad.wanted = wanted;
  squad.cpus = cpus;
  const std::array<int, kMaxTeams> shares = Shares(nullptr);
  ReleaseWhatExceeds(shares);
  Form(index, shares[Index(index)], moves);
  for (Worker* const worker : squad.members) Unpark(*worker);
  return index;
}

void ThreadPool::Crew::Leave(int index) {
  const std::lock_guard lock(mutex_);
  Squad& squad = *squads_[Index(index)];
  squad.is_active = false;
  if (teams_ == 1) return;
  squad.left_at = Clock::now();
  bool is_needed = false;
  for (int i = 0; i < teams_; ++i) {
    const Squad& other = *squads_[Index(i)];
    is_needed |= other.is_active && other.strength < other.wanted;
  }
  // Whoever has less than it wants looks for workers with its next launches.
  if (is_needed) changes_.fetch_add(1);
}

void ThreadPool::Crew::Run(int index, std::int64_t tasks, const Grain& grain, const void* context,
                           Body body) {
  Squad& squad = *squads_[Index(index)];
  if (changes_.load(std::memory_order_acquire) != squad.seen_changes) FollowChanges(index);
  const Cut cut = CutTasks(tasks, grain, static_cast<int>(squad.members.size()) + 1);
  if (cut.threads == 1) {
    body(context, 0, tasks, {0, 1, true});
    return;
  }
  squad.job = Job{squad.job.launch + 1, cut, context, body};
  const std::uint64_t all_done =
      DoneBy(squad, cut.threads) + static_cast<std::uint64_t>(cut.chunks);
  // The same thread gets the same part of every launch of the same size: what it wrote in the last
  // one is in its cache.
  for (int i = 0; i < cut.threads; ++i) {
    const Range range(squad.formation, cut.threads, cut.FirstOf(i), cut.FirstOf(i + 1));
    squad.ready[Index(i)].word.store(range.word(), std::memory_order_release);
  }
  // As sequentially consistent as the worker's store to `parked` and its load of the range: either
  // we see it parked, or it sees the range. One fence for all, since each line is another core's.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 1; i < cut.threads; ++i) Unpark(*squad.members[Index(i - 1)]);
  const auto stays = [] { return true; };
  const auto finished = [&] { return DoneBy(squad, cut.threads) == all_done; };
  Taker taker(squad, squad.formation, 0);
  taker.TakeOwn(stays);
  if (!finished()) taker.TakeOver(stays);
  while (!SpinUntil(finished)) {
    // A worker was taken off its CPU in the middle of a chunk: it may need this one.
    sched_yield();
  }
}

void ThreadPool::Crew::FollowChanges(int index) {
  const std::lock_guard lock(mutex_);
  Squad& squad = *squads_[Index(index)];
  const std::uint64_t changes = changes_.load();
  bool settled = true;
  const std::array<int, kMaxTeams> shares = Shares(&settled);
  Form(index, shares[Index(index)], /*moves=*/false);
  if (settled) squad.seen_changes = changes;
}

// The squad that left last, whose workers are awake, or a new one; -1: there are too many.
int ThreadPool::Crew::IdleSquad() {
  int last = -1;
  for (int i = 0; i < teams_; ++i) {
    const Squad& squad = *squads_[Index(i)];
    if (squad.is_active) continue;
    if (last < 0 || squad.left_at > squads_[Index(last)]->left_at) last = i;
  }
  if (last >= 0 || teams_ == kMaxTeams) return last;
  squads_[Index(teams_)] = std::make_unique<Squad>();
  return teams_++;
}

// How many threads each squad may have. Who left a moment ago counts, since it is expected back;
// `settled` (may be null) is then made false.
std::array<int, kMaxTeams> ThreadPool::Crew::Shares(bool* settled) const {
  std::array<int, kMaxTeams> wanted{};
  if (teams_ == 1) {  // Nobody has ever called beside another.
    wanted[0] = squads_[0]->wanted;
    return wanted;
  }
  const Clock::time_point expected_since = Clock::now() - kSpin;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int i = 0; i < teams_; ++i) {
    const Squad& squad = *squads_[Index(i)];
    const bool is_expected = !squad.is_active && squad.left_at > expected_since;
    if (!squad.is_active && !is_expected) continue;
    if (is_expected && settled != nullptr) *settled = false;
    wanted[Index(i)] = squad.wanted;
    CPU_OR(&cpus, &cpus, &squad.cpus);
  }
  return FairShares(wanted, CPU_COUNT(&cpus));
}

// Who joins need not wait until the launches of the others are over.
void ThreadPool::Crew::ReleaseWhatExceeds(const std::array<int, kMaxTeams>& shares) {
  bool released = false;
  for (int i = 0; i < teams_; ++i) {
    Squad& squad = *squads_[Index(i)];
    for (std::size_t m = squad.members.size(); m-- > 0;) {
      if (!squad.is_active || squad.strength <= shares[Index(i)]) break;
      if (squad.members[m]->squad != &squad) continue;
      Release(*squad.members[m]);
      released = true;
    }
  }
  if (released) changes_.fetch_add(1);
}

void ThreadPool::Crew::Release(Worker& worker) {
  --worker.squad->strength;
  worker.squad = nullptr;
  worker.post.store(Post().word());
}

// Gives the squad `share` threads, as far as there are workers, and binds them to its CPUs if it
// `moves`. Its caller is between launches.
void ThreadPool::Crew::Form(int index, int share, bool moves) {
  Squad& squad = *squads_[Index(index)];
  const auto is_lost = [&](const Worker* worker) { return worker->squad != &squad; };
  bool changes = std::erase_if(squad.members, is_lost) != 0;
  for (; squad.strength > share; changes = true) {
    Release(*squad.members.back());
    squad.members.pop_back();
  }
  for (; squad.strength < share; changes = true) {
    Worker* const worker = Obtain(squad);
    if (worker == nullptr) break;
    worker->squad = &squad;
    ++squad.strength;
    squad.members.push_back(worker);
  }
  if (!changes && !moves) return;
  ++squad.formation;
  for (std::size_t m = 0; m < squad.members.size(); ++m) {
    Worker& worker = *squad.members[m];
    worker.post.store(Post(index, static_cast<int>(m) + 1, squad.formation).word());
    if (CPU_EQUAL(&worker.cpus, &squad.cpus)) continue;
    worker.cpus = squad.cpus;
    pthread_setaffinity_np(worker.thread.native_handle(), sizeof worker.cpus, &worker.cpus);
  }
}

// A worker that nobody needs, or a new one; null: there can be no more.
Worker* ThreadPool::Crew::Obtain(const Squad& taker) {
  Worker* idle = nullptr;
  for (int i = 0; i < size_; ++i) {
    Worker& worker = *workers_[Index(i)];
    if (worker.squad == nullptr) return &worker;
    if (!worker.squad->is_active) idle = &worker;
  }
  if (idle == nullptr) return size_ < kMaxThreads ? Start(taker) : nullptr;
  --idle->squad->strength;
  return idle;
}

Worker* ThreadPool::Crew::Start(const Squad& taker) {
  auto worker = std::make_unique<Worker>();
  worker->cpus = taker.cpus;
  try {
    // It inherits the affinity of this thread, the taker's caller.
    worker->thread = std::thread([this, self = worker.get()] { Work(*self); });
  } catch (const std::system_error&) {
    return nullptr;  // The system has no more threads: those there are compute it all.
  }
  return (workers_[Index(size_++)] = std::move(worker)).get();
}

void ThreadPool::Crew::Work(Worker& self) {
  while (!stop_.load()) {
    const Post post(self.post.load());
    const auto is_called = [&] { return self.post.load() != post.word() || stop_.load(); };
    if (post.IsFree()) {  // Nobody waits for it.
      Park(self, is_called);
      continue;
    }
    Taker taker(*squads_[Index(post.squad())], post.formation(), post.thread());
    const auto stays = [&] { return self.post.load(std::memory_order_relaxed) == post.word(); };
    const auto wanted = [&] { return taker.HasChunk() || is_called(); };
    do {
      taker.TakeOwn(stays);
      taker.TakeOver(stays);
      if (!SpinUntil(wanted)) Park(self, wanted);
    } while (!is_called());
  }
}

// Sleeps until somebody unparks the worker, unless `wanted()` already.
template <typename Wanted>
void ThreadPool::Crew::Park(Worker& self, Wanted wanted) {
  self.parked.store(1);
  if (wanted()) {
    self.parked.store(0);
    return;
  }
  while (self.parked.load() == 1) FutexWait(self.parked, 1);
}

}  // namespace stoker::cpu
