// Works by the bytes that they touch.
#pragma once

#include <utility>
#include <vector>

#include "runtime/cuda/branches/work.h"

namespace stoker::cuda {

using Bytes = std::pair<std::uint64_t, std::uint64_t>;  // Of memory 0, from and to.

inline Work Touching(const std::vector<Bytes>& reads, const std::vector<Bytes>& writes,
                     double microseconds = 10) {
  Work work;
  for (const auto& [begin, end] : reads) work.reads.push_back({0, begin, end});
  for (const auto& [begin, end] : writes) work.writes.push_back({0, begin, end});
  work.microseconds = microseconds;
  return work;
}

inline Work Barrier() {
  Work work;
  work.is_barrier = true;
  return work;
}

}  // namespace stoker::cuda
