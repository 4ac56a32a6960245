// Online softmax: each block of keys rescales what the blocks before it left.
#include <limits>

#include "compiler/codegen/attention_emitter.h"
#include "compiler/codegen/vector_math.h"

namespace stoker::codegen {
namespace {

constexpr std::uint32_t kMask = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void AttentionEmitter::EmitSoftmax(const Task& task, const KeyBlock& block, const Tile& tile) {
  e_.For(e_.I64(0), tile.rows, 1,
         [&](llvm::Value* row) { EmitSoftmaxRow(task, block, tile, row); });
}

// What is added to the scores of `lanes` keys from `key` on: -inf where a bool mask drops them.
llvm::Value* AttentionEmitter::MaskAt(const Task& task, llvm::Value* query, llvm::Value* key,
                                      llvm::Value* active) {
  llvm::IRBuilder<>& b = e_.b();
  const AttentionOperand& mask = func_.mask;
  const int width = plan_.lanes;
  llvm::Value* row =
      e_.Add(OffsetOf(mask, task.batch, task.head), e_.Mul(query, e_.Dim(mask.strides[2])));
  llvm::Value* pointer = AddElements(e_.Buffer(kMask), mask.dtype, row);
  llvm::Value* value = nullptr;
  if (mask.strides[3] == SymDim(0)) {
    value = e_.Splat(e_.LoadLanes(kMask, mask.dtype, pointer, 1, nullptr), width);
  } else if (mask.strides[3] == SymDim(1)) {
    value = e_.LoadLanes(kMask, mask.dtype, AddElements(pointer, mask.dtype, key), width, active);
  } else {
    llvm::Value* lanes = b.CreateAdd(e_.Splat(key, width), e_.Iota(b.getInt64Ty(), width));
    lanes = b.CreateMul(lanes, e_.Splat(e_.Dim(mask.strides[3]), width));
    value = e_.GatherLanes(kMask, mask.dtype, pointer, lanes, active);
  }
  if (mask.dtype == DType::kBool) {
    return b.CreateSelect(value, e_.Splat(Number(0), width), e_.Splat(Number(-kInfinity), width));
  }
  return b.CreateFPCast(value, ComputeVector());
}

// exp(x) for x <= 0; 0 for NaN.
llvm::Value* AttentionEmitter::Exp(llvm::Value* x) {
  if (plan_.compute == DType::kF32) return EmitExpNonPositive(e_, x);
  llvm::Value* result = EmitTranscendental(e_, OpKind::kExponential, {x});
  return e_.b().CreateSelect(e_.b().CreateFCmpORD(x, x), result,
                             llvm::Constant::getNullValue(x->getType()));
}

void AttentionEmitter::EmitSoftmaxRow(const Task& task, const KeyBlock& block, const Tile& tile,
                                      llvm::Value* row) {
  llvm::IRBuilder<>& b = e_.b();
  const int width = plan_.lanes;
  const auto splat = [&](double value) { return e_.Splat(Number(value), width); };
  llvm::Value* in_task = e_.Add(tile.first, row);
  llvm::Value* query = e_.Add(task.first_query, in_task);
  llvm::Value* keys = tile.keys;
  if (func_.causal) {
    keys = e_.Min(keys, e_.Add(e_.Sub(query, block.first), e_.I64(1)));
    keys = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, keys, e_.I64(0));
  }
  llvm::Value* pitch = e_.Mul(row, e_.I64(plan_.key_block));
  llvm::Value* scores = AddElements(e_.Scratch(plan_.scores_offset), plan_.compute, pitch);
  llvm::Value* probabilities =
      AddElements(e_.Scratch(plan_.probabilities_offset), plan_.element, pitch);
  const auto maximum = [&](llvm::Value* x, llvm::Value* y) {
    return b.CreateSelect(b.CreateFCmpOGT(x, y), x, y);
  };

