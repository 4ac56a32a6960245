// Stencils one after the other, as a simulation steps through time: each step reads what the step
// before it has made at its neighbours' points, rotated, padded or sliced.
#pragma once

#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/machine/fusion_limits.h"
#include "compiler/schedule/fusion/group.h"
#include "compiler/schedule/fusion/group_cycles.h"

namespace stoker {

class StepsOfStencils {
 public:
  StepsOfStencils(const Graph& graph, const Reads& reads);

  // Does the node belong to a step before the one of `hero`, whose kernel stores it, as others read
  // it at their neighbours' points? What is computed with it in that step reads the same memory.
  bool IsOfEarlierStep(NodeId node, NodeId hero) const;

 private:
  bool Follows(NodeId node, NodeId from) const;

  const Graph& graph_;
  const Reads& reads_;
  std::vector<int> step_of_;  // Per node: how often values are put together on the way to it.
};

// One kernel of loops that read the same values at their neighbours' points, and nothing of each
// other: the fields of one step.
void JoinFieldsOfSteps(const Graph& graph, const Reads& reads, const FusionLimits& limits,
                       GroupCycles& cycles, Grouping& grouping);

}  // namespace stoker
