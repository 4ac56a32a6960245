#include "compiler/schedule/cpu/contraction/sum_runs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/schedule/cpu/contraction/contraction_plan.h"
#include "compiler/schedule/cpu/launch/sizes.h"
#include "protocol/base/check.h"

namespace stoker::cpu {
namespace {

// Of a term, over the square root of K: what NUMERICS.md allows. Vector micro-kernels have shorter
// runs than they must: libraries that sum up few rows in as many chains as a vector has lanes err
// by half as much.
constexpr double kMaxRoundings = 4;
constexpr double kMaxVectorRoundings = 2.75;
// Inside one tile product two chains of 16 exact products each are summed up, and then added.
constexpr std::int64_t kTileRoundings = 16;
constexpr std::int64_t kSplitProducts = 6;

// Runs of equal length have fewer branches: a slightly shorter length is as good if it divides.
std::int64_t Even(std::int64_t length, std::int64_t extent, std::int64_t step) {
  for (std::int64_t shorter = length; 4 * shorter >= 3 * length; shorter -= step) {
    if (extent % shorter == 0) return shorter;
  }
  return length;
}

}  // namespace

std::int64_t RoundingsOf(const ContractionPlan& plan, std::int64_t granules) {
  switch (plan.kernel) {
    case MicroKernel::kMultiplyAdd:
      return granules;
    case MicroKernel::kDotBF16:
      return 2 * granules - 1;  // The first product is exact.
    case MicroKernel::kAmx:
      return kTileRoundings + granules - 1;
    case MicroKernel::kAmxSplit:
      // The products of high parts are the last ones of a granule; the others are small.
      return kTileRoundings + kSplitProducts * (granules - 1) + 1;
  }
  STOKER_CHECK(false);
}

SumRuns CutSums(const ContractionPlan& plan, std::int64_t terms) {
  SumRuns runs;
  runs.one = false;
  runs.dim = plan.depth.size() - 1;
  std::vector<std::int64_t> extents;
  for (const ContractionDim& dim : plan.depth) {
    if (!dim.extent.IsConstant()) return runs;
    extents.push_back(dim.extent.constant());
  }
  extents.back() = DivUp(extents.back(), plan.depth_granule);
  std::int64_t inner = 1;
  for (const std::int64_t extent : extents) inner *= extent;
  const double limit = (IsAmx(plan.kernel) ? kMaxRoundings : kMaxVectorRoundings) *
                       std::sqrt(static_cast<double>(terms));
  const auto holds = [&](std::int64_t granules, std::int64_t number) {
    return static_cast<double>(RoundingsOf(plan, granules) + number - 1) <= limit;
  };
  if (inner <= 1 || holds(inner, 1)) return SumRuns();
  std::int64_t outer = 1;
  if (plan.chunk != 0) {
    const std::int64_t chunk = plan.chunk / plan.depth_granule;
    outer = DivUp(extents.back(), chunk);
    inner = extents.back() = std::min(chunk, extents.back());
  }
  for (runs.dim = 0; runs.dim < extents.size(); ++runs.dim) {
    const std::int64_t extent = extents[runs.dim];
    const bool is_vector = !IsAmx(plan.kernel) && runs.dim + 1 == extents.size();
    const std::int64_t step = is_vector ? kMaxUnroll : 1;
    inner /= extent;
    for (std::int64_t number = 1; number <= extent; ++number) {
      runs.length = Even(RoundUp(DivUp(extent, number), step), extent, step);
      if (holds(runs.length * inner, outer * DivUp(extent, runs.length))) return runs;
      if (runs.length == step) break;
    }
    outer *= extent;
  }
  --runs.dim;  // The shortest runs there are.
  return runs;
}

}  // namespace stoker::cpu
