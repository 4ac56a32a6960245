// Sums of f32 in bf16 parts (split_contraction.cc) that are not finite, which are computed again.
#include "compiler/codegen/x86/contraction/split_contraction.h"

namespace stoker::codegen {
namespace {

constexpr int kLanes = 16;

}  // namespace

void SplitContraction::SettleSplitUnit(const PanelChunk& chunk, const RowUnit& unit,
                                       llvm::Value* block, llvm::Value* total, llvm::Value* sums) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* vector = KernelEmitter::VectorOf(b.getFloatTy(), kLanes);
  llvm::Constant* zero = llvm::Constant::getNullValue(vector);
  const auto at = [&](llvm::Value* base, llvm::Value* row, int v) {
    return AddBytes(base, e_.Add(e_.Mul(row, e_.I64(SumBytes())), e_.I64(v * kTileRowBytes)));
  };
  const auto load = [&](llvm::Value* base, llvm::Value* row, int v) -> llvm::Value* {
    llvm::LoadInst* value = b.CreateAlignedLoad(vector, at(base, row, v), llvm::Align(64));
    e_.TagAccess(value, KernelEmitter::kScratch);
    return value;
  };
  const auto store = [&](llvm::Value* value, llvm::Value* base, llvm::Value* row, int v) {
    e_.TagAccess(b.CreateAlignedStore(value, at(base, row, v), llvm::Align(64)),
                 KernelEmitter::kScratch);
  };
  // Zero times a finite number is zero; otherwise it is NaN and stays so.
  Values checks(static_cast<std::size_t>(plan_.vectors), zero);
  e_.For(e_.I64(0), unit.rows, 1, checks, [&](llvm::Value* row, Values& carried) {
    for (int v = 0; v < plan_.vectors; ++v) {
      llvm::Value* value = load(block, row, v);
      if (total != nullptr) {
        value = b.CreateFAdd(value, load(total, row, v));
        store(value, block, row, v);
      }
      llvm::Value*& check = carried[static_cast<std::size_t>(v)];
      check = e_.Fma(value, zero, check);
    }
  });
  llvm::Value* check = checks[0];
  for (std::size_t v = 1; v < checks.size(); ++v) check = b.CreateFAdd(check, checks[v]);
  llvm::Value* bad = b.CreateOrReduce(b.CreateFCmpUNO(check, check));
  e_.If(bad, [&] { RepairSplitUnit(chunk, unit, sums); });
  if (!chunk.partial) return;
  e_.If(b.CreateNot(bad), [&] {
    e_.For(e_.I64(0), unit.rows, 1, [&](llvm::Value* row) {
      for (int v = 0; v < plan_.vectors; ++v) {
        store(b.CreateFAdd(load(sums, row, v), load(block, row, v)), sums, row, v);
      }
    });
  });
}

// Elements 2 * number and the one after it of a granule of A, put together again, in turn in all
// lanes.
llvm::Value* SplitContraction::WholePair(llvm::Value* granule, llvm::Value* number) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* pair = KernelEmitter::VectorOf(b.getFloatTy(), 2);
  llvm::Type* words = KernelEmitter::VectorOf(b.getInt32Ty(), 2);
  llvm::SmallVector<int, kLanes> repeat;
  for (int i = 0; i < kLanes; ++i) repeat.push_back(i % 2);
  llvm::Value* at = AddBytes(granule, e_.Mul(number, e_.I64(4)));
  llvm::Value* sum = nullptr;
  for (std::int64_t part = kSplitParts - 1; part >= 0; --part) {
    llvm::Value* bits = b.CreateAlignedLoad(
        b.getInt32Ty(), AddBytes(at, e_.I64(part * kTileRowBytes)), llvm::Align(4));
    llvm::Value* value = llvm::Constant::getNullValue(words);
    value = b.CreateInsertElement(value, b.CreateShl(bits, b.getInt32(16)), std::uint64_t{0});
    value =
        b.CreateInsertElement(value, b.CreateAnd(bits, b.getInt32(0xffff0000)), std::uint64_t{1});
    value = b.CreateBitCast(value, pair);
    sum = sum == nullptr ? value : b.CreateFAdd(sum, value);
  }
  return b.CreateShuffleVector(sum, repeat);
}

// By multiply-adds of pairs: lanes are 8 columns of even and odd k, added up at the end. Each
// granule is a run of its own.
void SplitContraction::RepairSplitUnit(const PanelChunk& chunk, const RowUnit& unit,
                                       llvm::Value* sums) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* vector = KernelEmitter::VectorOf(b.getFloatTy(), kLanes);
  const std::int64_t columns = kLanes / 2;
  const std::int64_t pair_row_bytes = func_.rhs.nr * 2 * ElementBytes();
  llvm::SmallVector<int, kLanes / 2> even;
  llvm::SmallVector<int, kLanes / 2> odd;
  for (int i = 0; i < kLanes; i += 2) {
    even.push_back(i);
    odd.push_back(i + 1);
  }
  llvm::Value* lhs_stride = e_.Mul(e_.Dim(plan_.rows.back().lhs_stride), e_.I64(kSplitBytes));
  e_.For(e_.I64(0), unit.rows, 1, [&](llvm::Value* row) {
    e_.For(e_.I64(0), e_.I64(func_.rhs.nr), columns, [&](llvm::Value* column) {
      Values carried = {llvm::Constant::getNullValue(vector)};
      llvm::Value* lhs_row = AddBytes(unit.lhs, e_.Mul(row, lhs_stride));
      const auto add_granule = [&](llvm::Value* lhs, llvm::Value* granule, Values& values) {
        Values run = {llvm::Constant::getNullValue(vector)};
        e_.For(e_.I64(0), e_.I64(kTileRows), 1, run, [&](llvm::Value* number, Values& sum) {
          llvm::Value* at =
              e_.Mul(e_.Add(e_.Mul(granule, e_.I64(kTileRows)), number), e_.I64(pair_row_bytes));
          at = e_.Add(at, e_.Mul(column, e_.I64(2 * ElementBytes())));
          llvm::LoadInst* rhs =
              b.CreateAlignedLoad(vector, AddBytes(chunk.rhs, at), llvm::Align(64));
          e_.TagAccess(rhs, kRhs);
          sum[0] = e_.Fma(WholePair(lhs, number), rhs, sum[0]);
        });
        values[0] = b.CreateFAdd(values[0], run[0]);
      };
      ForEachGranule(chunk, lhs_row, carried, add_granule, [](Values&) {});
      llvm::Value* total = b.CreateFAdd(b.CreateShuffleVector(carried[0], even),
                                        b.CreateShuffleVector(carried[0], odd));
      llvm::Value* pointer = AddBytes(
          sums, e_.Add(e_.Mul(row, e_.I64(SumBytes())), e_.Mul(column, e_.I64(ElementBytes()))));
      if (chunk.partial) {
        llvm::LoadInst* before = b.CreateAlignedLoad(total->getType(), pointer, llvm::Align(32));
        e_.TagAccess(before, KernelEmitter::kScratch);
        total = b.CreateFAdd(before, total);
      }
      e_.TagAccess(b.CreateAlignedStore(total, pointer, llvm::Align(32)), KernelEmitter::kScratch);
    });
  });
}

}  // namespace stoker::codegen
