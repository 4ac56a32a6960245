// LatencyHistogram: durations in buckets that double, countable from any thread without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stoker {

// Bucket i counts durations of at most LatencyBucketLimitNanos(i); the last one counts all longer
// ones.
inline constexpr std::size_t kLatencyBuckets = 31;
constexpr std::int64_t LatencyBucketLimitNanos(std::size_t bucket) {
  return std::int64_t{1000} << bucket;  // 1 us, 2 us, ... 537 s
}

struct LatencySnapshot {
  std::array<std::uint64_t, kLatencyBuckets> counts{};
  std::int64_t total_ns = 0;
};

class LatencyHistogram {
 public:
  void Record(std::int64_t duration_ns) {
    std::size_t bucket = 0;
    while (bucket + 1 < kLatencyBuckets && duration_ns > LatencyBucketLimitNanos(bucket)) ++bucket;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    total_ns_.fetch_add(duration_ns, std::memory_order_relaxed);
  }

  // Not one moment: counts that change meanwhile may or may not be seen.
  LatencySnapshot snapshot() const {
    LatencySnapshot snapshot;
    for (std::size_t i = 0; i < kLatencyBuckets; ++i) {
      snapshot.counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    snapshot.total_ns = total_ns_.load(std::memory_order_relaxed);
    return snapshot;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kLatencyBuckets> counts_{};
  std::atomic<std::int64_t> total_ns_ = 0;
};

}  // namespace stoker
