#include "daemon/admin/pages/request_metrics.h"

#include <algorithm>

namespace stoker {

void RequestMetrics::Record(std::size_t route, int status, std::chrono::nanoseconds duration) {
  Counts& counts = counts_[route];
  const int place = std::clamp(status - kFirstStatus, 0, kStatusCount - 1);
  counts.by_status[static_cast<std::size_t>(place)].fetch_add(1, std::memory_order_relaxed);
  counts.latency.Record(duration.count());
}

std::vector<RequestMetrics::Row> RequestMetrics::Snapshot() const {
  std::vector<Row> rows;
  for (std::size_t route = 0; route < routes_.size(); ++route) {
    Row row;
    for (std::size_t place = 0; place < counts_[route].by_status.size(); ++place) {
      const std::uint64_t count = counts_[route].by_status[place].load(std::memory_order_relaxed);
      if (count > 0) row.by_status[static_cast<int>(place) + kFirstStatus] = count;
    }
    if (row.by_status.empty()) continue;
    row.route = routes_[route];
    row.latency = counts_[route].latency.snapshot();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace stoker
