#include "compiler/codegen/llvm/emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace stoker::codegen {
namespace {

// Beyond so many operands (multi-tensor kernels) alias metadata grows faster than it helps.
constexpr std::uint32_t kMaxAliasScopes = 24;

std::optional<std::int64_t> ConstantOf(llvm::Value* value) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return constant->getSExtValue();
  return std::nullopt;
}

}  // namespace

KernelEmitter::KernelEmitter(llvm::Function* function, std::vector<SymDim> dims,
                             std::uint32_t num_operands)
    : function_(function),
      dims_(std::move(dims)),
      builder_(function->getContext()),
      dim_values_(dims_.size(), nullptr) {
  llvm::LLVMContext& context = function->getContext();

  // The entry block holds buffer and dim loads; it is closed by Finish.
  entry_ = llvm::BasicBlock::Create(context, "entry", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "body", function_);
  builder_.SetInsertPoint(body);

  if (num_operands <= kMaxAliasScopes) {
    llvm::MDBuilder metadata(context);
    llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("kernel");
    std::vector<llvm::Metadata*> scopes;
    for (std::uint32_t i = 0; i <= num_operands; ++i) {
      scopes.push_back(metadata.createAnonymousAliasScope(domain));
    }
    for (std::uint32_t i = 0; i <= num_operands; ++i) {
      std::vector<llvm::Metadata*> others = scopes;
      others.erase(others.begin() + i);
      alias_scopes_.push_back(llvm::MDNode::get(context, {scopes[i]}));
      noalias_scopes_.push_back(llvm::MDNode::get(context, others));
    }
  }
}

llvm::Value* KernelEmitter::Buffer(std::uint32_t operand) {
  llvm::Value*& buffer = buffers_[operand];
  if (buffer == nullptr) buffer = LoadBuffer(operand);
  return buffer;
}

llvm::Value* KernelEmitter::Dim(const SymDim& dim) {
  if (dim.IsConstant()) return I64(dim.constant());
  const auto at = std::find(dims_.begin(), dims_.end(), dim);
  STOKER_CHECK(at != dims_.end());
  const auto slot = static_cast<std::size_t>(at - dims_.begin());
  if (dim_values_[slot] == nullptr) dim_values_[slot] = LoadDim(slot);
  return dim_values_[slot];
}

Values KernelEmitter::Unflatten(llvm::Value* flat, llvm::ArrayRef<llvm::Value*> extents) {
  Values indices(extents.size(), nullptr);
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (i == 0) {
      indices[i] = flat;
    } else if (ConstantOf(extents[i]) == 1) {
      indices[i] = I64(0);
    } else {
      indices[i] = builder_.CreateURem(flat, extents[i]);
      flat = builder_.CreateUDiv(flat, extents[i]);
    }
  }
  return indices;
}

void KernelEmitter::Finish() {
  builder_.CreateRetVoid();
  llvm::BasicBlock* body = entry_->getNextNode();
  llvm::BranchInst::Create(body, entry_);
}

llvm::Value* KernelEmitter::Add(llvm::Value* x, llvm::Value* y) {
  if (ConstantOf(x) == 0) return y;
  if (ConstantOf(y) == 0) return x;
  return builder_.CreateNSWAdd(x, y);
}

llvm::Value* KernelEmitter::Sub(llvm::Value* x, llvm::Value* y) {
  if (ConstantOf(y) == 0) return x;
  return builder_.CreateNSWSub(x, y);
}

llvm::Value* KernelEmitter::Mul(llvm::Value* x, llvm::Value* y) {
  if (ConstantOf(x) == 1) return y;
  if (ConstantOf(y) == 1) return x;
  if (ConstantOf(x) == 0) return x;
  if (ConstantOf(y) == 0) return y;
  return builder_.CreateNSWMul(x, y);
}

llvm::Value* KernelEmitter::DivUp(llvm::Value* x, std::int64_t y) {
  if (y == 1) return x;
  return builder_.CreateUDiv(Add(x, I64(y - 1)), I64(y));
}

llvm::Value* KernelEmitter::Min(llvm::Value* x, llvm::Value* y) {
  if (x == y) return x;
  if (ConstantOf(x) && ConstantOf(y)) return I64(std::min(*ConstantOf(x), *ConstantOf(y)));
  return builder_.CreateSelect(builder_.CreateICmpSLT(x, y), x, y);
}

