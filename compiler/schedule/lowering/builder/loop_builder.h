// LoopBuilder: the LoopFunc that computes some values of a loop group.
#pragma once

#include <optional>
#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/machine/fusion_limits.h"
#include "compiler/schedule/lowering/builder/body_builder.h"

namespace stoker {

// A value that a kernel writes, where in its space it is computed, and to which storages.
struct Root {
  ValueId value = 0;
  ElementIndex index;
  std::vector<StorageId> storages;
};

class LoopBuilder {
 public:
  // `order`: the dims of the group's space, outermost loop first. `num_outer` of them are parallel.
  LoopBuilder(const Graph& graph, const Reads& reads, ProgramBuilder& program, const Group& group,
              std::vector<Root> roots, std::vector<int> order, int num_outer,
              const FusionLimits& limits);

  // Dims keep the numbers they have in the group's space, so that the function is not valid before
  // they are renumbered. NotFound with missing() set: that value must be in memory first.
  // `is_trial`: roots that have no storage yet are computed all the same, to see what that reads.
  Result<LoopFunc> Build(bool is_trial = false);

  std::optional<ValueId> missing() const { return missing_; }
  const std::vector<StorageId>& buffers() const { return operands_.buffers; }

 private:
  struct StageItems {
    int level = 0;
    std::vector<int> loops;
    std::vector<NodeId> reductions;
    std::vector<NodeId> temporaries;
    std::vector<std::size_t> roots;
  };

  void FindLevels();
  void FindTemporaries();
  bool FitsTemporary(NodeId node) const;
  int LevelAfter(NodeId node) const;
  std::vector<int> LoopsOf(std::span<const IndexMap> index, bool reduces) const;
  StageItems& StageAt(int level, std::vector<int> loops);
  void MakeStages();
  Status BuildStage(const StageItems& items, bool is_trial, LoopFunc& func);
  void AddStores(const Root& root, std::uint32_t value, BodyBuilder& body, Stage& stage);

  const Graph& graph_;
  const Reads& reads_;
  ProgramBuilder& program_;
  const Group& group_;
  std::vector<Root> roots_;
  std::vector<int> order_;
  int num_outer_;
  const FusionLimits& limits_;
  KernelOperands operands_;
  std::vector<NodeId> needed_;          // Ascending.
  std::map<NodeId, int> levels_;        // Of the needed nodes' operands.
  std::map<NodeId, int> temporary_of_;  // Node -> level at which it is kept.
  std::vector<StageItems> stages_;
  std::map<ValueId, BodyBuilder::Given> given_;
  std::map<ValueId, int> given_level_;  // From which level on.
  std::uint32_t next_id_ = 0;
  std::optional<ValueId> missing_;
};

}  // namespace stoker
