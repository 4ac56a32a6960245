// The parts of a contraction while it is lowered.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/lowering/lowering.h"

namespace stoker {

struct Lowering::ContractionParts {
  ContractionParts(const Node& anchor, const ProgramBuilder& builder)
      : node(anchor), operands(builder) {}

  bool IsUnit(int dim) const { return space.extent(dim) == SymDim(1); }
  SymDim ProductOf(const std::vector<int>& dims) const;

  const Node& node;
  ContractionFunc func;
  KernelOperands operands;
  std::vector<Root> roots;
  // Dims of the group's space, outermost first.
  std::vector<int> batch;
  std::vector<int> m;
  int n = 0;
  // The group's space with the k dims behind it.
  IndexSpace space;
  std::vector<int> k;
  Address lhs;
  ElementIndex rhs_index;
  std::string label;
};

// So often dims are split, or operands copied, until accesses are affine.
inline constexpr int kMaxContractionAttempts = 16;

// Batch dims, then free ones, then contracted ones.
Layout LayoutOfRows(int rank, const std::vector<std::int64_t>& batch,
                    const std::vector<std::int64_t>& contract);

// Slowest stride first; of symbolic strides, constants last.
void SortByStride(std::vector<int>& dims, const IndexMap& index);

}  // namespace stoker
