#include "compiler/join_loops.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/cuda/joined_schedule.h"

namespace stoker {
namespace {

constexpr std::int64_t kPointerBytes = 8;
// A long graph is not looked through from each of its steps: so many candidates, and so many that
// find no room.
constexpr std::ptrdiff_t kMaxLookAhead = 1024;
// What it takes to find the buffers of one of several equal loops.
constexpr std::int64_t kOperationsToFind = 16;
constexpr int kMaxWithoutRoom = 8;

const LoopFunc& LoopOf(const Step& step) { return std::get<LoopFunc>(*step.func()); }

// Steps that share a kernel.
class Join {
 public:
  explicit Join(const GpuMachine& machine) : machine_(machine) {}

  // Whether there is room for it.
  bool Take(const Step& step) {
    const std::int64_t bytes = bytes_ + step.bytes.constant();
    const std::size_t buffers = buffers_ + step.buffers.size();
    if (!texts_.empty() &&
        (bytes > machine_.blocks.joined_bytes ||
         static_cast<std::int64_t>(buffers) * kPointerBytes > machine_.max_parameter_bytes)) {
      return false;
    }
    const auto part = cuda::CostOfPart(LoopOf(step), points_, machine_);
    if (!part) return false;
    // Equal ones share their code.
    const auto equal = std::ranges::find(texts_, ToString(LoopOf(step)));
    const bool is_new = equal == texts_.end();
    const std::int64_t operations = operations_ + (is_new ? part->operations : kOperationsToFind);
    if (operations > machine_.blocks.kernel_operations) return false;
    bytes_ = bytes;
    buffers_ = buffers;
    points_ += part->points;
    operations_ = operations;
    equal_.resize(std::max(equal_.size(), static_cast<std::size_t>(equal - texts_.begin()) + 1));
    equal_[static_cast<std::size_t>(equal - texts_.begin())].push_back(&step);
    if (is_new) texts_.push_back(ToString(LoopOf(step)));
    return true;
  }

  Step Finish() const {
    std::vector<const Step*> steps;
    for (const auto& some : equal_) steps.insert(steps.end(), some.begin(), some.end());
    Step joined = *steps[0];
    if (steps.size() == 1) return joined;
    JoinedFunc func{{LoopOf(joined)}};
    joined.label += " and " + std::to_string(steps.size() - 1) + " beside it";
    for (std::size_t i = 1; i < steps.size(); ++i) {
      const Step& step = *steps[i];
      func.parts.push_back(LoopOf(step));
      joined.buffers.insert(joined.buffers.end(), step.buffers.begin(), step.buffers.end());
      joined.flops = joined.flops + step.flops;
      joined.bytes = joined.bytes + step.bytes;
    }
    joined.work = KernelFunc(std::move(func));
    return joined;
  }

 private:
  const GpuMachine& machine_;
  std::vector<std::string> texts_;               // Of loops that differ.
  std::vector<std::vector<const Step*>> equal_;  // Of each.
  std::int64_t bytes_ = 0;
  std::int64_t points_ = 0;
  std::int64_t operations_ = 0;
  std::size_t buffers_ = 0;
};

class Joiner {
 public:
  Joiner(const Program& program, const ScheduledProgram& kernels, const GpuMachine& machine)
      : program_(program),
        kernels_(kernels),
        machine_(machine),
        first_use_(program.storages.size(), program.steps.size()),
        writers_(program.storages.size(), 0),
        users_(program.storages.size(), 0),
        inputs_(program.outputs.size()),
        is_done_(program.steps.size(), false) {
    for (StorageId id = 0; id < program.storages.size(); ++id) {
      const Storage& storage = program.storages[id];
      if (storage.kind != BufferKind::kInput) continue;
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (std::cmp_equal(program.outputs[i].updates_input, storage.index)) {
          inputs_[i].push_back(id);
        }
      }
    }
    for (std::size_t i = program.steps.size(); i-- > 0;) {
      for (const StorageId id : program.steps[i].buffers) first_use_[id] = i;
      Count(i, 1);
      if (MayJoin(i)) candidates_.push_back(i);
    }
    std::ranges::reverse(candidates_);
  }

  std::vector<Step> Steps() {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (is_done_[i]) continue;
      const bool begins = std::ranges::binary_search(candidates_, i);
      steps.push_back(begins ? JoinedFrom(i) : program_.steps[i]);
      if (!begins) Finish(i);
    }
    return steps;
  }

