#include "runtime/cpu/threads/cut.h"

#include <algorithm>

namespace stoker::cpu {
namespace {

// A chunk is worth waking a thread for; who is awake is told in about a tenth of that time.
constexpr std::int64_t kThreadsPerChunk = 4;

}  // namespace

Cut CutTasks(std::int64_t tasks, const Grain& grain, int threads) {
  Cut cut;
  cut.tasks = tasks;
  const std::int64_t worth = tasks / grain.min_tasks_per_chunk;
  if (worth <= 1 || threads <= 1) return cut;
  std::int64_t takers = std::min<std::int64_t>(threads, tasks);
  if (worth < takers) takers = std::min(takers, worth * kThreadsPerChunk);
  const std::int64_t longest = (tasks + takers - 1) / takers;
  takers = (tasks + longest - 1) / longest;
  cut.threads = static_cast<int>(takers);
  const std::int64_t chunks = std::min(worth, tasks / grain.min_tasks_per_call);
  cut.chunks =
      std::min(tasks, takers * std::clamp<std::int64_t>(chunks / takers, 1, kChunksPerThread));
  return cut;
}

}  // namespace stoker::cpu
