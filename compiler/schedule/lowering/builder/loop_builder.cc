#include "compiler/schedule/lowering/builder/loop_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/analysis/op_traits.h"
#include "compiler/ir/body_verifier.h"

namespace stoker {
namespace {

Combine KindOf(const Node& node) {
  return node.kind == OpKind::kConvolution ? Combine::kAdd : CombineOf(node.attributes);
}

}  // namespace

LoopBuilder::LoopBuilder(const Graph& graph, const Reads& reads, ProgramBuilder& program,
                         const Group& group, std::vector<Root> roots, std::vector<int> order,
                         int num_outer, const FusionLimits& limits)
    : graph_(graph),
      reads_(reads),
      program_(program),
      group_(group),
      roots_(std::move(roots)),
      order_(std::move(order)),
      num_outer_(num_outer),
      limits_(limits),
      operands_(program) {}

int LoopBuilder::LevelAfter(NodeId node) const {
  const bool reduces =
      RoleOf(graph_, graph_.node(node)) == OpRole::kReduce && !group_.reduced.empty();
  return levels_.at(node) + (reduces ? 1 : 0);
}

// Level of a node: how many reductions must have been finished before its operands are known.
void LoopBuilder::FindLevels() {
  std::set<NodeId> needed;
  std::vector<NodeId> stack;
  for (const Root& root : roots_) {
    const NodeId producer = graph_.value(root.value).producer;
    if (producer != kNoNode && group_.Contains(producer)) stack.push_back(producer);
  }
  while (!stack.empty()) {
    const NodeId node = stack.back();
    stack.pop_back();
    if (!needed.insert(node).second) continue;
    for (const Read& read : reads_.OfReader(node)) {
      const NodeId producer = graph_.value(read.source).producer;
      if (producer != kNoNode && group_.Contains(producer)) stack.push_back(producer);
    }
  }
  needed_.assign(needed.begin(), needed.end());
  for (const NodeId node : needed_) {
    int level = 0;
    for (const Read& read : reads_.OfReader(node)) {
      const NodeId producer = graph_.value(read.source).producer;
      if (producer != kNoNode && needed.contains(producer)) {
        level = std::max(level, LevelAfter(producer));
      }
    }
    levels_[node] = level;
  }
}

std::vector<int> LoopBuilder::LoopsOf(std::span<const IndexMap> index, bool reduces) const {
  const std::vector<int> used = DimsOf(index);
  std::vector<int> loops;
  for (std::size_t i = static_cast<std::size_t>(num_outer_); i < order_.size(); ++i) {
    const int dim = order_[i];
    const bool is_reduced =
        std::find(group_.reduced.begin(), group_.reduced.end(), dim) != group_.reduced.end();
    if (std::binary_search(used.begin(), used.end(), dim) || (reduces && is_reduced)) {
      loops.push_back(dim);
    }
  }
  return loops;
}

bool LoopBuilder::FitsTemporary(NodeId node) const {
  std::int64_t elements = 1;
  int symbolic = 0;  // A row along one such dim is kept while it is short enough: see the schedule.
  for (const int dim : LoopsOf(group_.placement.at(node), false)) {
    const SymDim& extent = group_.space.extent(dim);
    if (!extent.IsConstant() && ++symbolic > 1) return false;
    if (extent.IsConstant()) elements *= extent.constant();
    if (elements > limits_.max_kept_elements) return false;
  }
  return true;
}

void LoopBuilder::FindTemporaries() {
  std::map<NodeId, int> cost;  // Of having the node's value at a later level.
  for (const NodeId id : needed_) {
    if (LevelAfter(id) > levels_[id]) {
      cost[id] = 0;  // What a reduction gives is in scratch already.
      continue;
    }
    const Node& node = graph_.node(id);
    int sum = CostOf(node);
    for (const Read& read : reads_.OfReader(id)) {
      const NodeId producer = graph_.value(read.source).producer;
      const auto own = producer == kNoNode ? cost.end() : cost.find(producer);
      const bool is_virtual =
          producer != kNoNode && RoleOf(graph_, graph_.node(producer)) == OpRole::kVirtual;
      sum += own != cost.end() ? own->second : (is_virtual ? 0 : 1);
    }
    cost[id] = std::min(sum, 1 << 20);
    if (sum < limits_.min_kept_cost) continue;
    bool is_used_later = false;
    for (const ValueId result : node.results) {
      for (const std::uint32_t index : reads_.OfSource(result)) {
        const auto reader = levels_.find(reads_.read(index).reader);
        is_used_later = is_used_later || (reader != levels_.end() && reader->second > levels_[id]);
      }
    }
    // One value per row is cheap to have again, unless it is a row of lanes.
    const bool is_row = LoopsOf(group_.placement.at(id), false).empty();
    if (!is_used_later || is_row || !FitsTemporary(id)) continue;
    temporary_of_[id] = levels_[id];
    cost[id] = 1;
  }
}

LoopBuilder::StageItems& LoopBuilder::StageAt(int level, std::vector<int> loops) {
  for (StageItems& stage : stages_) {
    if (stage.level == level && stage.loops == loops) return stage;
  }
  stages_.push_back({level, std::move(loops), {}, {}, {}});
  return stages_.back();
}

void LoopBuilder::MakeStages() {
  for (const NodeId id : needed_) {
    if (LevelAfter(id) > levels_[id]) {
      StageAt(levels_[id], LoopsOf(group_.placement.at(id), true)).reductions.push_back(id);
    }
  }
  for (const auto& [id, level] : temporary_of_) {
    StageAt(level, LoopsOf(group_.placement.at(id), false)).temporaries.push_back(id);
  }
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    const NodeId producer = graph_.value(roots_[i].value).producer;
    const bool is_own = producer != kNoNode && levels_.contains(producer);
    const int level = is_own ? LevelAfter(producer) : 0;
    StageAt(level, LoopsOf(roots_[i].index, false)).roots.push_back(i);
  }
  std::sort(stages_.begin(), stages_.end(), [](const StageItems& a, const StageItems& b) {
    if (a.level != b.level) return a.level < b.level;
    return a.loops.size() != b.loops.size() ? a.loops.size() > b.loops.size() : a.loops < b.loops;
  });
}

