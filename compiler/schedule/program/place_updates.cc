#include "compiler/schedule/program/place_updates.h"

#include <algorithm>
#include <optional>
#include <set>

namespace stoker {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

bool Uses(const Step& step, StorageId storage) {
  return std::ranges::find(step.buffers, storage) != step.buffers.end();
}

StorageId FindStorage(const Program& program, BufferKind kind, std::uint32_t index) {
  const auto is_it = [&](StorageId id) {
    const Storage& storage = program.storages[id];
    return storage.kind == kind && storage.index == index;
  };
  for (const Step& step : program.steps) {
    const auto found = std::ranges::find_if(step.buffers, is_it);
    if (found != step.buffers.end()) return *found;
  }
  for (const ProgramLoop& loop : program.loops) {
    if (is_it(loop.condition)) return loop.condition;
  }
  return kNoStorage;
}

const LoopFunc* LoopOf(const Step& step) {
  return step.func() == nullptr ? nullptr : std::get_if<LoopFunc>(step.func());
}

bool HasTerm(const IndexMap& index, int dim) {
  return std::ranges::any_of(index.terms, [&](const IndexTerm& term) { return term.dim == dim; });
}

// Whether the store visits each element of `storage` once: all loops around it move it, and they
// have as many points as there are elements, none of which is left out.
bool VisitsEachOnce(const LoopFunc& func, const Stage& stage, const Store& store,
                    const Storage& storage) {
  SymDim points = 1;
  const auto moves = [&](int dim) {
    points = points * func.dims[static_cast<std::size_t>(dim)];
    return HasTerm(store.access.index, dim);
  };
  for (int dim = 0; dim < func.num_outer; ++dim) {
    if (!moves(dim)) return false;
  }
  if (!std::ranges::all_of(stage.loops, moves)) return false;
  return points == ElementsOf(storage.layout, storage.shape);
}

struct StorePlace {
  std::size_t stage = 0;
  const Store* store = nullptr;
};

// The one store to `operand`, if nothing else names it.
std::optional<StorePlace> OnlyStore(const LoopFunc& func, std::uint32_t operand) {
  std::optional<StorePlace> found;
  bool is_only = true;
  for (std::size_t i = 0; i < func.stages.size(); ++i) {
    const Stage& stage = func.stages[i];
    for (const Store& store : stage.stores) {
      if (store.access.operand != operand) continue;
      is_only = is_only && !found;
      found = StorePlace{i, &store};
    }
    for (const BodyInstr& instr : stage.body.instrs) {
      is_only = is_only && !(instr.op == BodyOp::kLoad && instr.access.operand == operand);
    }
  }
  return is_only ? found : std::nullopt;
}

// Whether all that is read of operand `from` is read where, and not after, the store writes; by a
// stage of the same loops, so that where threads share them it is the same one that does both. A
// schedule may compute temporaries again where they are used: those that read it count as reads
// there.
bool ReadsOnlyThere(const LoopFunc& func, std::uint32_t from, const StorePlace& place) {
  std::set<std::uint32_t> reading;  // Temporaries.
  for (std::size_t i = 0; i < func.stages.size(); ++i) {
    const Stage& stage = func.stages[i];
    std::vector<bool> reads(stage.body.instrs.size());
    for (std::size_t k = 0; k < reads.size(); ++k) {
      const BodyInstr& instr = stage.body.instrs[k];
      const bool is_load = instr.op == BodyOp::kLoad && instr.access.operand == from;
      const bool is_reading = instr.op == BodyOp::kInput && reading.contains(instr.input);
      if (!is_load && !is_reading) {
        reads[k] = std::ranges::any_of(instr.args, [&](std::uint32_t arg) { return reads[arg]; });
        continue;
      }
      if (i > place.stage || stage.loops != func.stages[place.stage].loops) return false;
      if (is_load &&
          (!instr.access.indirect.empty() || instr.access.index != place.store->access.index)) {
        return false;
      }
      reads[k] = true;
    }
    for (const Temporary& temporary : stage.temporaries) {
      if (reads[temporary.value]) reading.insert(temporary.id);
    }
  }
  return true;
}

std::optional<std::uint32_t> OnlyOperand(const Step& step, StorageId storage) {
  if (std::ranges::count(step.buffers, storage) != 1) return std::nullopt;
  return static_cast<std::uint32_t>(std::ranges::find(step.buffers, storage) -
                                    step.buffers.begin());
}

void RemoveStep(Program& program, std::size_t step) {
  program.steps.erase(program.steps.begin() + static_cast<std::ptrdiff_t>(step));
  for (ProgramLoop& loop : program.loops) {
    for (std::size_t* place : {&loop.begin, &loop.test, &loop.end}) {
      if (*place > step) --*place;
    }
  }
}

void RemoveOperand(Step& step, std::uint32_t from, std::uint32_t into) {
  auto& func = std::get<LoopFunc>(std::get<KernelFunc>(step.work));
  const auto renumber = [&](std::uint32_t& operand) {
    if (operand == from) operand = into;
    if (operand > from) --operand;
  };
  for (Stage& stage : func.stages) {
    for (BodyInstr& instr : stage.body.instrs) {
      if (instr.op == BodyOp::kLoad) renumber(instr.access.operand);
    }
    for (Store& store : stage.stores) renumber(store.access.operand);
  }
  func.operands.erase(func.operands.begin() + from);
  step.buffers.erase(step.buffers.begin() + from);
}

// Lets the loop's operand for `out` stand for `in` too. False, and nothing is changed, where it
// reads other elements of `in`, or later, than it writes.
bool MergeOperands(const Program& program, Step& step, StorageId in, StorageId out) {
  const auto* func = LoopOf(step);
  if (func == nullptr || !step.offsets.empty()) return false;
  const std::optional<std::uint32_t> from = OnlyOperand(step, in);
  const std::optional<std::uint32_t> into = OnlyOperand(step, out);
  if (!from || !into || func->operands[*from].dtype != func->operands[*into].dtype) return false;
  const std::optional<StorePlace> place = OnlyStore(*func, *into);
  if (!place ||
      !VisitsEachOnce(*func, func->stages[place->stage], *place->store, program.storages[out])) {
    return false;
  }
  if (!ReadsOnlyThere(*func, *from, *place)) return false;
  RemoveOperand(step, *from, *into);
  return true;
}

// Whether all that the step does is to write elements where they were read.
bool IsIdle(const Step& step) {
  const auto* func = LoopOf(step);
  if (func == nullptr) return false;
  return std::ranges::all_of(func->stages, [](const Stage& stage) {
    return std::ranges::all_of(stage.stores, [&](const Store& store) {
      const BodyInstr& value = stage.body.instrs[store.value];
      return value.op == BodyOp::kLoad && !value.has_predicate && value.access == store.access;
    });
  });
}

std::size_t FirstUse(const Program& program, StorageId storage) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (Uses(program.steps[i], storage)) return i;
  }
  return kNone;
}

