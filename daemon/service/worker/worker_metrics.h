// WorkerMetrics: how long requests wait and run, and why workers were replaced, since the start.
// Countable from any thread without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cache/policy/latency_histogram.h"

namespace stoker {

enum class WorkerEnd {
  kCrash,      // It ended by itself or by a signal.
  kTimeout,    // It was ended at the limit of time.
  kMemory,     // It met the limit of memory.
  kHost,       // It did not find on this host what a target needs.
  kUntrusted,  // It failed in another way, or what it said is not what a worker says.
  kWornOut,    // It has served its share.
  kDisplaced,  // Workers of other namespaces took its place.
};
inline constexpr std::size_t kWorkerEndCount = 7;

constexpr std::string_view Name(WorkerEnd end) {
  constexpr std::array<std::string_view, kWorkerEndCount> kNames = {
      "crash", "timeout", "memory", "host", "untrusted", "worn_out", "displaced"};
  return kNames[static_cast<std::size_t>(end)];
}

struct WorkerMetrics {
  LatencyHistogram queue;  // From being asked for to a free place.
  LatencyHistogram run;    // From there to the answer, whatever it is.
  std::array<std::atomic<std::uint64_t>, kWorkerEndCount> ends{};

  void Count(WorkerEnd end) {
    ends[static_cast<std::size_t>(end)].fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace stoker
