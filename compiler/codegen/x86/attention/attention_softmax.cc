// Online softmax: each block of keys rescales what the blocks before it left.
#include <limits>

#include "compiler/codegen/llvm/math/vector_math.h"
#include "compiler/codegen/x86/attention/attention_emitter.h"

namespace stoker::codegen {
namespace {

constexpr std::uint32_t kMask = 4;
constexpr int kUnroll = 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

// In two loops over rows, so that a processor overlaps the maxima of several rows, each of which is
// one long chain, and then their exponentials.
void AttentionEmitter::EmitSoftmax(const Task& task, const KeyBlock& block, const Tile& tile) {
  e_.For(e_.I64(0), tile.rows, 1,
         [&](llvm::Value* row) { EmitMaximum(task, block, SoftmaxRowAt(task, block, tile, row)); });
  e_.For(e_.I64(0), tile.rows, 1,
         [&](llvm::Value* row) { EmitExponentials(tile, SoftmaxRowAt(task, block, tile, row)); });
}

AttentionEmitter::SoftmaxRow AttentionEmitter::SoftmaxRowAt(const Task& task, const KeyBlock& block,
                                                            const Tile& tile, llvm::Value* row) {
  SoftmaxRow result;
  result.in_task = e_.Add(tile.first, row);
  result.query = e_.Add(task.first_query, result.in_task);
  result.keys = tile.keys;
  if (func_.causal) {
    llvm::Value* seen = e_.Add(e_.Sub(result.query, block.first), e_.I64(1));
    result.keys =
        e_.b().CreateBinaryIntrinsic(llvm::Intrinsic::smax, e_.Min(tile.keys, seen), e_.I64(0));
  }
  llvm::Value* pitch = e_.Mul(row, e_.I64(plan_.key_block));
  result.scores = AddElements(e_.Scratch(plan_.scores_offset), plan_.compute, pitch);
  result.probabilities = AddElements(e_.Scratch(plan_.probabilities_offset), plan_.element, pitch);
  result.maximum = AddElements(e_.Scratch(plan_.maximum_offset), plan_.compute, result.in_task);
  result.sum = AddElements(e_.Scratch(plan_.sum_offset), plan_.compute, result.in_task);
  return result;
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
  llvm::Value* result = EmitExp(e_, x);
  return e_.b().CreateSelect(e_.b().CreateFCmpORD(x, x), result,
                             llvm::Constant::getNullValue(x->getType()));
}

// Scales and masks a row of scores and brings the row's maximum, sum and output up to it. The sum
// becomes NaN where the result is: comparisons lose NaN scores, and an infinite one makes inf -
// inf.
void AttentionEmitter::EmitMaximum(const Task& task, const KeyBlock& block, const SoftmaxRow& row) {
  llvm::IRBuilder<>& b = e_.b();
  const int width = plan_.lanes;
  const auto splat = [&](double value) { return e_.Splat(Number(value), width); };
  const auto maximum = [&](llvm::Value* x, llvm::Value* y) {
    return b.CreateSelect(b.CreateFCmpOGT(x, y), x, y);
  };
  Values state = {splat(-kInfinity),
                  llvm::Constant::getNullValue(KernelEmitter::VectorOf(b.getInt1Ty(), width))};
  e_.ForLanes(e_.I64(0), row.keys, width, kUnroll, state,
              [&](llvm::Value* first, int copies, llvm::Value* active, Values& carried) {
                for (int i = 0; i < copies; ++i) {
                  llvm::Value* at = e_.Add(first, e_.I64(std::int64_t{i} * width));
                  llvm::Value* pointer = AddElements(row.scores, plan_.compute, at);
                  llvm::Value* x = LoadScratch(ComputeVector(), pointer);
                  x = b.CreateFMul(x, splat(func_.scale));
                  if (func_.has_mask) {
                    llvm::Value* key = e_.Add(block.first, at);
                    x = b.CreateFAdd(x, MaskAt(task, row.query, key, active));
                  }
                  if (active != nullptr) x = b.CreateSelect(active, x, splat(-kInfinity));
                  StoreScratch(x, pointer);
                  carried[0] = maximum(x, carried[0]);
                  carried[1] = b.CreateOr(carried[1], b.CreateFCmpUNO(x, x));
                }
              });
  llvm::Value* found = e_.ReduceLanes(state[0], maximum);
  llvm::Value* bad =
      b.CreateOr(b.CreateOrReduce(state[1]), b.CreateFCmpOEQ(found, Number(kInfinity)));
  llvm::Value* nan = llvm::ConstantFP::getNaN(ComputeLane());
  if (plan_.single_block) {
    StoreScratch(found, row.maximum);
    StoreScratch(b.CreateSelect(bad, nan, Number(0)), row.sum);
    return;
  }
  llvm::Value* old_maximum = LoadScratch(ComputeLane(), row.maximum);
  llvm::Value* new_maximum = maximum(found, old_maximum);
  llvm::Value* factor = Exp(b.CreateFSub(old_maximum, new_maximum));
  llvm::Value* sum = b.CreateFMul(LoadScratch(ComputeLane(), row.sum), factor);
  StoreScratch(new_maximum, row.maximum);
  StoreScratch(b.CreateSelect(bad, nan, sum), row.sum);
  llvm::Value* output = AddElements(e_.Scratch(plan_.output_offset), plan_.compute,
                                    e_.Mul(row.in_task, e_.I64(plan_.value_dim)));
  e_.For(e_.I64(0), e_.I64(plan_.value_dim), width, [&](llvm::Value* at) {
    llvm::Value* pointer = AddElements(output, plan_.compute, at);
    StoreScratch(b.CreateFMul(LoadScratch(ComputeVector(), pointer), e_.Splat(factor, width)),
                 pointer);
  });
}

void AttentionEmitter::EmitExponentials(const Tile& tile, const SoftmaxRow& row) {
  llvm::IRBuilder<>& b = e_.b();
  const int width = plan_.lanes;
  llvm::Value* zero = llvm::Constant::getNullValue(ComputeVector());
  llvm::Value* center = e_.Splat(LoadScratch(ComputeLane(), row.maximum), width);
  const auto store = [&](llvm::Value* value, llvm::Value* at) {
    StoreScratch(e_.ToFactor(plan_.element, value),
                 AddElements(row.probabilities, plan_.element, at));
  };
  Values sum = {zero};
  // Where nothing is kept, -inf - -inf is NaN and its exponential 0. Whole vectors: EmitMaximum
  // left -inf behind the last key.
  llvm::Value* written = e_.Mul(e_.DivUp(row.keys, width), e_.I64(width));
  e_.ForLanes(e_.I64(0), written, width, kUnroll, sum,
              [&](llvm::Value* first, int copies, llvm::Value*, Values& carried) {
                for (int i = 0; i < copies; ++i) {
                  llvm::Value* at = e_.Add(first, e_.I64(std::int64_t{i} * width));
                  llvm::Value* x =
                      LoadScratch(ComputeVector(), AddElements(row.scores, plan_.compute, at));
                  llvm::Value* p = Exp(b.CreateFSub(x, center));
                  carried[0] = b.CreateFAdd(carried[0], p);
                  store(p, at);
                }
              });
  // The product reads up to the tile's padded keys.
  e_.For(written, tile.padded, width, [&](llvm::Value* at) { store(zero, at); });
  llvm::Value* total =
      e_.ReduceLanes(sum[0], [&](llvm::Value* x, llvm::Value* y) { return b.CreateFAdd(x, y); });
  StoreScratch(b.CreateFAdd(LoadScratch(ComputeLane(), row.sum), total), row.sum);
}

}  // namespace stoker::codegen
