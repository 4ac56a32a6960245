#include "compiler/schedule/fusion/fuse.h"

#include <algorithm>
#include <optional>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/view_index.h"
#include "compiler/schedule/fusion/chained_rows.h"
#include "compiler/schedule/fusion/group_cycles.h"
#include "compiler/schedule/fusion/library_epilogue.h"
#include "compiler/schedule/fusion/steps_of_stencils.h"

namespace stoker {
namespace {

class Fuser {
 public:
  Fuser(const Graph& graph, const Reads& reads, const std::vector<bool>& prepared,
        const FusionLimits& limits)
      : graph_(graph),
        reads_(reads),
        prepared_(prepared),
        limits_(limits),
        rows_(graph, reads),
        steps_(graph, reads),
        cycles_(graph, reads) {
    grouping_.group_of.assign(graph.nodes().size(), kNoGroup);
  }

  Grouping Run() &&;

 private:
  NodeId ProducerOf(ValueId value) const { return graph_.value(value).producer; }
  bool IsPrepared(NodeId node) const { return prepared_[graph_.node(node).results[0]]; }
  bool IsTaken(NodeId node) const { return grouping_.group_of[node] != kNoGroup; }

  Group& StartGroup(NodeId hero, GroupKind kind);
  void StartContraction(NodeId node);
  void StartLoop(NodeId node);
  void Grow(std::uint32_t group);
  void LetGoOfEnd(std::uint32_t group);
  void TryPull(std::uint32_t group, const Read& read);
  void TryPush(std::uint32_t group, const Read& read);

  // The dims of the space, of a size other than 1, that `index` does not depend on.
  std::vector<int> UnusedDims(const Group& group, const ElementIndex& index) const;
  // Is the node's result better read than computed in the kernel of a reduction over other rows?
  bool IsLeftToItsRows(const Group& group, NodeId node) const;
  std::optional<ElementIndex> PullThrough(const Group& group, const Read& read,
                                          const ElementIndex& placement) const;
  std::optional<ElementIndex> PushThrough(const Group& group, const Read& read) const;
  bool HasRowReduction(NodeId node, const std::vector<SymDim>& extents, int depth) const;
  // The iteration space and which of its dims make a row.
  struct Rows {
    IndexSpace space;
    std::vector<int> dims;
    std::vector<IndexMap> index;
  };
  bool HasEnoughRows(const Rows& rows) const;
  // What is a row once the node has joined, or why it does not.
  const char* FindRows(const Group& group, NodeId node, const std::vector<int>& unused,
                       const std::vector<IndexMap>& over, Rows& rows) const;

  // nullptr: `node` joins the group at `placement`. Otherwise why it does not.
  // `over`: for a reduction whose operand is a member, its indices along the reduced dims.
  const char* Refusal(std::uint32_t group, NodeId node, const ElementIndex& placement,
                      const std::vector<IndexMap>& over = {});
  const char* ReadsAgree(const Group& group, NodeId node, const ElementIndex& placement) const;
  void Join(std::uint32_t group, NodeId node, ElementIndex placement);
  void Note(NodeId node, NodeId neighbour, bool joined, const char* why) {
    std::vector<FusionDecision>& decisions = grouping_.decisions;
    const FusionDecision decision{node, neighbour, joined, why};
    // One neighbour may be read twice.
    if (decisions.empty() || decisions.back() != decision) decisions.push_back(decision);
  }