void KernelEmitter::Loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, Values& carried,
                         LoopBody body, bool may_be_empty) {
  const auto constant_begin = ConstantOf(begin);
  const auto constant_end = ConstantOf(end);
  const auto constant_step = ConstantOf(step);
  if (constant_begin && constant_end) {
    if (*constant_end <= *constant_begin) return;
    if (constant_step && *constant_end - *constant_begin <= *constant_step) {
      body(begin, carried);
      return;
    }
    may_be_empty = false;
  }
  llvm::LLVMContext& context = function_->getContext();
  llvm::BasicBlock* preheader = builder_.GetInsertBlock();
  llvm::BasicBlock* guard = nullptr;
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context, "loop", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context, "done", function_);
  if (may_be_empty) {
    guard = preheader;
    preheader = llvm::BasicBlock::Create(context, "enter", function_, loop);
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), preheader, done);
    builder_.SetInsertPoint(preheader);
  }
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* index = builder_.CreatePHI(builder_.getInt64Ty(), 2, "i");
  index->addIncoming(begin, preheader);
  std::vector<llvm::PHINode*> phis;
  const Values initial = carried;
  for (llvm::Value*& value : carried) {
    llvm::PHINode* phi = builder_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, preheader);
    phis.push_back(phi);
    value = phi;
  }
  body(index, carried);
  STOKER_CHECK(carried.size() == phis.size());
  llvm::Value* next = builder_.CreateNSWAdd(index, step);
  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), loop, done);
  index->addIncoming(next, latch);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(carried[i], latch);

  done->moveAfter(latch);
  builder_.SetInsertPoint(done);
  for (std::size_t i = 0; i < phis.size(); ++i) {
    llvm::PHINode* result = builder_.CreatePHI(phis[i]->getType(), 2);
    result->addIncoming(carried[i], latch);
    if (guard != nullptr) result->addIncoming(initial[i], guard);
    carried[i] = result;
  }
}

void KernelEmitter::For(llvm::Value* begin, llvm::Value* end, std::int64_t step,
                        llvm::function_ref<void(llvm::Value*)> body) {
  Values none;
  For(begin, end, step, none, [&](llvm::Value* i, Values&) { body(i); });
}

void KernelEmitter::While(Values& carried,
                          llvm::function_ref<llvm::Value*(const Values& carried)> condition,
                          llvm::function_ref<void(Values& carried)> body) {
  llvm::LLVMContext& context = function_->getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* test = llvm::BasicBlock::Create(context, "while", function_);
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(context, "do", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context, "done", function_);
  builder_.CreateBr(test);
  builder_.SetInsertPoint(test);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value*& value : carried) {
    llvm::PHINode* phi = builder_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    phis.push_back(phi);
    value = phi;
  }
  const Values at_test = carried;
  builder_.CreateCondBr(condition(carried), inside, done);
  builder_.SetInsertPoint(inside);
  body(carried);
  STOKER_CHECK(carried.size() == phis.size());
  llvm::BasicBlock* latch = builder_.GetInsertBlock();
  builder_.CreateBr(test);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(carried[i], latch);
  done->moveAfter(latch);
  builder_.SetInsertPoint(done);
  carried = at_test;
}

void KernelEmitter::If(llvm::Value* condition, llvm::function_ref<void()> then) {
  llvm::LLVMContext& context = function_->getContext();
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(context, "then", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context, "endif", function_);
  builder_.CreateCondBr(condition, inside, done);
  builder_.SetInsertPoint(inside);
  then();
  builder_.CreateBr(done);
  done->moveAfter(builder_.GetInsertBlock());
  builder_.SetInsertPoint(done);
}

void KernelEmitter::If(llvm::Value* condition, Values& carried,
                       llvm::function_ref<void(Values& carried)> then) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  const Values initial = carried;
  llvm::BasicBlock* end = nullptr;
  If(condition, [&] {
    then(carried);
    end = builder_.GetInsertBlock();
  });
  STOKER_CHECK(carried.size() == initial.size());
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (carried[i] == initial[i]) continue;
    llvm::PHINode* phi = builder_.CreatePHI(carried[i]->getType(), 2);
    phi->addIncoming(initial[i], before);
    phi->addIncoming(carried[i], end);
    carried[i] = phi;
  }
}

void KernelEmitter::ForLanes(llvm::Value* begin, llvm::Value* end, int width, int unroll,
                             Values& carried, LaneBody body) {
  const auto loop = [&](llvm::Value* first, llvm::Value* last, std::int64_t step, Values& values,
                        LoopBody inside) { For(first, last, step, values, inside); };
  ForLanes(begin, end, width, unroll, carried, loop, body);
}

