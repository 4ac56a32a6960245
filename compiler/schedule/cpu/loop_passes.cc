#include "compiler/schedule/cpu/loop_passes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "compiler/analysis/remap_dims.h"

namespace stoker::cpu {
namespace {

bool Contains(const std::vector<int>& dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// All accesses, bodies and reductions of `func` over the new dims; loops and `over` are the
// caller's to set.
bool Remap(LoopFunc& func, const DimMapping& mapping) {
  for (Stage& stage : func.stages) {
    std::vector<std::uint32_t*> values;
    for (Temporary& temporary : stage.temporaries) values.push_back(&temporary.value);
    for (Reduction& reduction : stage.reductions) values.push_back(&reduction.value);
    if (!RemapBody(mapping, stage.body, stage.stores, values)) return false;
  }
  func.dims = mapping.space.extents();
  return true;
}

bool StepsAsOne(const IndexMap& index, int dim, const SymDim& inner_extent) {
  for (const IndexTerm& term : index.terms) {
    if ((term.dim == dim || term.dim == dim + 1) && (term.divisor != 1 || term.modulus != 0)) {
      return false;
    }
  }
  return index.CoefficientOf(dim) == index.CoefficientOf(dim + 1) * inner_extent;
}

bool CanCollapse(const LoopFunc& func, int dim) {
  if (dim + 1 == func.num_outer) return false;
  const SymDim& outer = func.dims[static_cast<std::size_t>(dim)];
  const SymDim& inner = func.dims[static_cast<std::size_t>(dim) + 1];
  // Lanes of a known number are worth more than one loop less.
  const bool is_inner = dim >= func.num_outer;
  if (is_inner && outer.IsConstant() != inner.IsConstant()) return false;
  for (const Stage& stage : func.stages) {
    if (ReadsIndexOf(stage.body, dim) || ReadsIndexOf(stage.body, dim + 1)) return false;
    bool fits = true;
    ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool) {
      fits = fits && StepsAsOne(access.index, dim, inner);
    });
    if (!fits) return false;
    if (!is_inner) continue;
    const auto at = std::find(stage.loops.begin(), stage.loops.end(), dim);
    const bool has_outer = at != stage.loops.end();
    const bool has_inner = Contains(stage.loops, dim + 1);
    if (has_outer != has_inner) return false;
    if (has_outer && (at + 1 == stage.loops.end() || *(at + 1) != dim + 1)) return false;
    for (const Reduction& reduction : stage.reductions) {
      if (Contains(reduction.over, dim) != Contains(reduction.over, dim + 1)) return false;
    }
  }
  return true;
}

void Collapse(LoopFunc& func, int dim) {
  const SymDim inner = func.dims[static_cast<std::size_t>(dim) + 1];
  DimMapping mapping;
  std::vector<SymDim> extents = func.dims;
  extents[static_cast<std::size_t>(dim)] = extents[static_cast<std::size_t>(dim)] * inner;
  extents.erase(extents.begin() + dim + 1);
  mapping.space = IndexSpace(std::move(extents));
  // Accesses step through both dims as one: the outer index is dropped, the inner one runs on.
  for (int i = 0; i < static_cast<int>(func.dims.size()); ++i) {
    mapping.replacements.push_back(i == dim ? IndexMap() : mapping.space.Dim(i > dim ? i - 1 : i));
  }
  STOKER_CHECK(Remap(func, mapping));
  const auto renumber = [&](std::vector<int>& dims) {
    std::erase(dims, dim + 1);
    for (int& d : dims) d -= d > dim ? 1 : 0;
  };
  for (Stage& stage : func.stages) {
    renumber(stage.loops);
    for (Reduction& reduction : stage.reductions) renumber(reduction.over);
  }
  if (dim < func.num_outer) --func.num_outer;
}

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
  if (!Remap(split, mapping)) return false;
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

void CollapseLoops(LoopFunc& func) {
  for (int dim = static_cast<int>(func.dims.size()) - 2; dim >= 0; --dim) {
    if (CanCollapse(func, dim)) Collapse(func, dim);
  }
}

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
