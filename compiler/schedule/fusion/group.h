// Group: nodes that become one kernel (or one call of the host framework), and where in its
// iteration space each is computed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/analysis/index_space.h"
#include "protocol/graph/graph.h"

namespace stoker {

enum class GroupKind : std::uint8_t {
  kLoop,         // Pointwise work and reductions.
  kContraction,  // A dot_general or convolution with its epilogue.
  kAttention,
  kOrdered,  // cumulative, sort, top_k, scatter.
  kHost,     // One extern_call, which is no kernel.
  kWhile,    // One while, whose regions have kernels of their own.
};

struct Group {
  GroupKind kind = GroupKind::kLoop;
  bool prepared = false;  // Computed in `prepare`.
  NodeId hero = kNoNode;  // Whose result gave the space its dims.
  // Loops: the dims of the hero's result, then dims that only reductions run over.
  // Contractions: batch dims, then m dims, then n.
  IndexSpace space;
  std::vector<NodeId> nodes;                 // Ascending.
  std::map<NodeId, ElementIndex> placement;  // Which element of its result a point computes.
  // All reductions of a group run over the same dims of the space; reduced_index has the index
  // along each reduced dim (of a size other than 1) of their operands.
  std::vector<int> reduced;
  std::vector<IndexMap> reduced_index;

  bool Contains(NodeId node) const { return placement.contains(node); }
};

// Why a node is or is not in one kernel with its neighbour; for people.
struct FusionDecision {
  NodeId node = kNoNode;
  NodeId neighbour = kNoNode;
  bool joined = false;
  const char* why = "";
  friend bool operator==(const FusionDecision&, const FusionDecision&) = default;
};

inline constexpr std::uint32_t kNoGroup = 0xffffffffU;

struct Grouping {
  std::vector<Group> groups;
  std::vector<std::uint32_t> group_of;  // Per node; kNoGroup for views, constants, iotas.
  std::vector<FusionDecision> decisions;
};

// The groups with their nodes, then every decision and why.
std::string ToString(const Grouping& grouping, const Graph& graph);

// Sizes (other than 1) along which a node of role kReduce reduces, in the order of
// Group::reduced_index.
std::vector<SymDim> ReducedExtents(const Graph& graph, const Node& node);

// Which element of operand `operand` a node reads to compute its element `placement`; for a
// reduction, at the reduced indices of `group`. Nothing when that is not one element.
std::optional<ElementIndex> OperandIndex(const Graph& graph, const Group& group, const Node& node,
                                         int operand, const ElementIndex& placement);

// Splits dim `dim` of the group's space by `inner`, which divides its extent: dim keeps the outer
// part and a new dim, the last one, runs over the inner part. `others`: indices over the space that
// the group does not hold. False, and nothing is changed, where an index has no form over the
// parts: it divides the dim by something else.
[[nodiscard]] bool SplitDim(Group& group, int dim, std::int64_t inner,
                            std::span<ElementIndex* const> others = {});

}  // namespace stoker