// Where the outermost loop around the step begins; kNone: it is in none.
std::size_t BeginOfLoops(const Program& program, std::size_t step) {
  std::size_t begin = kNone;
  for (const ProgramLoop& loop : program.loops) {
    if (loop.begin <= step && step < loop.end) begin = std::min(begin, loop.begin);
  }
  return begin;
}

bool HoldsAfter(const Program& program, std::size_t first, StorageId in) {
  for (const ProgramLoop& loop : program.loops) {
    if (loop.end > first && loop.condition == in) return false;
  }
  for (std::size_t i = first; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (Uses(step, in) || std::holds_alternative<HostOp>(step.work)) return false;
  }
  return true;
}

bool PlaceUpdate(Program& program, StorageId in, StorageId out) {
  for (;;) {
    const std::size_t first = FirstUse(program, out);
    if (first == kNone) return true;  // The input holds it already.
    // In the next trip everything in the loop comes after it.
    const std::size_t begin = BeginOfLoops(program, first);
    if (begin != kNone) return HoldsAfter(program, begin, in);
    Step& step = program.steps[first];
    if (Uses(step, in)) {
      if (!MergeOperands(program, step, in, out)) return false;
      if (IsIdle(step)) {
        RemoveStep(program, first);
        continue;
      }
    }
    return HoldsAfter(program, first, in);
  }
}

}  // namespace

std::vector<std::uint32_t> PlaceUpdates(Program& program) {
  std::vector<std::uint32_t> refused;
  for (std::uint32_t i = 0; i < program.outputs.size(); ++i) {
    if (program.outputs[i].updates_input < 0) continue;
    const auto input = static_cast<std::uint32_t>(program.outputs[i].updates_input);
    const StorageId in = FindStorage(program, BufferKind::kInput, input);
    const StorageId out = FindStorage(program, BufferKind::kOutput, i);
    if (!PlaceUpdate(program, in, out)) refused.push_back(i);
  }
  return refused;
}

}  // namespace stoker
