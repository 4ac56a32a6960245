#include "compiler/schedule/loop_order.h"

#include <algorithm>
#include <numeric>

#include "compiler/analysis/footprint.h"
#include "compiler/analysis/remap_dims.h"

namespace stoker {
namespace {

std::vector<Footprint> FootprintsOf(const LoopFunc& func) {
  std::vector<Footprint> footprints;
  for (const Stage& stage : func.stages) {
    const std::vector<Footprint> more = FootprintsOf(func.dims, stage);
    footprints.insert(footprints.end(), more.begin(), more.end());
  }
  return footprints;
}

// Does it give places? They count row by row over the reduced dims, and the first of equal ones
// counts: as loops go.
bool HasArgReduction(const LoopFunc& func) {
  for (const Stage& stage : func.stages) {
    for (const Reduction& reduction : stage.reductions) {
      if (IsArg(reduction.kind)) return true;
    }
  }
  return false;
}

}  // namespace

LoopOrder ChooseLoopOrder(const Group& group, const LoopFunc& func, const FusionLimits& limits) {
  const std::vector<Footprint> footprints = FootprintsOf(func);
  const auto is_reduced = [&](int dim) {
    return std::find(group.reduced.begin(), group.reduced.end(), dim) != group.reduced.end();
  };

  const bool counts_places = HasArgReduction(func);
  int last_reduced = -1;
  for (const int dim : group.reduced) {
    if (group.space.extent(dim) != SymDim(1)) last_reduced = dim;
  }

  int lanes = -1;
  double best = 0;
  for (int dim = group.space.rank() - 1; dim >= 0; --dim) {
    const SymDim& extent = group.space.extent(dim);
    if (extent == SymDim(1)) continue;
    if (counts_places && is_reduced(dim) && dim != last_reduced) continue;
    // Lanes that a reduction keeps lie in scratch, whose size is constant.
    if (!group.reduced.empty() && !is_reduced(dim) && !extent.IsConstant()) continue;
    const double cost = CostOfLanes(footprints, func.dims, dim, limits);
    if (lanes < 0 || cost < best) {
      lanes = dim;
      best = cost;
    }
  }

  std::vector<int> dims(static_cast<std::size_t>(group.space.rank()));
  std::iota(dims.begin(), dims.end(), 0);
  const auto largest = std::max_element(
      footprints.begin(), footprints.end(), [](const Footprint& a, const Footprint& b) {
        return a.bytes != b.bytes ? a.bytes < b.bytes : a.is_store < b.is_store;
      });
  if (largest != footprints.end()) {
    // Dims the largest access does not have go outside.
    const auto key = [&](int dim) {
      const std::int64_t stride = largest->StrideOf(dim);
      return stride == 0 ? INT64_MAX : stride;
    };
    std::vector<int> sorted;
    for (const int dim : dims) {
      auto at = sorted.begin();
      while (at != sorted.end() && key(*at) >= key(dim)) ++at;
      sorted.insert(at, dim);
    }
    dims = std::move(sorted);
  }

  LoopOrder order;
  for (const int dim : dims) {
    if (!is_reduced(dim) && dim != lanes) order.dims.push_back(dim);
  }
  if (!group.reduced.empty()) order.num_outer = static_cast<int>(order.dims.size());
  if (counts_places) dims = group.reduced;
  for (const int dim : dims) {
    if (is_reduced(dim) && dim != lanes) order.dims.push_back(dim);
  }
  if (lanes >= 0) order.dims.push_back(lanes);
  return order;
}

std::optional<DimSplit> FindDimSplit(const IndexSpace& space, const IndexMap& index) {
  for (const IndexTerm& term : index.terms) {
    const SymDim& extent = space.extent(term.dim);
    if (!extent.IsConstant()) continue;
    for (const std::int64_t inner : {term.divisor, term.modulus}) {
      if (inner > 1 && inner < extent.constant() && extent.constant() % inner == 0) {
        return DimSplit{term.dim, inner};
      }
    }
  }
  return std::nullopt;
}

std::optional<DimSplit> FindDimSplit(const IndexSpace& space, const LoopFunc& func) {
  std::optional<DimSplit> split;
  for (const Stage& stage : func.stages) {
    ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool) {
      if (!split) split = FindDimSplit(space, access.index);
    });
  }
  return split;
}

}  // namespace stoker