void KernelEmitter::ForLanes(llvm::Value* begin, llvm::Value* end, int width, int unroll,
                             Values& carried, LoopOver loop, LaneBody body) {
  const std::int64_t block = std::int64_t{width} * unroll;
  const auto constant_begin = ConstantOf(begin);
  const auto constant_end = ConstantOf(end);
  if (constant_begin && constant_end) {
    const std::int64_t count = std::max<std::int64_t>(0, *constant_end - *constant_begin);
    const std::int64_t blocks_end = *constant_begin + count / block * block;
    loop(begin, I64(blocks_end), block, carried,
         [&](llvm::Value* i, Values& values) { body(i, unroll, nullptr, values); });
    const std::int64_t vectors = (count % block) / width;
    if (vectors > 0) body(I64(blocks_end), static_cast<int>(vectors), nullptr, carried);
    const std::int64_t rest = count % width;
    if (rest > 0) {
      body(I64(blocks_end + vectors * width), 1, TailMask(I64(rest), width), carried);
    }
    return;
  }
  llvm::Value* next = begin;
  if (unroll > 1) {
    llvm::Value* count = Sub(end, begin);
    llvm::Value* covered = builder_.CreateAnd(count, I64(-block));
    if ((block & (block - 1)) != 0) covered = Sub(count, builder_.CreateSRem(count, I64(block)));
    llvm::Value* blocks_end = Add(begin, covered);
    loop(begin, blocks_end, block, carried,
         [&](llvm::Value* i, Values& values) { body(i, unroll, nullptr, values); });
    next = blocks_end;
  }
  const auto vector = [&](llvm::Value* i, Values& values) {
    body(i, 1, TailMask(Sub(end, i), width), values);
  };
  if (unroll > 1) {
    For(next, end, width, carried, vector);
  } else {
    loop(next, end, width, carried, vector);
  }
}

llvm::Value* KernelEmitter::TailMask(llvm::Value* active, int width) {
  if (width == 1) return nullptr;
  llvm::IntegerType* i32 = builder_.getInt32Ty();
  if (const auto count = ConstantOf(active)) {
    if (*count >= width) return nullptr;
    active = builder_.getInt32(static_cast<std::uint32_t>(*count));
  } else {
    active = builder_.CreateTrunc(Min(active, I64(width)), i32);
  }
  return builder_.CreateICmpSLT(Iota(i32, width), Splat(active, width));
}

int KernelEmitter::WidthOf(const llvm::Value* value) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return type == nullptr ? 1 : static_cast<int>(type->getNumElements());
}

llvm::Constant* KernelEmitter::IntOf(llvm::Type* type, std::int64_t value) {
  const llvm::APInt wide(64, static_cast<std::uint64_t>(value), true);
  return llvm::ConstantInt::get(type, wide.trunc(type->getScalarSizeInBits()));
}

llvm::Type* KernelEmitter::LaneType(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return builder_.getDoubleTy();
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return builder_.getFloatTy();
    case DType::kI64:
      return builder_.getInt64Ty();
    case DType::kI32:
      return builder_.getInt32Ty();
    case DType::kI16:
      return builder_.getInt16Ty();
    case DType::kI8:
    case DType::kU8:
      return builder_.getInt8Ty();
    case DType::kBool:
      return builder_.getInt1Ty();
  }
  STOKER_CHECK(false);
}

llvm::Type* KernelEmitter::MemoryType(DType dtype) {
  if (dtype == DType::kF16) return builder_.getHalfTy();
  if (dtype == DType::kBF16) return builder_.getInt16Ty();
  if (dtype == DType::kBool) return builder_.getInt8Ty();
  return LaneType(dtype);
}

llvm::Type* KernelEmitter::VectorOf(llvm::Type* lane, int width) {
  if (width == 1) return lane;
  return llvm::FixedVectorType::get(lane, static_cast<unsigned>(width));
}

llvm::Value* KernelEmitter::Splat(llvm::Value* scalar, int width) {
  if (width == 1) return scalar;
  return builder_.CreateVectorSplat(static_cast<unsigned>(width), scalar);
}

llvm::Constant* KernelEmitter::Iota(llvm::IntegerType* type, int width) {
  if (width == 1) return llvm::ConstantInt::get(type, 0);
  std::vector<llvm::Constant*> lanes;
  for (int i = 0; i < width; ++i) {
    lanes.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(i)));
  }
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* KernelEmitter::ElementPointer(llvm::Value* base, DType dtype, llvm::Value* index) {
  if (ConstantOf(index) == 0) return base;
  return builder_.CreateInBoundsGEP(MemoryType(dtype), base, index);
}

llvm::Value* KernelEmitter::Fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

llvm::Value* KernelEmitter::ReduceLanes(
    llvm::Value* vector, llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> combine) {
  int width = WidthOf(vector);
  STOKER_CHECK((width & (width - 1)) == 0);
  while (width > 1) {
    width /= 2;
    llvm::SmallVector<int, 16> low;
    llvm::SmallVector<int, 16> high;
    for (int i = 0; i < width; ++i) {
      low.push_back(i);
      high.push_back(width + i);
    }
    if (width == 1) {
      vector = combine(builder_.CreateExtractElement(vector, std::uint64_t{0}),
                       builder_.CreateExtractElement(vector, std::uint64_t{1}));
    } else {
      vector = combine(builder_.CreateShuffleVector(vector, low),
                       builder_.CreateShuffleVector(vector, high));
    }
  }
  return vector;
}

llvm::Value* KernelEmitter::CallIntrinsic(const char* name, llvm::ArrayRef<llvm::Value*> args) {
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  STOKER_CHECK(id != llvm::Intrinsic::not_intrinsic);
  return builder_.CreateIntrinsic(id, {}, args);
}

}  // namespace stoker::codegen