 private:
  // What a step that is no loop writes is not told: all that it names.
  template <typename Visit>
  static void ForEachWritten(const Step& step, Visit visit) {
    const auto* func = step.func() == nullptr ? nullptr : std::get_if<LoopFunc>(step.func());
    for (std::size_t k = 0; k < step.buffers.size(); ++k) {
      if (func == nullptr || func->operands[k].written) visit(step.buffers[k]);
    }
  }

  bool MayJoin(std::size_t index) const {
    const Step& step = program_.steps[index];
    const auto* func = step.func() == nullptr ? nullptr : std::get_if<LoopFunc>(step.func());
    if (func == nullptr || step.prepared || !step.offsets.empty() || !step.symbols.empty() ||
        !step.bytes.IsConstant() || step.bytes.constant() > machine_.blocks.joined_part_bytes) {
      return false;
    }
    const ScheduledKernel& kernel = kernels_.kernels[kernels_.kernel_of[index]];
    if (!std::holds_alternative<PointSchedule>(std::get<CudaSchedule>(kernel.schedule).how)) {
      return false;
    }
    bool is_free = true;
    ForEachWritten(step, [&](StorageId id) {
      is_free =
          is_free && program_.storages[id].kind != BufferKind::kInput && first_use_[id] == index;
    });
    return is_free;
  }

  // Whether all is there that it reads; what it writes, nobody has named before. Where that is made
  // in the memory of an input, whether nobody is to read this any more, and no host is to be
  // called.
  bool IsReady(const Step& step) const {
    const LoopFunc& func = LoopOf(step);
    for (std::size_t k = 0; k < step.buffers.size(); ++k) {
      const StorageId id = step.buffers[k];
      if (!func.operands[k].written) {
        if (writers_[id] > 0) return false;
        continue;
      }
      const Storage& storage = program_.storages[id];
      if (storage.kind != BufferKind::kOutput) continue;
      if (program_.outputs[storage.index].updates_input >= 0 && hosts_ > 0) return false;
      for (const StorageId input : inputs_[storage.index]) {
        if (users_[input] > 0) return false;
      }
    }
    return true;
  }

  Step JoinedFrom(std::size_t first) {
    Join join(machine_);
    std::vector<std::size_t> taken;
    const auto begin = std::ranges::lower_bound(candidates_, first);
    const auto end = begin + std::min(kMaxLookAhead, candidates_.end() - begin);
    int without_room = 0;
    for (auto at = begin; at != end && without_room < kMaxWithoutRoom; ++at) {
      const Step& step = program_.steps[*at];
      if (is_done_[*at] || (*at != first && !IsReady(step))) continue;
      if (join.Take(step)) {
        taken.push_back(*at);
      } else if (*at == first) {
        return Alone(first);
      } else {
        ++without_room;
      }
    }
    for (const std::size_t index : taken) Finish(index);
    return join.Finish();
  }

  Step Alone(std::size_t index) {
    Finish(index);
    return program_.steps[index];
  }

  void Finish(std::size_t index) {
    is_done_[index] = true;
    Count(index, -1);
  }

  // Of what is still to come.
  void Count(std::size_t index, int change) {
    const Step& step = program_.steps[index];
    ForEachWritten(step, [&](StorageId id) { writers_[id] += change; });
    for (const StorageId id : step.buffers) users_[id] += change;
    if (std::holds_alternative<HostOp>(step.work)) hosts_ += change;
  }

  const Program& program_;
  const ScheduledProgram& kernels_;
  const GpuMachine& machine_;
  std::vector<std::size_t> first_use_;  // Of each storage.
  std::vector<int> writers_;            // Of each storage, those that are still to come.
  std::vector<int> users_;              // Likewise: who names it.
  int hosts_ = 0;                       // Calls that are still to come.
  std::vector<std::vector<StorageId>>
      inputs_;  // Of each output: where the input lies that it updates.
  std::vector<bool> is_done_;
  std::vector<std::size_t> candidates_;  // In order.
};

}  // namespace

bool JoinLoops(Program& program, const ScheduledProgram& kernels, const GpuMachine& machine) {
  if (!program.loops.empty()) return false;
  std::vector<Step> steps = Joiner(program, kernels, machine).Steps();
  const bool any = steps.size() < program.steps.size();
  if (any) program.steps = std::move(steps);
  return any;
}

}  // namespace stoker
