#include "compiler/schedule/cuda/standing_rows.h"

#include <algorithm>

#include "compiler/schedule/cuda/loop_form.h"

namespace stoker::cuda {
namespace {

constexpr std::int64_t kF32Bytes = 4;

// The vectors of a row along `dim`, one after the other.
bool IsContiguous(const Access& access, int dim) {
  const auto& terms = access.index.terms;
  const auto along = std::ranges::find(terms, dim, &IndexTerm::dim);
  return along != terms.end() && along->divisor == 1 && along->modulus == 0 &&
         along->coefficient == SymDim(1) && std::ranges::count(terms, dim, &IndexTerm::dim) == 1;
}

class Staging {
 public:
  Staging(const LoopFunc& func, int dim, std::int64_t elements, int width,
          const GpuMachine& machine)
      : func_(func),
        dim_(dim),
        elements_(elements),
        width_(width),
        copy_bytes_(machine.blocks.access_bytes) {}

  // Whether it can be staged, or need not.
  bool Add(const BodyInstr& load) {
    const Access& access = load.access;
    const auto runs = std::ranges::count(access.index.terms, dim_, &IndexTerm::dim);
    if (runs == 0) return true;  // One for each vector, or for all.
    if (load.has_predicate || !load.args.empty() || !IsContiguous(access, dim_)) return false;
    if (rows_.Find(access) != nullptr) return true;
    const bool of_row = IsOfRow(func_, access);
    const int size = SizeInBytes(access.dtype);
    if (of_row ? width_ * size % copy_bytes_ != 0
               : !IsFloat(access.dtype) || size > kF32Bytes || width_ % 4 != 0) {
      return false;
    }
    rows_.staged.push_back({access, of_row, 0, elements_ * (of_row ? size : kF32Bytes)});
    return true;
  }

  StandingRows Place(int teams) && {
    for (StandingRows::Staged& staged : rows_.staged) {
      staged.place = rows_.bytes;
      rows_.bytes += staged.bytes * (staged.of_row ? teams : 1);
    }
    return std::move(rows_);
  }

 private:
  const LoopFunc& func_;
  const int dim_;
  const std::int64_t elements_;
  const int width_;
  const int copy_bytes_;
  StandingRows rows_;
};

}  // namespace

bool IsOfRow(const LoopFunc& func, const Access& access) {
  return std::ranges::any_of(access.index.terms,
                             [&](const IndexTerm& term) { return term.dim < func.num_outer; });
}

const StandingRows::Staged* StandingRows::Find(const Access& access) const {
  const auto found = std::ranges::find(staged, access, &Staged::access);
  return found == staged.end() ? nullptr : &*found;
}

std::optional<StandingRows> StandingRowsOf(const LoopFunc& func, const RowSchedule& rows, int width,
                                           int threads, const GpuMachine& machine) {
  const int dim = VectorDim(func, LoopForm::kRows);
  const SymDim& extent = func.dims[static_cast<std::size_t>(dim)];
  const bool has_one_loop = std::ranges::all_of(func.stages, [&](const Stage& stage) {
    return stage.loops.empty() || stage.loops == std::vector<int>{dim};
  });
  if (!has_one_loop || !extent.IsConstant()) return std::nullopt;
  const std::int64_t elements = extent.constant();
  if (elements != std::int64_t{width} * rows.vectors * rows.team) return std::nullopt;
  Staging staging(func, dim, elements, width, machine);
  std::vector<std::uint32_t> stored;  // Operands, by earlier stages.
  for (const Stage& stage : func.stages) {
    for (const BodyInstr& instr : stage.body.instrs) {
      if (instr.op != BodyOp::kLoad || stage.loops.empty()) continue;
      // The copy has what was there before.
      if (std::ranges::find(stored, instr.access.operand) != stored.end() || !staging.Add(instr))
        return std::nullopt;
    }
    for (const Store& store : stage.stores) stored.push_back(store.access.operand);
  }
  return std::move(staging).Place(threads / rows.team);
}

}  // namespace stoker::cuda
