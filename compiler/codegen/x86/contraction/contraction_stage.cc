// Copies a block's rows of A into scratch, for micro-kernels that cannot read them in place.
#include <algorithm>

#include "compiler/codegen/x86/contraction/contraction_emitter.h"

namespace stoker::codegen {
namespace {

// bf16 that stays bf16 is moved as integers: nothing is computed on it.
DType CopyDType(DType from, DType to) {
  return from == to && SizeInBytes(from) == 2 ? DType::kI16 : from;
}

}  // namespace

// The block's own rows, and what its last unit may take along of the unit before.
llvm::Value* ContractionEmitter::FirstStagedRow(const Tasks& tasks) {
  llvm::Value* first = FirstRowOf(tasks.block_unit);
  if (plan_.last_tiles.empty()) return first;
  llvm::Value* before = e_.Sub(first, e_.I64(plan_.MaxUnitRows()));
  return e_.b().CreateBinaryIntrinsic(llvm::Intrinsic::smax, before, e_.I64(0));
}

void ContractionEmitter::StageRows(const Tasks& tasks, llvm::Value* begin, llvm::Value* end) {
  llvm::Value* first_row = FirstStagedRow(tasks);
  llvm::Value* end_row = e_.Min(FirstRowOf(tasks.block_end), e_.Dim(plan_.rows[0].extent));
  Values extents;
  for (const ContractionDim& dim : func_.m) extents.push_back(e_.Dim(dim.extent));
  const std::int64_t pitch_bytes = plan_.lhs_pitch * plan_.LhsBytes();
  e_.For(first_row, end_row, 1, [&](llvm::Value* row) {
    llvm::Value* source = e_.I64(0);
    const Values at = e_.Unflatten(row, extents);
    for (std::size_t i = 0; i < func_.m.size(); ++i) {
      source = e_.Add(source, e_.Mul(at[i], e_.Dim(func_.m[i].lhs_stride)));
    }
    llvm::Value* target = AddBytes(e_.Scratch(plan_.staged_offset),
                                   e_.Mul(e_.Sub(row, first_row), e_.I64(pitch_bytes)));
    source = AddBytes(tasks.lhs, e_.Mul(source, e_.I64(SizeInBytes(func_.lhs_dtype))));
    CopyRow(source, target, begin, end);
  });
}

void ContractionEmitter::CopyRow(llvm::Value* source, llvm::Value* target, llvm::Value* begin,
                                 llvm::Value* end) {
  Values cursor = {target};
  StageDepth(0, source, begin, end, cursor);
  // K is padded with zeros to a granule, less than which always fits into one vector. What runs
  // over lies in the next row, which is copied later.
  if (plan_.depth_granule == 1) return;
  llvm::Type* zeros = KernelEmitter::VectorOf(e_.b().getInt8Ty(), e_.machine().vector_bytes);
  e_.b().CreateAlignedStore(llvm::Constant::getNullValue(zeros), cursor[0],
                            llvm::Align(static_cast<std::uint64_t>(ElementBytes())));
}

void ContractionEmitter::StageDepth(std::size_t dim, llvm::Value* source, llvm::Value* begin,
                                    llvm::Value* end, Values& target) {
  const ContractionDim& depth = plan_.source_depth[dim];
  llvm::Value* stride = e_.Mul(e_.Dim(depth.lhs_stride), e_.I64(SizeInBytes(func_.lhs_dtype)));
  if (dim + 1 < plan_.source_depth.size()) {
    e_.For(e_.I64(0), e_.Dim(depth.extent), 1, target, [&](llvm::Value* i, Values& values) {
      StageDepth(dim + 1, AddBytes(source, e_.Mul(i, stride)), e_.I64(0), nullptr, values);
    });
    return;
  }
  llvm::Value* count = e_.Sub(end != nullptr ? end : e_.Dim(depth.extent), begin);
  CopyRun(AddBytes(source, e_.Mul(begin, stride)), target[0], count);
  target[0] = AddBytes(target[0], e_.Mul(count, e_.I64(ElementBytes())));
}

void ContractionEmitter::CopyRun(llvm::Value* source, llvm::Value* target, llvm::Value* count) {
  llvm::IRBuilder<>& b = e_.b();
  const DType from = CopyDType(func_.lhs_dtype, plan_.element);
  const DType to = func_.lhs_dtype == plan_.element ? from : plan_.element;
  const int width = e_.machine().vector_bytes / SizeInBytes(to);
  Values none;
  e_.ForLanes(e_.I64(0), count, width, 1, none,
              [&](llvm::Value* first, int, llvm::Value* mask, Values&) {
                llvm::Value* value = LoadForCopy(source, first, width, mask);
                if (IsInteger(from) && from != to) {
                  llvm::Type* type = KernelEmitter::VectorOf(e_.LaneType(to), width);
                  value = b.CreateIntCast(value, type, from != DType::kU8);
                }
                // Whole vectors: inactive lanes are zeros, and later runs overwrite them.
                e_.StoreLanes(KernelEmitter::kScratch, to, e_.ElementPointer(target, to, first),
                              value, nullptr);
              });
}

llvm::Value* ContractionEmitter::LoadForCopy(llvm::Value* source, llvm::Value* at, int width,
                                             llvm::Value* mask) {
  llvm::IRBuilder<>& b = e_.b();
  const DType from = CopyDType(func_.lhs_dtype, plan_.element);
  const SymDim& stride = plan_.source_depth.back().lhs_stride;
  if (stride == SymDim(1)) {
    return e_.LoadLanes(kLhs, from, e_.ElementPointer(source, from, at), width, mask);
  }
  llvm::Value* lanes = b.CreateAdd(e_.Splat(at, width), e_.Iota(b.getInt64Ty(), width));
  return e_.GatherLanes(kLhs, from, source, b.CreateMul(lanes, e_.Splat(e_.Dim(stride), width)),
                        mask);
}

}  // namespace stoker::codegen
