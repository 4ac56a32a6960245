// The parts of a contraction while it is lowered.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/lowering/lowering.h"

namespace stoker {

struct Lowering::ContractionParts {
  ContractionParts(const Node& anchor, const ProgramBuilder& builder)
      : node(anchor), operands(builder) {}

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

}  // namespace stoker
