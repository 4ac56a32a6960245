// Work: a launch, or a call of a library, as far as it matters what may run beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/artifact/sized_plan.h"

namespace stoker::cuda {

// Bytes [begin, end) of one memory; those of two memories are apart.
struct Extent {
  std::uint32_t memory = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Work {
  std::vector<Extent> reads;
  std::vector<Extent> writes;        // Which it may read too.
  double microseconds = 0;           // MicrosecondsOf.
  std::int64_t workspace_bytes = 0;  // What it has to itself while it runs.
  bool is_barrier = false;           // Whatever it does: after all before it, before all after it.
};

// What it takes a large GPU at least, beside what every launch takes: by the bytes that it moves
// and what it computes. Good for comparing works, not for telling times.
double MicrosecondsOf(const SizedWork& work);

}  // namespace stoker::cuda
