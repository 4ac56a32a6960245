// RequestMetrics: how many requests each route has had, how they ended and how long they took.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/policy/latency_histogram.h"

namespace stoker {

class RequestMetrics {
 public:
  struct Row {
    std::string route;
    std::map<int, std::uint64_t> by_status;  // Of those that came.
    LatencySnapshot latency;                 // From the request's last byte to the reply's first.
  };

  explicit RequestMetrics(std::vector<std::string> routes) : routes_(std::move(routes)) {
    counts_ = std::vector<Counts>(routes_.size());
  }

  // `route` is a place in the list. From any thread, without a lock.
  void Record(std::size_t route, int status, std::chrono::nanoseconds duration);
  // Routes that had requests, in the order of the list.
  std::vector<Row> Snapshot() const;

 private:
  static constexpr int kFirstStatus = 100;
  static constexpr int kStatusCount = 500;

  struct Counts {
    std::array<std::atomic<std::uint64_t>, kStatusCount> by_status{};
    LatencyHistogram latency;
  };

  const std::vector<std::string> routes_;
  std::vector<Counts> counts_;
};

}  // namespace stoker
