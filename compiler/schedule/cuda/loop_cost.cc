#include "compiler/schedule/cuda/loop_cost.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/remap_dims.h"
#include "protocol/graph/op_table.h"

namespace stoker::cuda {
namespace {

// A body of so few instructions goes through by a few elements of a vector at a time, of a longer
// one the order is that in which it is written: all elements of a vector go in step, and what the
// others begin with waits.
constexpr std::size_t kShortBody = 24;
constexpr std::size_t kShortVectors = 96;  // So many of all vectors together.
constexpr int kShortLanes = 4;

// How many more registers a long body takes than its values: their order is no one's best.
int WithLoss(int registers) { return registers * 5 / 4; }

// A sum over unknown many terms is cut into runs over so many levels: sum_cascade.h.
constexpr int kSumLevels = 4;

int RegistersOf(DType dtype) { return std::max(1, SizeInBytes(dtype) / 4); }

bool IsWide(const BodyInstr& instr) {
  return instr.dtype == DType::kF64 || RowOf(instr.pointwise).f32_in == DType::kF64;
}

bool IsLongFunction(const BodyInstr& instr) {
  return instr.op == BodyOp::kPointwise && IsWide(instr) &&
         RowOf(instr.pointwise).cost >= OpCost::kExponential;
}

// In units of an addition.
int CostOf(const BodyInstr& instr) {
  switch (instr.op) {
    case BodyOp::kInput:
    case BodyOp::kConstant:
    case BodyOp::kIndex:
    case BodyOp::kSize:
      return 0;
    case BodyOp::kLoad:
      return 2;
    case BodyOp::kPointwise: {
      // Registers have 32 bits: other integers take several instructions.
      const bool is_odd = !IsFloat(instr.dtype) && SizeInBytes(instr.dtype) != 4;
      return CostOf(instr.pointwise) * (IsWide(instr) ? 3 : is_odd ? 2 : 1);
    }
  }
  return 0;
}

// Registers that an operation needs while it is computed, for one element: as much as code of one
// such operation took more than that of an addition. Some are calls, which keep theirs.
int WorkingRegistersOf(const BodyInstr& instr) {
  if (instr.op != BodyOp::kPointwise) return 0;
  const bool is_wide = IsWide(instr) || SizeInBytes(instr.dtype) == 8;
  switch (RowOf(instr.pointwise).cost) {
    case OpCost::kNone:
    case OpCost::kAddition:
      return 0;
    case OpCost::kDivision:
      return is_wide ? 20 : 12;
    case OpCost::kExponential:
    case OpCost::kSine:
    case OpCost::kPower:
    case OpCost::kLoop:
      return is_wide ? 36 : 12;
  }
  return 0;
}

class StageValues {
 public:
  // `varies`: of reductions and temporaries of earlier stages.
  StageValues(const Stage& stage, const ThreadPart& part,
              const std::map<std::uint32_t, bool>& varies)
      : stage_(stage), part_(part) {
    const std::vector<BodyInstr>& instrs = stage.body.instrs;
    varies_.resize(instrs.size());
    last_use_.resize(instrs.size());
    for (std::uint32_t i = 0; i < instrs.size(); ++i) {
      last_use_[i] = i;
      varies_[i] = VariesItself(instrs[i], varies);
      for (const std::uint32_t arg : instrs[i].args) {
        varies_[i] = varies_[i] || varies_[arg];
        last_use_[arg] = i;
      }
    }
    const auto leaves = [&](std::uint32_t value) {
      last_use_[value] = static_cast<std::uint32_t>(instrs.size());
    };
    for (const Store& store : stage.stores) leaves(store.value);
    for (const Temporary& temporary : stage.temporaries) leaves(temporary.value);
    for (const Reduction& reduction : stage.reductions) leaves(reduction.value);
  }

  bool varies(std::uint32_t value) const { return varies_[value]; }
  int LanesOf(std::uint32_t value) const { return varies_[value] ? part_.width : 1; }

  bool IsShort() const {
    const std::size_t instrs = stage_.body.instrs.size();
    return instrs <= kShortBody &&
           instrs * static_cast<std::size_t>(part_.vectors) <= kShortVectors;
  }

