#include "compiler/schedule/cpu/loop_passes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/schedule/loops/collapse_loops.h"

namespace stoker::cpu {
namespace {

// Splits inner dim `dim` by `block`, which divides its extent; the blocks become the last outer
// dim.
bool Split(LoopFunc& func, int dim, std::int64_t block) {
  LoopFunc split = func;
  const int position = func.num_outer;
  std::vector<SymDim> extents = func.dims;
  SymDim& extent = extents[static_cast<std::size_t>(dim)];
  const SymDim blocks = SymDim::FloorDiv(extent, block);
  extent = block;
  extents.insert(extents.begin() + position, blocks);
  DimMapping mapping{IndexSpace(std::move(extents)), {}};
  for (int i = 0; i < static_cast<int>(func.dims.size()); ++i) {
    mapping.replacements.push_back(mapping.space.Dim(i < position ? i : i + 1));
  }
  IndexMap& replaced = mapping.replacements[static_cast<std::size_t>(dim)];
  replaced = mapping.space.Add(replaced, mapping.space.Scale(mapping.space.Dim(position), block));
  if (!RemapLoop(mapping, split)) return false;
  ++split.num_outer;
  for (Stage& stage : split.stages) {
    for (int& d : stage.loops) ++d;
    for (Reduction& reduction : stage.reductions) {
      for (int& d : reduction.over) ++d;
    }
  }
  func = std::move(split);
  return true;
}

// The largest divisor of `extent` that is at most `limit`; whole vectors if that costs no more than
// half of it.
std::int64_t BlockOf(std::int64_t extent, std::int64_t limit, const CpuTaskLimits& limits) {
  std::int64_t best = 1;
  std::int64_t best_of_lanes = 0;
  for (std::int64_t block = 1; block <= std::min(extent, limit); ++block) {
    if (extent % block != 0) continue;
    best = block;
    if (block % limits.block_lanes == 0) best_of_lanes = block;
  }
  return best_of_lanes * 2 >= best ? best_of_lanes : best;
}

void SplitPointwise(LoopFunc& func, const CpuTaskLimits& limits) {
  Stage& stage = func.stages[0];
  // The innermost dims whose points make a task.
  std::int64_t elements = 1;
  std::int64_t total = 1;
  bool is_static = true;
  for (const SymDim& extent : func.dims) {
    is_static = is_static && extent.IsConstant();
    if (is_static) total *= extent.constant();
  }
  if (is_static && total <= limits.min_parallel_elements) return;
  std::size_t first = func.dims.size();
  while (first > 0) {
    const SymDim& extent = func.dims[first - 1];
    if (!extent.IsConstant()) {
      if (first == func.dims.size()) --first;  // Symbolic lanes.
      break;
    }
    if (elements * extent.constant() > limits.max_elements) {
      if (elements < limits.min_elements) {
        --first;
        elements *= extent.constant();
      }
      break;
    }
    --first;
    elements *= extent.constant();
  }
  func.num_outer = static_cast<int>(first);
  stage.loops.erase(stage.loops.begin(), stage.loops.begin() + static_cast<std::ptrdiff_t>(first));
  if (elements <= limits.max_elements) return;
  const std::int64_t extent = func.dims[first].constant();
  const std::int64_t rest = elements / extent;
  const std::int64_t block =
      BlockOf(extent, std::max<std::int64_t>(1, limits.max_elements / rest), limits);
  if (block * rest < limits.min_elements / 2 || block == extent) return;
  Split(func, func.num_outer, block);
}

void SplitLanes(LoopFunc& func, const CpuTaskLimits& limits) {
  if (func.dims.empty()) return;
  const int lane = static_cast<int>(func.dims.size()) - 1;
  if (lane < func.num_outer || !func.dims.back().IsConstant()) return;
  for (const Stage& stage : func.stages) {
    // What is stored beside the lanes would be stored by each block of them.
    if (!stage.stores.empty() && !Contains(stage.loops, lane)) return;
    for (const Reduction& reduction : stage.reductions) {
      if (Contains(reduction.over, lane)) return;
    }
  }
  std::int64_t tasks = 1;
  for (int i = 0; i < func.num_outer; ++i) {
    const SymDim& extent = func.dims[static_cast<std::size_t>(i)];
    if (!extent.IsConstant()) return;
    tasks *= extent.constant();
  }
  const std::int64_t lanes = func.dims.back().constant();
  if (tasks >= limits.wanted_tasks || lanes < 2 * limits.min_lanes) return;
  const std::int64_t block =
      BlockOf(lanes, std::max(limits.min_lanes, lanes * tasks / limits.wanted_tasks), limits);
  if (block < limits.min_lanes / 2) return;
  Split(func, lane, block);
}

}  // namespace

void SplitLoops(LoopFunc& func, const CpuTaskLimits& limits) {
  std::vector<int> nest(func.dims.size());  // As dims are numbered.
  std::iota(nest.begin(), nest.end(), 0);
  const bool is_pointwise = func.num_outer == 0 && func.stages.size() == 1 &&
                            func.stages[0].reductions.empty() && func.stages[0].loops == nest;
  if (is_pointwise) {
    SplitPointwise(func, limits);
  } else {
    SplitLanes(func, limits);
  }
}

}  // namespace stoker::cpu
