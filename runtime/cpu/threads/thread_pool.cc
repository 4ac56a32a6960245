#include "runtime/cpu/threads/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "protocol/base/check.h"
#include "runtime/cpu/threads/crew.h"

namespace stoker::cpu {

cpu_set_t AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails only on machines with more CPUs than cpu_set_t has room for: use those it names.
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &set);
  }
  return set;
}

ThreadPool::ThreadPool(cpu_set_t (*allowed_cpus)()) : allowed_cpus_(allowed_cpus) {}

ThreadPool::~ThreadPool() {
  // In a child process the workers to join do not exist.
  if (crew_ != nullptr && crew_->pid() != getpid()) (void)crew_.release();
}

ThreadPool::Crew* ThreadPool::CrewOfThisProcess() {
  const std::lock_guard lock(mutex_);
  if (crew_ != nullptr && crew_->pid() != getpid()) (void)crew_.release();
  if (crew_ == nullptr) crew_ = std::make_unique<Crew>();
  return crew_.get();
}

ThreadPool::Team ThreadPool::Gather(int wanted) {
  if (wanted == 1) return Team(nullptr, 0, 1);
  const cpu_set_t cpus = allowed_cpus_();
  const int allowed = std::clamp(CPU_COUNT(&cpus), 1, kMaxThreads);
  const int threads = wanted > 0 ? std::min(wanted, allowed) : allowed;
  if (threads > 1) {
    Crew* const crew = CrewOfThisProcess();
    const int squad = crew->Join(threads, cpus);
    if (squad >= 0) return Team(crew, squad, threads);
  }
  return Team(nullptr, 0, 1);
}

ThreadPool::Team::Team(Team&& other) noexcept
    : crew_(std::exchange(other.crew_, nullptr)),
      squad_(other.squad_),
      threads_(std::exchange(other.threads_, 1)) {}

ThreadPool::Team::~Team() {
  if (crew_ != nullptr) crew_->Leave(squad_);
}

void ThreadPool::Team::Run(std::int64_t tasks, const Grain& grain, const void* context, Body body) {
  STOKER_CHECK(grain.min_tasks_per_chunk >= 1 && grain.min_tasks_per_call >= 1);
  if (tasks <= 0) return;
  if (crew_ == nullptr || tasks / grain.min_tasks_per_chunk <= 1) {
    body(context, 0, tasks, {0, 1, true});
    return;
  }
  crew_->Run(squad_, tasks, grain, context, body);
}

}  // namespace stoker::cpu