  // While one vector goes through the body.
  int Peak() const {
    const std::vector<BodyInstr>& instrs = stage_.body.instrs;
    std::vector<std::vector<std::uint32_t>> ends(instrs.size() + 1);
    int live = 0;
    int peak = 0;
    for (std::uint32_t i = 0; i < instrs.size(); ++i) {
      ends[last_use_[i]].push_back(i);
      live += RegistersWithin(i);
      // Functions of neighbours overlap, those that take long above all.
      const int most = IsLongFunction(instrs[i]) ? 3 : IsShort() ? 1 : 2;
      const int overlapping = std::min(most, LanesOf(i) * part_.vectors);
      peak = std::max(peak, live + WorkingRegistersOf(instrs[i]) * overlapping);
      for (const std::uint32_t value : ends[i]) live -= RegistersWithin(value);
    }
    return peak;
  }

  // Of what one vector loads; what all rows share waits in a cache.
  int Loads() const {
    int registers = 0;
    for (std::uint32_t i = 0; i < stage_.body.instrs.size(); ++i) {
      const BodyInstr& instr = stage_.body.instrs[i];
      if (instr.op != BodyOp::kLoad) continue;
      const bool is_own = std::ranges::any_of(instr.access.index.terms, [&](const IndexTerm& term) {
        return term.dim != part_.vector_dim;
      });
      const int bytes = SizeInBytes(instr.access.dtype) * LanesOf(i);
      if (is_own) registers += (bytes + 3) / 4;
    }
    return registers;
  }

  // Of one vector that has gone through the body; what is only reduced is so at once if that is
  // short.
  int Results() const {
    std::set<std::uint32_t> results;
    for (const Store& store : stage_.stores) results.insert(store.value);
    for (const Temporary& temporary : stage_.temporaries) results.insert(temporary.value);
    if (!IsShort()) {
      for (const Reduction& reduction : stage_.reductions) results.insert(reduction.value);
    }
    int registers = 0;
    for (const std::uint32_t value : results) registers += RegistersOfValue(value);
    return registers;
  }

 private:
  bool VariesItself(const BodyInstr& instr, const std::map<std::uint32_t, bool>& varies) const {
    if (instr.op == BodyOp::kIndex) return instr.dim == part_.vector_dim;
    if (instr.op == BodyOp::kInput) return varies.at(instr.input);
    if (instr.op != BodyOp::kLoad) return false;
    return std::ranges::any_of(instr.access.index.terms,
                               [&](const IndexTerm& term) { return term.dim == part_.vector_dim; });
  }

  int RegistersWithin(std::uint32_t value) const {
    const bool is_between = stage_.body.instrs[value].op == BodyOp::kPointwise &&
                            last_use_[value] < stage_.body.instrs.size();
    const int lanes = LanesOf(value);
    const int at_a_time = IsShort() && is_between ? std::min(lanes, kShortLanes) : lanes;
    return RegistersOfValue(value) / lanes * at_a_time;
  }

  // Constants are part of instructions; what is kept, and what reductions gave, is counted there.
  int RegistersOfValue(std::uint32_t value) const {
    const BodyInstr& instr = stage_.body.instrs[value];
    if (instr.op == BodyOp::kConstant || instr.op == BodyOp::kInput) return 0;
    return RegistersOf(instr.dtype) * LanesOf(value);
  }

  const Stage& stage_;
  const ThreadPart& part_;
  std::vector<bool> varies_;
  std::vector<std::uint32_t> last_use_;
};

int RegistersOfResult(const Reduction& reduction, const ThreadPart& part) {
  const int lanes = part.form == LoopForm::kColumns ? part.width : 1;
  return lanes * (reduction.is_arg ? 2 : RegistersOf(reduction.dtype));
}

// Of the vectors in which a reduction is kept; `levels`: of runs that are summed up.
int RegistersOfState(const Reduction& reduction, int lanes, int levels) {
  if (reduction.is_arg) return lanes * (RegistersOf(reduction.dtype) + 2);
  const bool sums = reduction.kind == Combine::kAdd && IsFloat(reduction.dtype);
  return lanes * RegistersOf(reduction.dtype) * (sums ? levels : 1);
}

// Points lie where their number says, divided by sizes that vary. Elements by themselves, as of
// another order, are many in a thread, each with places of its own to read from and to write to.
int PlacesOfPoints(const LoopFunc& func, const ThreadPart& part) {
  constexpr int kOfAnElement = 6;  // As much as code of one load and one store took, and no more.
  const bool vary =
      std::ranges::any_of(func.dims, [](const SymDim& extent) { return !extent.IsConstant(); });
  return vary && func.dims.size() > 1 && part.width == 1 ? kOfAnElement * part.vectors : 0;
}

// Of where vectors lie, which is part of instructions where they are known distances apart.
int PlacesOf(const LoopFunc& func, const Stage& stage, const ThreadPart& part, int vectors) {
  if (part.form == LoopForm::kPoints) return PlacesOfPoints(func, part);
  bool is_known = true;
  ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool) {
    for (const IndexTerm& term : access.index.terms) {
      is_known = is_known && (term.dim < func.num_outer || term.coefficient.IsConstant());
    }
  });
  return is_known ? 0 : 3 * vectors;
}

