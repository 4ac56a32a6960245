#include "compiler/schedule/cuda/loop_form.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/analysis/remap_dims.h"
#include "compiler/ir/same_lanes.h"
#include "compiler/schedule/loops/collapse_loops.h"
#include "compiler/schedule/loops/loop_rewrites.h"

namespace stoker::cuda {
namespace {

std::set<int> ReducedDims(const LoopFunc& func) {
  std::set<int> reduced;
  for (const Stage& stage : func.stages) {
    for (const Reduction& reduction : stage.reductions) {
      reduced.insert(reduction.over.begin(), reduction.over.end());
    }
  }
  return reduced;
}

bool IsPointwise(const LoopFunc& func) {
  if (func.stages.size() != 1) return false;
  const Stage& stage = func.stages[0];
  return stage.reductions.empty() && stage.temporaries.empty() &&
         static_cast<std::size_t>(func.num_outer) + stage.loops.size() == func.dims.size();
}

// Every reduction of a stage is over all of its loops.
bool ReducesWholeStages(const LoopFunc& func) {
  return std::ranges::all_of(func.stages, [](const Stage& stage) {
    const std::set<int> loops(stage.loops.begin(), stage.loops.end());
    return std::ranges::all_of(stage.reductions, [&](const Reduction& reduction) {
      return std::set<int>(reduction.over.begin(), reduction.over.end()) == loops;
    });
  });
}

bool RunsAlongOthers(const Access& access, int dim) {
  return std::ranges::any_of(access.index.terms,
                             [&](const IndexTerm& term) { return term.dim != dim; });
}

bool StaysAligned(const Access& access, int dim, int width) {
  if (!IsMultiple(access.index.offset, width)) return false;
  for (const IndexTerm& term : access.index.terms) {
    if (term.dim != dim && !IsMultiple(term.coefficient, width)) return false;
  }
  return std::ranges::all_of(access.indirect,
                             [&](const SymDim& step) { return IsMultiple(step, width); });
}

bool AreAligned(const LoopFunc& func, int dim, int width) {
  bool aligned = IsMultiple(func.dims[static_cast<std::size_t>(dim)], width);
  for (const Stage& stage : func.stages) {
    ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool) {
      if (RunAlong(access, dim) == Run::kNot) return;
      aligned = aligned && StaysAligned(access, dim, width);
    });
  }
  return aligned;
}

// Is each condition of a load that of a whole vector?
bool AreOfVectors(const LoopFunc& func, int dim, int width) {
  return std::ranges::all_of(func.stages, [&](const Stage& stage) {
    const std::vector<bool> same = SameInVectors(stage.body, dim, width);
    return std::ranges::all_of(stage.body.instrs, [&](const BodyInstr& instr) {
      return instr.op != BodyOp::kLoad || RunAlong(instr.access, dim) == Run::kNot ||
             !instr.has_predicate || same[instr.args.back()];
    });
  });
}

}  // namespace

bool IsMultiple(const SymDim& dim, int of) { return SymDim::Mod(dim, of) == SymDim(0); }

Result<LoopForm> ToLoopForm(LoopFunc& func) {
  if (IsPointwise(func)) {
    func.num_outer = static_cast<int>(func.dims.size());
    func.stages[0].loops.clear();
    CollapseLoops(func);
    return LoopForm::kPoints;
  }
  const std::set<int> reduced = ReducedDims(func);
  std::vector<int> kept;
  const int last = static_cast<int>(func.dims.size()) - 1;
  // A reduction of nothing but points is a row of one.
  const bool has_columns = last >= func.num_outer && !reduced.contains(last) && !reduced.empty();
  for (int dim = func.num_outer; dim <= last; ++dim) {
    if (reduced.contains(dim)) continue;
    const bool everywhere = std::ranges::all_of(
        func.stages, [&](const Stage& stage) { return Contains(stage.loops, dim); });
    if (reduced.empty() && !everywhere) continue;
    for (const Stage& stage : func.stages) {
      // It would store again and again; the reductions of a loop know no such stage.
      if (!Contains(stage.loops, dim) && !stage.stores.empty()) {
        return Unimplemented("There is no CUDA schedule for a loop that stores beside its loop i" +
                             std::to_string(dim) + ".");
      }
    }
    kept.push_back(dim);
  }
  PullOutside(func, kept);
  if (!ReducesWholeStages(func)) {
    return Unimplemented(
        "There is no CUDA schedule for a loop whose reductions keep different dims.");
  }
  CollapseLoops(func);
  return has_columns ? LoopForm::kColumns : LoopForm::kRows;
}

int VectorDim(const LoopFunc& func, LoopForm form) {
  if (form == LoopForm::kColumns) return func.num_outer - 1;
  const int last = static_cast<int>(func.dims.size()) - 1;
  if (form == LoopForm::kPoints) return last;
  for (const Stage& stage : func.stages) {
    if (!stage.loops.empty() && stage.loops.back() != last) return -1;
  }
  return last >= func.num_outer ? last : -1;
}

int VectorWidth(const LoopFunc& func, int dim, const GpuMachine& machine) {
  if (dim < 0) return 1;
  // What is the same for all rows is read from a cache.
  int widest = 1;
  int widest_of_rows = 0;
  bool fits = true;
  const bool has_loops =
      std::ranges::any_of(func.stages, [](const Stage& stage) { return !stage.loops.empty(); });
  for (const Stage& stage : func.stages) {
    const bool is_rare = has_loops && stage.loops.empty();  // Once a row or column.
    ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool) {
      const Run run = RunAlong(access, dim);
      if (run == Run::kNot) return;
      fits = fits && run == Run::kContiguous;
      widest = std::max(widest, SizeInBytes(access.dtype));
      if (is_rare || !RunsAlongOthers(access, dim)) return;
      widest_of_rows = std::max(widest_of_rows, SizeInBytes(access.dtype));
    });
  }
  if (!fits) return 1;
  if (widest_of_rows > 0) widest = widest_of_rows;
  int width = std::max(1, machine.blocks.access_bytes / widest);
  while (width > 1 && !(AreAligned(func, dim, width) && AreOfVectors(func, dim, width))) width /= 2;
  return width;
}

bool HasOneSpace(const LoopFunc& func) {
  const std::vector<int>* space = nullptr;
  for (const Stage& stage : func.stages) {
    if (stage.loops.empty()) continue;
    if (space != nullptr && *space != stage.loops) return false;
    space = &stage.loops;
  }
  return true;
}

int LiveRegisters(const LoopFunc& func) {
  struct Life {
    int registers = 0;
    std::size_t first = 0;
    std::size_t last = 0;
  };
  std::map<std::uint32_t, Life> lives;
  for (std::size_t s = 0; s < func.stages.size(); ++s) {
    for (const BodyInstr& instr : func.stages[s].body.instrs) {
      const auto life = lives.find(instr.input);
      if (instr.op == BodyOp::kInput && life != lives.end()) life->second.last = s;
    }
    if (func.stages[s].loops.empty()) continue;
    for (const Temporary& temporary : func.stages[s].temporaries) {
      const int registers = std::max(1, SizeInBytes(temporary.dtype) / 4);
      lives[temporary.id] = {registers, s, s};
    }
  }
  int most = 0;
  for (std::size_t s = 0; s < func.stages.size(); ++s) {
    int live = 0;
    for (const auto& [id, life] : lives) {
      // In its own last stage a value gives way to what is made of it.
      if (life.first <= s && (s < life.last || life.first == life.last)) live += life.registers;
    }
    most = std::max(most, live);
  }
  return most;
}

}  // namespace stoker::cuda