  const Graph& graph_;
  const Reads& reads_;
  const std::vector<bool>& prepared_;
  const FusionLimits& limits_;
  const ChainedRows rows_;
  const StepsOfStencils steps_;
  GroupCycles cycles_;
  Grouping grouping_;
  std::vector<NodeId> frontier_;  // Members whose neighbours have not been looked at.
};

Grouping Fuser::Run() && {
  const auto num_nodes = static_cast<NodeId>(graph_.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    if (RoleOf(graph_, graph_.node(id)) == OpRole::kContraction) StartContraction(id);
  }
  for (NodeId id = num_nodes; id-- > 0;) {
    if (IsTaken(id)) continue;
    switch (RoleOf(graph_, graph_.node(id))) {
      case OpRole::kView:
      case OpRole::kVirtual:
      case OpRole::kContraction:
        break;
      case OpRole::kPointwise:
      case OpRole::kAssemble:
      case OpRole::kIndexed:
      case OpRole::kReduce:
        StartLoop(id);
        break;
      case OpRole::kAttention:
        StartGroup(id, GroupKind::kAttention);
        break;
      case OpRole::kOrdered:
        StartGroup(id, GroupKind::kOrdered);
        break;
      case OpRole::kExtern:
        StartGroup(id, GroupKind::kHost);
        break;
      case OpRole::kRegion:
        StartGroup(id, GroupKind::kWhile);
        break;
      case OpRole::kComposite:
        CheckFailed("a composite after CanonicalizeOps", __FILE__, __LINE__);
    }
  }
  JoinFieldsOfSteps(graph_, reads_, limits_, cycles_, grouping_);
  for (Group& group : grouping_.groups) std::sort(group.nodes.begin(), group.nodes.end());
  // What was refused at first may have joined once its other neighbours had.
  std::erase_if(grouping_.decisions, [&](const FusionDecision& decision) {
    const std::uint32_t group = grouping_.group_of[decision.node];
    return !decision.joined && group != kNoGroup && group == grouping_.group_of[decision.neighbour];
  });
  return std::move(grouping_);
}

Group& Fuser::StartGroup(NodeId hero, GroupKind kind) {
  const auto id = static_cast<std::uint32_t>(grouping_.groups.size());
  Group& group = grouping_.groups.emplace_back();
  group.kind = kind;
  group.hero = hero;
  group.prepared = IsPrepared(hero);
  grouping_.group_of[hero] = id;
  cycles_.StartGroup(id, hero);
  group.nodes.push_back(hero);
  return group;
}

void Fuser::StartContraction(NodeId node_id) {
  const Node& node = graph_.node(node_id);
  Group& group = StartGroup(node_id, GroupKind::kContraction);
  const Shape& result = graph_.type(node.results[0]).shape;
  ElementIndex placement(static_cast<std::size_t>(result.rank()));
  if (node.kind == OpKind::kConvolution) {
    const std::int64_t groups = node.attributes.Int(AttrName::kGroups);
    const SymDim features = SymDim::FloorDiv(result[1], groups);
    IndexMap channel;
    if (groups > 1) {
      const int dim = group.space.AddDim(groups);
      channel = group.space.Scale(group.space.Dim(dim), features);
    }
    for (std::size_t i = 0; i < placement.size(); ++i) {
      if (i != 1) placement[i] = group.space.Dim(group.space.AddDim(result.dims()[i]));
    }
    placement[1] = group.space.Add(channel, group.space.Dim(group.space.AddDim(features)));
  } else {
    const auto rhs_free = static_cast<std::size_t>(
        graph_.type(node.operands[1]).shape.rank() -
        static_cast<int>(node.attributes.Ints(AttrName::kRhsBatch).size()) -
        static_cast<int>(node.attributes.Ints(AttrName::kRhsContract).size()));
    const std::size_t first_n = placement.size() - rhs_free;
    for (std::size_t i = 0; i < first_n; ++i) {
      placement[i] = group.space.Dim(group.space.AddDim(result.dims()[i]));
    }
    const std::span<const SymDim> n_sizes = std::span(result.dims()).subspan(first_n);
    SymDim n = 1;
    for (const SymDim& size : n_sizes) n = n * size;
    const IndexMap column = group.space.Dim(group.space.AddDim(n));
    std::optional<ElementIndex> columns = Delinearize(group.space, column, n_sizes);
    if (!columns) columns.emplace(n_sizes.size());  // Refused when it is lowered.
    std::move(columns->begin(), columns->end(),
              placement.begin() + static_cast<std::ptrdiff_t>(first_n));
  }
  group.placement.emplace(node_id, std::move(placement));
  const std::uint32_t group_id = grouping_.group_of[node_id];
  Grow(group_id);
  if (limits_.products_are_calls && node.kind == OpKind::kDotGeneral) LetGoOfEnd(group_id);
}

// The end of what a library takes along, as far as it does better without: loops may still have it.
void Fuser::LetGoOfEnd(std::uint32_t group_id) {
  Group& group = grouping_.groups[group_id];
  while (group.nodes.size() > 1) {
    const char* const why = RefusalOfLast(graph_, reads_, group);
    if (why == nullptr) return;
    const NodeId last = group.nodes.back();
    group.nodes.pop_back();
    group.placement.erase(last);
    grouping_.group_of[last] = kNoGroup;
    cycles_.Leave(group_id);
    std::erase_if(grouping_.decisions, [&](const FusionDecision& decision) {
      return decision.node == last && decision.joined;
    });
    Note(last, group.nodes.back(), false, why);
  }
}

void Fuser::StartLoop(NodeId node_id) {
  const Node& node = graph_.node(node_id);
  Group& group = StartGroup(node_id, GroupKind::kLoop);
  const Shape& result = graph_.type(node.results[0]).shape;
  ElementIndex placement;
  for (const SymDim& size : result) {
    placement.push_back(group.space.Dim(group.space.AddDim(size)));
  }
  if (RoleOf(graph_, node) == OpRole::kReduce) {
    for (const SymDim& size : ReducedExtents(graph_, node)) {
      group.reduced.push_back(group.space.AddDim(size));
      group.reduced_index.push_back(group.space.Dim(group.reduced.back()));
    }
  }
  group.placement.emplace(node_id, std::move(placement));
  Grow(grouping_.group_of[node_id]);
}

void Fuser::Grow(std::uint32_t group_id) {
  frontier_.assign(1, grouping_.groups[group_id].hero);
  while (!frontier_.empty()) {
    // The latest first: producers before their own producers.
    const auto latest = std::max_element(frontier_.begin(), frontier_.end());
    const NodeId node = *latest;
    frontier_.erase(latest);
    if (grouping_.groups[group_id].kind == GroupKind::kLoop) {
      for (const Read& read : reads_.OfReader(node)) TryPull(group_id, read);
    }
    for (const ValueId result : graph_.node(node).results) {
      for (const std::uint32_t index : reads_.OfSource(result)) {
        TryPush(group_id, reads_.read(index));
      }
    }
  }
}

std::vector<int> Fuser::UnusedDims(const Group& group, const ElementIndex& index) const {
  const std::vector<int> used = DimsOf(index);
  std::vector<int> unused;
  for (int dim = 0; dim < group.space.rank(); ++dim) {
    if (!IsOne(group.space.extent(dim)) && !std::binary_search(used.begin(), used.end(), dim)) {
      unused.push_back(dim);
    }
  }
  return unused;
}

bool Fuser::IsLeftToItsRows(const Group& group, NodeId node_id) const {
  if (!rows_.Ends(group.hero) || !rows_.IsOfOthers(node_id, group.hero)) return false;
  // What nobody else reads would be in memory for this kernel alone.
  for (const ValueId result : graph_.node(node_id).results) {
    for (const std::uint32_t index : reads_.OfSource(result)) {
      if (!group.Contains(reads_.read(index).reader)) return true;
    }
  }
  return false;
}

std::optional<ElementIndex> Fuser::PullThrough(const Group& group, const Read& read,
                                               const ElementIndex& placement) const {
  std::optional<ElementIndex> index =
      OperandIndex(graph_, group, graph_.node(read.reader), read.operand, placement);
  for (const NodeId view : read.views) {
    if (!index) return std::nullopt;
    index = PullThroughView(graph_, graph_.node(view), *index, group.space);
  }
  return index;
}

std::optional<ElementIndex> Fuser::PushThrough(const Group& group, const Read& read) const {
  std::optional<ElementIndex> index = group.placement.at(ProducerOf(read.source));
  const bool is_row = !group.reduced.empty() && UnusedDims(group, *index) == group.reduced;
  const std::vector<int> free_dims = is_row ? group.reduced : std::vector<int>();
  for (auto view = read.views.rbegin(); view != read.views.rend(); ++view) {
    index = PushThroughView(graph_, graph_.node(*view), *index, group.space, free_dims);
    if (!index) return std::nullopt;
  }
  return index;
}

// Whether a node of one value per row follows from a reduction over dims of these sizes.
bool Fuser::HasRowReduction(NodeId node_id, const std::vector<SymDim>& extents, int depth) const {
  constexpr int kMaxDepth = 16;
  if (IsTaken(node_id)) return false;
  const Node& node = graph_.node(node_id);
  const OpRole role = RoleOf(graph_, node);
  if (role == OpRole::kReduce) return ReducedExtents(graph_, node) == extents;
  if (role != OpRole::kPointwise || depth == kMaxDepth) return false;
  for (const Read& read : reads_.OfReader(node_id)) {
    const NodeId producer = ProducerOf(read.source);
    if (producer != kNoNode && HasRowReduction(producer, extents, depth + 1)) return true;
  }
  return false;
}

bool Fuser::HasEnoughRows(const Rows& rows) const {
  std::int64_t num_rows = 1;
  std::int64_t row_size = 1;
  for (int dim = 0; dim < rows.space.rank(); ++dim) {
    if (!rows.space.extent(dim).IsConstant()) return true;
    const bool is_row = std::find(rows.dims.begin(), rows.dims.end(), dim) != rows.dims.end();
    (is_row ? row_size : num_rows) *= rows.space.extent(dim).constant();
  }
  return num_rows > 1 || row_size < limits_.min_split_reduction;
}

const char* Fuser::ReadsAgree(const Group& group, NodeId node_id,
                              const ElementIndex& placement) const {
  for (const Read& read : reads_.OfReader(node_id)) {
    const NodeId producer = ProducerOf(read.source);
    if (producer == kNoNode || !group.Contains(producer)) continue;
    if (PullThrough(group, read, placement) != group.placement.at(producer)) {
      return "reads the neighbour at other points than the one computed";
    }
  }
  for (const ValueId result : graph_.node(node_id).results) {
    for (const std::uint32_t index : reads_.OfSource(result)) {
      const Read& read = reads_.read(index);
      const auto reader = group.placement.find(read.reader);
      if (reader == group.placement.end()) continue;
      if (PullThrough(group, read, reader->second) != placement) {
        return "is read at other points than the one computed";
      }
    }
  }
  return nullptr;
}

const char* Fuser::FindRows(const Group& group, NodeId node_id, const std::vector<int>& unused,
                            const std::vector<IndexMap>& over, Rows& rows) const {
  const Node& node = graph_.node(node_id);
  const bool is_reduce = RoleOf(graph_, node) == OpRole::kReduce;
  std::vector<SymDim> row;
  for (const int dim : unused) row.push_back(group.space.extent(dim));
  const std::vector<SymDim> extents =
      is_reduce ? ReducedExtents(graph_, node) : std::vector<SymDim>();

  if (group.kind == GroupKind::kContraction) {
    if (!unused.empty()) return "is smaller than the contraction's result";
  } else if (!unused.empty() && unused != rows.dims) {
    // The first value that has one element per row says what a row is.
    if (!rows.dims.empty()) return "varies over other dims than the group's rows";
    if (!HasRowReduction(node_id, row, 0)) {
      return "is smaller than the iteration space: computed once and read";
    }
    rows.dims = unused;
    rows.index = over;
    if (over.empty()) {
      for (const int dim : unused) rows.index.push_back(group.space.Dim(dim));
    }
  } else if (unused.empty() && !extents.empty()) {
    if (!rows.dims.empty()) return "reduces over other dims than the group's rows";
    // A reduction that a pointwise node reads: its loops are the group's own.
    for (const SymDim& size : extents) {
      rows.dims.push_back(rows.space.AddDim(size));
      rows.index.push_back(rows.space.Dim(rows.dims.back()));
    }
    row = extents;
  }
  if (is_reduce && row != extents) return "reduces over other dims than the group's rows";
  return nullptr;
}

const char* Fuser::Refusal(std::uint32_t group_id, NodeId node_id, const ElementIndex& placement,
                           const std::vector<IndexMap>& over) {
  Group& group = grouping_.groups[group_id];
  if (group.nodes.size() >= limits_.max_group_nodes) return "the group is full";
  Rows rows{group.space, group.reduced, group.reduced_index};
  const char* why = FindRows(group, node_id, UnusedDims(group, placement), over, rows);
  if (why != nullptr) return why;
  const auto has_one_term = [&](NodeId id) {
    const Node& each = graph_.node(id);
    return RoleOf(graph_, each) == OpRole::kReduce && ReducedExtents(graph_, each).empty();
  };
  if (!rows.dims.empty() && (has_one_term(node_id) ||
                             std::any_of(group.nodes.begin(), group.nodes.end(), has_one_term))) {
    return "a reduction of one term has no dims, where the group's have rows";
  }
  if (!HasEnoughRows(rows)) return "has too few rows to keep the cores busy";

  SymDim points = 1;
  for (const int dim : DimsOf(placement)) points = points * group.space.extent(dim);
  if (points != graph_.type(graph_.node(node_id).results[0]).shape.NumElements()) {
    return "would be computed more than once per element";
  }

  // Committed for the checks that need them; a refusal takes them back.
  std::swap(group.space, rows.space);
  std::swap(group.reduced, rows.dims);
  std::swap(group.reduced_index, rows.index);
  why = ReadsAgree(group, node_id, placement);
  if (why == nullptr && cycles_.WouldCycle(group_id, node_id, grouping_.group_of)) {
    why = "depends on the group through another kernel";
  }
  if (why != nullptr) {
    std::swap(group.space, rows.space);
    std::swap(group.reduced, rows.dims);
    std::swap(group.reduced_index, rows.index);
  }
  return why;
}

void Fuser::Join(std::uint32_t group_id, NodeId node, ElementIndex placement) {
  Group& group = grouping_.groups[group_id];
  group.nodes.push_back(node);
  group.placement.emplace(node, std::move(placement));
  grouping_.group_of[node] = group_id;
  cycles_.Join(group_id, node);
  frontier_.push_back(node);
}

void Fuser::TryPull(std::uint32_t group_id, const Read& read) {
  const Group& group = grouping_.groups[group_id];
  const NodeId producer = ProducerOf(read.source);
  if (producer == kNoNode || group.Contains(producer)) return;
  const OpRole role = RoleOf(graph_, graph_.node(producer));
  if (role == OpRole::kVirtual) return;
  if (IsTaken(producer)) {
    return Note(producer, read.reader, false, "already belongs to another kernel");
  }
  if (role == OpRole::kAttention || role == OpRole::kOrdered || role == OpRole::kExtern ||
      role == OpRole::kRegion) {
    return Note(producer, read.reader, false, "is a kernel of its own");
  }
  if (IsPrepared(producer) != group.prepared) {
    return Note(producer, read.reader, false, "is computed once, when parameters are bound");
  }
  if (IsLeftToItsRows(group, producer)) {
    return Note(producer, read.reader, false, "is left to the kernel that has its rows");
  }
  std::optional<ElementIndex> index = PullThrough(group, read, group.placement.at(read.reader));
  if (!index) {
    return Note(producer, read.reader, false, "is read at several points or at none");
  }
  if (steps_.IsOfEarlierStep(producer, group.hero)) {
    return Note(producer, read.reader, false, "is left to the kernel of its step");
  }
  const char* why = Refusal(group_id, producer, *index);
  Note(producer, read.reader, why == nullptr, why == nullptr ? "computed where it is read" : why);
  if (why == nullptr) Join(group_id, producer, *std::move(index));
}

void Fuser::TryPush(std::uint32_t group_id, const Read& read) {
  Group& group = grouping_.groups[group_id];
  const NodeId source = ProducerOf(read.source);
  if (IsTaken(read.reader)) return;
  const Node& reader = graph_.node(read.reader);
  const OpRole role = RoleOf(graph_, reader);
  const bool may_join = role == OpRole::kPointwise ||
                        (group.kind == GroupKind::kLoop &&
                         (reader.kind == OpKind::kReduce || reader.kind == OpKind::kArgReduce));
  if (!may_join) return;
  if (IsPrepared(read.reader) != group.prepared) {
    return Note(read.reader, source, false, "is computed in every call, the neighbour once");
  }
  if (group.kind == GroupKind::kLoop && rows_.Ends(read.reader) &&
      rows_.IsOfOthers(source, read.reader)) {
    return Note(read.reader, source, false, "ends over other dims than the neighbour's rows");
  }
  std::optional<ElementIndex> index = PushThrough(group, read);
  if (!index) {
    return Note(read.reader, source, false, "is of another size than the neighbour");
  }
  std::vector<IndexMap> over;
  if (role == OpRole::kReduce) {
    ElementIndex kept;
    const Shape& shape = graph_.type(reader.operands[0]).shape;
    const std::vector<std::int64_t> dims =
        reader.kind == OpKind::kArgReduce
            ? std::vector<std::int64_t>{reader.attributes.Int(AttrName::kDim)}
            : reader.attributes.Ints(AttrName::kDims);
    for (std::size_t i = 0; i < index->size(); ++i) {
      const bool is_reduced =
          std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(i)) != dims.end();
      if (!is_reduced) {
        kept.push_back((*index)[i]);
      } else if (!IsOne(shape.dims()[i])) {
        over.push_back((*index)[i]);
      }
    }
    const std::vector<int> over_dims = DimsOf(over);
    bool is_plain = over_dims.size() == over.size();
    for (std::size_t i = 0; is_plain && i < over.size(); ++i) {
      is_plain = over[i] == group.space.Dim(over_dims[i]);
    }
    if (!is_plain) {
      return Note(read.reader, source, false, "reduces over parts of the group's dims");
    }
    if (!group.reduced_index.empty() && group.reduced_index != over) {
      return Note(read.reader, source, false, "reduces over other dims than the group's rows");
    }
    index = std::move(kept);
  }
  const char* why = nullptr;
  if (group.kind == GroupKind::kContraction && limits_.products_are_calls) {
    why = RefusalOfLibrary(graph_, reads_, group, read.reader, *index);
  }
  if (why == nullptr) why = Refusal(group_id, read.reader, *index, over);
  Note(read.reader, source, why == nullptr, why == nullptr ? "computed where its operand is" : why);
  if (why == nullptr) Join(group_id, read.reader, *std::move(index));
}

}  // namespace

Grouping FuseNodes(const Graph& graph, const Reads& reads, const std::vector<bool>& prepared,
                   const FusionLimits& limits) {
  return Fuser(graph, reads, prepared, limits).Run();
}

}  // namespace stoker
