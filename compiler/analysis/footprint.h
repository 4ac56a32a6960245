// Footprint: what the accesses of a loop nest touch, and what its lanes cost them: the one model of
// memory by which loops are ordered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/fusion_limits.h"

namespace stoker {

struct Footprint {
  const Access* access = nullptr;
  bool is_store = false;
  double bytes = 0;  // It touches.

  // Elements between neighbours along `dim`; -1 when that differs from place to place.
  std::int64_t StrideOf(int dim) const;
};

// Of the accesses of a stage over dims of these extents; symbolic ones are taken to be typical.
std::vector<Footprint> FootprintsOf(std::span<const SymDim> extents, const Stage& stage);

// Of lanes along `dim`; -1: of none, element by element.
double CostOfLanes(std::span<const Footprint> footprints, std::span<const SymDim> extents, int dim,
                   const FusionLimits& limits);

}  // namespace stoker
