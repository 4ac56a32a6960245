#include "compiler/analysis/footprint.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/analysis/remap_dims.h"
#include "compiler/analysis/typical_size.h"

namespace stoker {

std::int64_t Footprint::StrideOf(int dim) const {
  std::int64_t stride = 0;
  for (const IndexTerm& term : access->index.terms) {
    if (term.dim != dim) continue;
    if (term.divisor != 1 || term.modulus != 0) return -1;
    stride += std::abs(TypicalSize(term.coefficient));
  }
  return stride;
}

std::vector<Footprint> FootprintsOf(std::span<const SymDim> extents, const Stage& stage) {
  std::vector<Footprint> footprints;
  ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool is_store) {
    double bytes = SizeInBytes(access.dtype);
    for (const int dim : DimsOf(std::span(&access.index, 1))) {
      bytes *= static_cast<double>(TypicalSize(extents[static_cast<std::size_t>(dim)]));
    }
    footprints.push_back({&access, is_store, bytes});
  });
  return footprints;
}

double CostOfLanes(std::span<const Footprint> footprints, std::span<const SymDim> extents, int dim,
                   const FusionLimits& limits) {
  double cost = 0;
  for (const Footprint& footprint : footprints) {
    const std::int64_t stride = dim < 0 ? 0 : footprint.StrideOf(dim);
    cost += footprint.bytes * (stride == 0 || stride == 1 ? 1 : limits.strided_cost);
  }
  // Lanes that are not there.
  const auto size = dim < 0 ? 1 : TypicalSize(extents[static_cast<std::size_t>(dim)]);
  const double used = std::min(limits.vector_lanes, static_cast<double>(size));
  return cost * limits.vector_lanes / used;
}

}  // namespace stoker
