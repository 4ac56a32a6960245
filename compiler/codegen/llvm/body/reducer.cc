#include "compiler/codegen/llvm/body/reducer.h"

#include "compiler/codegen/llvm/body/pointwise.h"

namespace stoker::codegen {
Reducer::Reducer(KernelEmitter& emitter, const Reduction& reduction, std::vector<int> dims,
                 std::vector<llvm::Value*> extents)
    : emitter_(&emitter),
      kind_(reduction.kind),
      dtype_(reduction.dtype),
      is_arg_(reduction.is_arg),
      dims_(std::move(dims)),
      extents_(std::move(extents)) {}

Values Reducer::Start(int width) {
  Values state = {emitter_->Splat(CombineIdentity(*emitter_, kind_, dtype_), width)};
  // Position 0 is right for lanes that see nothing but the identity.
  if (is_arg_) state.push_back(emitter_->Splat(emitter_->I64(0), width));
  return state;
}

void Reducer::Accumulate(llvm::MutableArrayRef<llvm::Value*> state, llvm::Value* value,
                         const Lanes& lanes, llvm::Value* mask) {
  llvm::IRBuilder<>& b = emitter_->b();
  if (!is_arg_) {
    // The accumulator is the second operand: its way through maximum and minimum is the shorter.
    llvm::Value* next = EmitCombine(*emitter_, kind_, dtype_, value, state[0]);
    state[0] = mask == nullptr ? next : b.CreateSelect(mask, next, state[0]);
    return;
  }
  llvm::Value* beats = Beats(value, state[0]);
  if (mask != nullptr) beats = b.CreateAnd(beats, mask);
  state[0] = b.CreateSelect(beats, value, state[0]);
  state[1] = b.CreateSelect(beats, Position(lanes, KernelEmitter::WidthOf(value)), state[1]);
}

void Reducer::AccumulateProduct(llvm::MutableArrayRef<llvm::Value*> state, llvm::Value* x,
                                llvm::Value* y, llvm::Value* mask) {
  llvm::Value* next = emitter_->Fma(x, y, state[0]);
  state[0] = mask == nullptr ? next : emitter_->b().CreateSelect(mask, next, state[0]);
}

void Reducer::Merge(llvm::MutableArrayRef<llvm::Value*> state, llvm::ArrayRef<llvm::Value*> other) {
  if (!is_arg_) {
    state[0] = EmitCombine(*emitter_, kind_, dtype_, other[0], state[0]);
    return;
  }
  // Of equal extremes the first counts; NaN equals NaN here.
  llvm::IRBuilder<>& b = emitter_->b();
  llvm::Value* wins = Beats(other[0], state[0]);
  llvm::Value* loses = Beats(state[0], other[0]);
  llvm::Value* tie = b.CreateNot(b.CreateOr(wins, loses));
  llvm::Value* before = b.CreateICmpSLT(other[1], state[1]);
  llvm::Value* take = b.CreateOr(wins, b.CreateAnd(tie, before));
  state[0] = b.CreateSelect(take, other[0], state[0]);
  state[1] = b.CreateSelect(take, other[1], state[1]);
}

Values Reducer::Narrow(const Values& state) {
  if (!is_arg_) {
    return {emitter_->ReduceLanes(state[0], [&](llvm::Value* x, llvm::Value* y) {
      return EmitCombine(*emitter_, kind_, dtype_, x, y);
    })};
  }
  llvm::IRBuilder<>& b = emitter_->b();
  const auto lane = [&](std::uint64_t i) {
    return Values{b.CreateExtractElement(state[0], i), b.CreateExtractElement(state[1], i)};
  };
  const int width = KernelEmitter::WidthOf(state[0]);
  if (width == 1) return state;
  Values result = lane(0);
  for (int i = 1; i < width; ++i) Merge(result, lane(static_cast<std::uint64_t>(i)));
  return result;
}

llvm::Value* Reducer::ReduceLanes(const Values& state) { return Narrow(state).back(); }

llvm::Value* Reducer::Position(const Lanes& lanes, int width) {
  llvm::IRBuilder<>& b = emitter_->b();
  llvm::Value* position = emitter_->I64(0);
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    const auto dim = static_cast<std::size_t>(dims_[i]);
    position = emitter_->Add(emitter_->Mul(position, extents_[i]), lanes.index[dim]);
  }
  position = emitter_->Splat(position, width);
  // Reduced lanes are neighbours: their dim is the last.
  if (width > 1 && !dims_.empty() && dims_.back() == lanes.dim) {
    position = b.CreateAdd(position, emitter_->Iota(b.getInt64Ty(), width));
  }
  return position;
}

llvm::Value* Reducer::Beats(llvm::Value* value, llvm::Value* best) {
  llvm::IRBuilder<>& b = emitter_->b();
  BodyInstr compare;
  compare.dtype = DType::kBool;
  compare.pointwise = OpKind::kCompare;
  compare.direction = kind_ == Combine::kMaximum ? CompareDirection::kGt : CompareDirection::kLt;
  llvm::Value* beats = EmitPointwise(*emitter_, compare, dtype_, {value, best});
  if (!IsFloat(dtype_)) return beats;
  llvm::Value* nan = b.CreateAnd(b.CreateFCmpUNO(value, value), b.CreateFCmpORD(best, best));
  return b.CreateOr(beats, nan);
}

}  // namespace stoker::codegen
