// Keeps groups acyclic: a kernel runs as a whole, so that no path may leave a group and return.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/analysis/reads.h"

namespace stoker {

class GroupCycles {
 public:
  GroupCycles(const Graph& graph, const Reads& reads);

  void StartGroup(std::uint32_t group, NodeId node);
  void Join(std::uint32_t group, NodeId node);
  // Takes back the latest Join.
  void Leave(std::uint32_t group);
  // Whether a path through other groups and nodes would connect `group`, with `node` in it, with
  // itself. `group_of`: per node. `node` is in no group.
  bool WouldCycle(std::uint32_t group, NodeId node, const std::vector<std::uint32_t>& group_of);

 private:
  struct Members {
    std::vector<NodeId> nodes;
    NodeId first = 0;
    NodeId last = 0;
  };
  // Below (above) it no path leads back into the group.
  NodeId LowerBound(std::uint32_t group) const;
  NodeId UpperBound(std::uint32_t group) const;
  bool Reaches(std::uint32_t group, NodeId node, const std::vector<std::uint32_t>& group_of,
               bool forward);
  void PushNeighbours(NodeId node, bool forward);

  const Graph& graph_;
  const Reads& reads_;
  std::vector<Members> groups_;
  std::vector<std::uint32_t> visited_;  // Per node: the search that last saw it.
  std::uint32_t search_ = 0;
  std::vector<NodeId> stack_;
};

}  // namespace stoker