  // Scaled and masked scores, their maximum, and whether any is NaN: comparisons lose those.
  Values state = {splat(-kInfinity),
                  llvm::Constant::getNullValue(KernelEmitter::VectorOf(b.getInt1Ty(), width))};
  e_.ForLanes(e_.I64(0), keys, width, 1, state,
              [&](llvm::Value* at, int, llvm::Value* active, Values& carried) {
                llvm::Value* pointer = AddElements(scores, plan_.compute, at);
                llvm::Value* x = LoadScratch(ComputeVector(), pointer);
                x = b.CreateFMul(x, splat(func_.scale));
                if (func_.has_mask) {
                  x = b.CreateFAdd(x, MaskAt(task, query, e_.Add(block.first, at), active));
                }
                if (active != nullptr) x = b.CreateSelect(active, x, splat(-kInfinity));
                StoreScratch(x, pointer);
                carried[0] = maximum(x, carried[0]);
                carried[1] = b.CreateOr(carried[1], b.CreateFCmpUNO(x, x));
              });
  llvm::Value* found = e_.ReduceLanes(state[0], maximum);
  // An infinite maximum makes inf - inf.
  llvm::Value* bad =
      b.CreateOr(b.CreateOrReduce(state[1]), b.CreateFCmpOEQ(found, Number(kInfinity)));

  llvm::Value* maximum_at = AddElements(e_.Scratch(plan_.maximum_offset), plan_.compute, in_task);
  llvm::Value* sum_at = AddElements(e_.Scratch(plan_.sum_offset), plan_.compute, in_task);
  llvm::Value* old_maximum = LoadScratch(ComputeLane(), maximum_at);
  llvm::Value* new_maximum = plan_.single_block ? found : maximum(found, old_maximum);
  llvm::Value* center = e_.Splat(new_maximum, width);

  Values sum = {splat(0)};
  // Where nothing is kept, -inf - -inf is NaN and its exponential 0.
  e_.ForLanes(
      e_.I64(0), keys, width, 1, sum, [&](llvm::Value* at, int, llvm::Value*, Values& carried) {
        llvm::Value* x = LoadScratch(ComputeVector(), AddElements(scores, plan_.compute, at));
        llvm::Value* p = Exp(b.CreateFSub(x, center));
        carried[0] = b.CreateFAdd(carried[0], p);
        StoreScratch(e_.ToMemory(plan_.element, p), AddElements(probabilities, plan_.element, at));
      });
  // The product reads up to the tile's padded keys.
  llvm::Value* written = e_.Mul(e_.DivUp(keys, width), e_.I64(width));
  e_.For(written, tile.padded, width, [&](llvm::Value* at) {
    StoreScratch(e_.ToMemory(plan_.element, splat(0)),
                 AddElements(probabilities, plan_.element, at));
  });
  llvm::Value* total =
      e_.ReduceLanes(sum[0], [&](llvm::Value* x, llvm::Value* y) { return b.CreateFAdd(x, y); });
  total = b.CreateSelect(bad, llvm::ConstantFP::getNaN(ComputeLane()), total);
  if (!plan_.single_block) {
    llvm::Value* factor = Exp(b.CreateFSub(old_maximum, new_maximum));
    total = e_.Fma(LoadScratch(ComputeLane(), sum_at), factor, total);
    llvm::Value* output = AddElements(e_.Scratch(plan_.output_offset), plan_.compute,
                                      e_.Mul(in_task, e_.I64(plan_.value_dim)));
    llvm::Value* factors = e_.Splat(factor, width);
    e_.For(e_.I64(0), e_.I64(plan_.value_dim), width, [&](llvm::Value* at) {
      llvm::Value* pointer = AddElements(output, plan_.compute, at);
      StoreScratch(b.CreateFMul(LoadScratch(ComputeVector(), pointer), factors), pointer);
    });
    StoreScratch(new_maximum, maximum_at);
  }
  StoreScratch(total, sum_at);
}

}  // namespace stoker::codegen
