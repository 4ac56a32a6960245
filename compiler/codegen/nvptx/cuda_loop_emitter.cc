#include "compiler/codegen/nvptx/cuda_loop_emitter.h"

#include <algorithm>

#include "compiler/codegen/llvm/body/sum_cascade.h"

namespace stoker::codegen {
namespace {

bool RunsAlong(const Access& access, int dim) {
  return std::ranges::any_of(access.index.terms,
                             [&](const IndexTerm& term) { return term.dim == dim; });
}

bool IsProductOfF32(const BodyInstr& instr) {
  return instr.op == BodyOp::kPointwise && instr.pointwise == OpKind::kMultiply &&
         instr.dtype == DType::kF32;
}

}  // namespace

CudaLoopEmitter::CudaLoopEmitter(const LoopFunc& func, const CudaSchedule& schedule, int vector_dim,
                                 NvptxEmitter& emitter)
    : func_(func),
      schedule_(schedule),
      emitter_(emitter),
      vector_dim_(vector_dim),
      index_(func.dims.size(), nullptr),
      row_sums_(func),
      hidden_errors_(func),
      formulas_(func, [this](const Stage& stage, std::uint32_t instr) {
        return hidden_errors_.Of(stage)[instr];
      }) {}

void CudaLoopEmitter::Emit() {
  emitter_.ForEitherAlignment(VectorOperands(), [&] {
    results_.clear();
    kept_.clear();
    EmitBlock();
  });
}

// Those of which vectors are accessed.
std::vector<std::uint32_t> CudaLoopEmitter::VectorOperands() const {
  std::vector<std::uint32_t> operands;
  if (schedule_.width == 1) return operands;
  const auto add = [&](const Access& access) {
    if (!RunsAlong(access, vector_dim_)) return;
    if (std::ranges::find(operands, access.operand) != operands.end()) return;
    operands.push_back(access.operand);
  };
  for (const Stage& stage : func_.stages) {
    for (const BodyInstr& instr : stage.body.instrs) {
      if (instr.op == BodyOp::kLoad) add(instr.access);
    }
    for (const Store& store : stage.stores) add(store.access);
  }
  return operands;
}

Values CudaLoopEmitter::ExtentsOf(const std::vector<int>& dims) {
  Values extents;
  for (const int dim : dims) {
    extents.push_back(emitter_.Dim(func_.dims[static_cast<std::size_t>(dim)]));
  }
  return extents;
}

llvm::Value* CudaLoopEmitter::ProductOf(const Values& extents) {
  llvm::Value* product = Constant(1);
  for (llvm::Value* extent : extents) product = emitter_.Mul(product, extent);
  return product;
}

std::vector<int> CudaLoopEmitter::OuterDims() const {
  std::vector<int> dims;
  for (int dim = 0; dim < func_.num_outer; ++dim) dims.push_back(dim);
  return dims;
}

void CudaLoopEmitter::SetIndices(const std::vector<int>& dims, const Values& at) {
  for (std::size_t i = 0; i < dims.size(); ++i) index_[static_cast<std::size_t>(dims[i])] = at[i];
}

Lanes CudaLoopEmitter::LanesHere() const {
  Lanes lanes;
  lanes.width = schedule_.width;
  lanes.dim = vector_dim_;
  lanes.index = index_;
  lanes.aligned = true;
  return lanes;
}

llvm::Value* CudaLoopEmitter::OrZero(llvm::Value* condition, llvm::Value* x) {
  return condition == nullptr ? x : b().CreateSelect(condition, x, Constant(0));
}

llvm::Value* CudaLoopEmitter::And(llvm::Value* x, llvm::Value* y) {
  if (x == nullptr) return y;
  return y == nullptr ? x : b().CreateAnd(x, y);
}

void CudaLoopEmitter::If(llvm::Value* condition, llvm::function_ref<void()> then) {
  if (condition == nullptr) {
    then();
  } else {
    emitter_.If(condition, then);
  }
}

std::optional<std::int64_t> CudaLoopEmitter::KnownOf(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  if (constant == nullptr) return std::nullopt;
  return constant->getSExtValue();
}

llvm::Value* CudaLoopEmitter::Below(llvm::Value* x, llvm::Value* limit,
                                    std::optional<std::int64_t> most) {
  const std::optional<std::int64_t> known = KnownOf(limit);
  if (known && most && *most < *known) return nullptr;
  return b().CreateICmpSLT(x, limit);
}

std::vector<VectorBody> CudaLoopEmitter::Evaluate(const Stage& stage,
                                                  const std::vector<Slot>& slots) {
  std::vector<VectorBody> bodies;
  for (const Slot& slot : slots) {
    VectorBody& body = bodies.emplace_back(emitter_, stage.body, &row_sums_,
                                           &hidden_errors_.Of(stage), &formulas_);
    const auto input = [&](const BodyInstr& instr) -> LaneValue {
      const auto result = results_.find(instr.input);
      if (result != results_.end()) return result->second;
      const std::vector<LaneValue>& kept = kept_.at(instr.input);
      return kept.size() == 1 ? kept[0] : kept[static_cast<std::size_t>(slot.number)];
    };
    body.Evaluate(slot.lanes, input, [&](const BodyInstr& load) { return Staged(load, slot); });
    for (const Temporary& temporary : stage.temporaries) {
      std::vector<LaneValue>& kept = kept_[temporary.id];
      if (slot.number == 0) kept.clear();
      kept.push_back(body.value(formulas_.ValueOf(temporary.id, temporary.value)));
    }
  }
  return bodies;
}

void CudaLoopEmitter::BeginReductions(const Stage& stage) {
  reducers_.clear();
  std::vector<int> dims = stage.loops;
  const Values extents = ExtentsOf(dims);
  for (const Reduction& reduction : stage.reductions) {
    reducers_.emplace_back(emitter_, reduction, dims,
                           std::vector<llvm::Value*>(extents.begin(), extents.end()));
  }
}

bool CudaLoopEmitter::SumsUp() const {
  return std::ranges::any_of(reducers_, [](const Reducer& reducer) { return reducer.SumsUp(); });
}

Values CudaLoopEmitter::Start(int width) {
  Values states;
  for (Reducer& reducer : reducers_) states.append(reducer.Start(width));
  // What is added to -0 first is it: no instruction. Result makes 0 of it again.
  ForEachState(states, [&](Reducer& reducer, std::size_t, auto state) {
    if (reducer.SumsUp()) state[0] = llvm::ConstantFP::getNegativeZero(state[0]->getType());
  });
  return states;
}

void CudaLoopEmitter::ForEachState(
    Values& states,
    llvm::function_ref<void(Reducer&, std::size_t, llvm::MutableArrayRef<llvm::Value*>)> visit) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < reducers_.size(); ++i) {
    const std::size_t size = reducers_[i].StateSize();
    visit(reducers_[i], i, llvm::MutableArrayRef<llvm::Value*>(states).slice(at, size));
    at += size;
  }
}