// The last stage in which the result of a reduction or a temporary is read.
std::map<std::uint32_t, std::size_t> LastStages(const LoopFunc& func) {
  std::map<std::uint32_t, std::size_t> last;
  for (std::size_t s = 0; s < func.stages.size(); ++s) {
    for (const BodyInstr& instr : func.stages[s].body.instrs) {
      if (instr.op == BodyOp::kInput) last[instr.input] = s;
    }
  }
  return last;
}

}  // namespace

int LiveValues(const LoopFunc& func, const ThreadPart& part) {
  const std::map<std::uint32_t, std::size_t> last = LastStages(func);
  std::map<std::uint32_t, bool> varies;
  std::map<std::size_t, int> given_up;  // After a stage.
  std::map<std::size_t, int> consumed;  // In a stage, by each vector of it.
  int given = 0;
  int most = 0;
  const auto give = [&](std::uint32_t id, int registers, int vectors) {
    const auto stage = last.find(id);
    if (stage == last.end()) return;
    if (vectors > 1) {
      consumed[stage->second] += registers;
    } else {
      given_up[stage->second] += registers;
    }
    given += registers * vectors;
  };
  for (std::size_t s = 0; s < func.stages.size(); ++s) {
    const Stage& stage = func.stages[s];
    const StageValues values(stage, part, varies);
    const bool is_once = stage.loops.empty() && part.form != LoopForm::kPoints;
    const int vectors = is_once ? 1 : part.vectors;
    int states = 0;
    for (const Reduction& reduction : stage.reductions) {
      const int lanes = part.form == LoopForm::kRows && is_once ? 1 : part.width;
      states += RegistersOfState(reduction, lanes, part.kept ? 1 : kSumLevels);
    }
    // Vectors that are kept give way, one after the other, to what is made of them. Loads are made
    // as early as can be.
    const int results = std::max(0, values.Results() - consumed[s]);
    const int waiting = values.IsShort() ? 0 : values.Loads();
    const int one = values.Peak() - std::min(values.Results(), consumed[s]);
    const int body = one + (vectors - 1) * std::max(results, waiting);
    const int here = std::max(values.IsShort() ? body : WithLoss(body), vectors * values.Loads());
    most = std::max(most,
                    given + states + here + (is_once ? 0 : PlacesOf(func, stage, part, vectors)));
    for (const Temporary& temporary : stage.temporaries) {
      varies[temporary.id] = values.varies(temporary.value);
      give(temporary.id, RegistersOf(temporary.dtype) * values.LanesOf(temporary.value), vectors);
    }
    for (const Reduction& reduction : stage.reductions) {
      varies[reduction.id] = part.form == LoopForm::kColumns;
      give(reduction.id, RegistersOfResult(reduction, part), 1);
    }
    given -= given_up[s] + consumed[s] * vectors;
  }
  return most;
}

std::int64_t EmittedOperations(const LoopFunc& func, const ThreadPart& part) {
  std::int64_t operations = 0;
  std::map<std::uint32_t, bool> varies;
  for (const Stage& stage : func.stages) {
    const StageValues values(stage, part, varies);
    const bool is_once = stage.loops.empty() && part.form != LoopForm::kPoints;
    std::int64_t of_vector = 0;
    for (std::uint32_t i = 0; i < stage.body.instrs.size(); ++i) {
      of_vector += CostOf(stage.body.instrs[i]) * values.LanesOf(i);
    }
    of_vector +=
        static_cast<std::int64_t>(stage.stores.size() + stage.reductions.size()) * 2 * part.width;
    operations += of_vector * (is_once ? 1 : part.vectors);
    for (const Temporary& temporary : stage.temporaries) {
      varies[temporary.id] = values.varies(temporary.value);
    }
    for (const Reduction& reduction : stage.reductions) {
      varies[reduction.id] = part.form == LoopForm::kColumns;
    }
  }
  // Vectors that are aligned, and those that are not; whole rounds through a row, and the last.
  const bool streams = !part.kept && part.form != LoopForm::kPoints;
  return operations * (part.width > 1 ? 2 : 1) * (streams ? 2 : 1);
}

}  // namespace stoker::cuda