Status LoopBuilder::BuildStage(const StageItems& items, bool is_trial, LoopFunc& func) {
  BodyBuilder body(graph_, program_, operands_, group_.space, &group_, group_.prepared);
  body.ReadAtChosenIndex(limits_.reads_at_chosen_index);
  for (const auto& [value, given] : given_) {
    if (given_level_.at(value) <= items.level) body.Give(value, given);
  }
  const auto fail = [&](const Error& error) {
    missing_ = body.missing();
    return error;
  };
  Stage stage;
  stage.loops = items.loops;
  for (const NodeId id : items.reductions) {
    const Node& node = graph_.node(id);
    const ElementIndex& kept = group_.placement.at(id);
    Result<std::uint32_t> value = body.EvaluateReduced(node, kept, group_.reduced_index);
    if (!value.ok()) return fail(value.error());
    const DType dtype = body.dtype_of(*value);
    const bool is_arg = node.kind == OpKind::kArgReduce;
    stage.reductions.push_back({next_id_, *value, KindOf(node), dtype, group_.reduced, is_arg});
    const DType result = is_arg ? DType::kI64 : dtype;
    given_[node.results[0]] = {next_id_, result, kept};
    given_level_[node.results[0]] = items.level + 1;
    ++next_id_;
  }
  for (const NodeId id : items.temporaries) {
    const ValueId value_id = graph_.node(id).results[0];
    const ElementIndex& index = group_.placement.at(id);
    const Result<std::uint32_t> value = body.Evaluate(value_id, index);
    if (!value.ok()) return fail(value.error());
    const DType dtype = body.dtype_of(*value);
    stage.temporaries.push_back({next_id_, *value, dtype});
    given_[value_id] = {next_id_, dtype, index};
    given_level_[value_id] = items.level + 1;
    ++next_id_;
  }
  std::vector<std::uint32_t> unstored;
  for (const std::size_t i : items.roots) {
    const Root& root = roots_[i];
    const Result<std::uint32_t> value = body.Evaluate(root.value, root.index);
    if (!value.ok()) return fail(value.error());
    if (is_trial && root.storages.empty()) unstored.push_back(*value);
    AddStores(root, *value, body, stage);
  }
  std::vector<std::uint32_t*> values;
  for (Reduction& reduction : stage.reductions) values.push_back(&reduction.value);
  for (Temporary& temporary : stage.temporaries) values.push_back(&temporary.value);
  for (Store& store : stage.stores) values.push_back(&store.value);
  for (std::uint32_t& value : unstored) values.push_back(&value);
  stage.body = body.Take(std::move(values));
  func.stages.push_back(std::move(stage));
  return Ok();
}

void LoopBuilder::AddStores(const Root& root, std::uint32_t value, BodyBuilder& body,
                            Stage& stage) {
  for (const StorageId id : root.storages) {
    const Storage& storage = program_.storage(id);
    Store store;
    store.value = body.ForStore(value, storage.dtype);
    store.access.operand = operands_.Use(id, storage.dtype, true);
    store.access.dtype = storage.dtype;
    store.access.index = PhysicalIndex(group_.space, storage.layout, storage.shape, root.index);
    stage.stores.push_back(std::move(store));
  }
}

Result<LoopFunc> LoopBuilder::Build(bool is_trial) {
  FindLevels();
  FindTemporaries();
  MakeStages();
  LoopFunc func;
  func.dims = group_.space.extents();
  func.num_outer = num_outer_;
  for (const StageItems& items : stages_) {
    STOKER_RETURN_IF_ERROR(BuildStage(items, is_trial, func));
  }
  func.operands = operands_.operands;
  return func;
}

}  // namespace stoker