void CudaLoopEmitter::Accumulate(const Stage& stage, const std::vector<Slot>& slots,
                                 std::vector<VectorBody>& bodies, Values& states) {
  for (std::size_t s = 0; s < slots.size(); ++s) {
    llvm::Value* mask = slots[s].active;
    if (mask != nullptr) mask = emitter_.Splat(mask, schedule_.width);
    ForEachState(states, [&](Reducer& reducer, std::size_t i, auto state) {
      const Reduction& reduction = stage.reductions[i];
      const std::uint32_t value = formulas_.ValueOf(reduction.id, reduction.value);
      const BodyInstr& instr = stage.body.instrs[value];
      if (reducer.SumsUp() && IsProductOfF32(instr)) {
        reducer.AccumulateProduct(state, bodies[s].Vector(instr.args[0]),
                                  bodies[s].Vector(instr.args[1]), mask);
        return;
      }
      reducer.Accumulate(state, bodies[s].Vector(value), slots[s].lanes, mask);
    });
  }
}

llvm::Value* CudaLoopEmitter::ResultOf(const Reducer& reducer, llvm::ArrayRef<llvm::Value*> state) {
  llvm::Value* result = reducer.Result(state);
  if (!reducer.SumsUp()) return result;
  return b().CreateFAdd(result, llvm::ConstantFP::get(result->getType(), 0));
}

Values CudaLoopEmitter::Restart(const Values& states) {
  Values run = states;
  ForEachState(run, [&](Reducer& reducer, std::size_t, auto state) {
    if (reducer.SumsUp()) state[0] = reducer.Start(schedule_.width)[0];
  });
  return run;
}

void CudaLoopEmitter::Join(Values& states, const Values& run) {
  Values before = states;
  states = run;
  std::size_t at = 0;
  ForEachState(states, [&](Reducer& reducer, std::size_t, auto state) {
    if (reducer.SumsUp()) reducer.Merge(state, llvm::ArrayRef<llvm::Value*>(before).slice(at, 1));
    at += reducer.StateSize();
  });
}

void CudaLoopEmitter::ForSums(llvm::Value* end, std::int64_t terms, Values& states,
                              KernelEmitter::LoopBody body) {
  if (!SumsUp()) {
    emitter_.For(Constant(0), end, 1, states, body);
    return;
  }
  const auto restart = [&](const Values& values) { return Restart(values); };
  const auto add = [&](Values& values, const Values& run) { Join(values, run); };
  EmitSumCascade(emitter_, Constant(0), end, 1, terms, states, {restart, add}, body);
}

}  // namespace stoker::codegen
