// SumRuns: how the sum of a product is cut, so that each element keeps the bound of NUMERICS.md.
//
// A chain of n sums rounds its first term n times, and terms that are alike, or one that is larger
// than all others, have all of these roundings go the same way. K is therefore summed up in runs,
// each from zero, which are added to sums in scratch: a term is rounded as often as its run is
// long, and once for each run. Of the cuts that keep this below a multiple of sqrt(K), the one of
// the fewest runs is taken: to add one costs as much as two steps of K.
#pragma once

#include <cstdint>

namespace stoker::cpu {

// Granules of K in one iteration of a vector micro-kernel, at most; runs are whole iterations.
inline constexpr std::int64_t kMaxUnroll = 8;

struct ContractionPlan;

struct SumRuns {
  bool one = true;  // All of K, through all of its chunks.
  // Otherwise a run is so many iterations of depth[dim], of the last dim granules, within a chunk.
  // 0: K is known when the kernel runs, and with it how long a run is; see RunLength.
  std::size_t dim = 0;
  std::int64_t length = 0;

  bool IsCounted() const { return !one && length == 0; }
};

// Roundings of one term, at most, in a run of so many granules.
std::int64_t RoundingsOf(const ContractionPlan& plan, std::int64_t granules);
// `terms`: K without padding; read only where all of its dims are constant.
SumRuns CutSums(const ContractionPlan& plan, std::int64_t terms);

}  // namespace stoker::cpu
