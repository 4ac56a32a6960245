// Epilogues that run beside the products of the next block, which leave the vector units idle.
#include <algorithm>

#include "compiler/codegen/x86/contraction/amx_contraction.h"

namespace stoker::codegen {
namespace {

// Rows of a deferred epilogue beside the products of one granule, and those that are emitted one
// by one.
constexpr std::int64_t kMaxDeferredRows = 8;
constexpr std::int64_t kMaxRepeatedRows = 4;

}  // namespace

std::int64_t AmxContraction::DeferredRowsPerGranule() const {
  const std::int64_t granules =
      std::max<std::int64_t>(1, plan_.ConstantDepth() / plan_.depth_granule);
  return (2 * kTileRows + granules - 1) / granules;
}

bool AmxContraction::DefersEpilogue() const {
  // Sums of bf16 that are added up run by run lie where those of the block before do.
  if (plan_.chunk != 0 || (plan_.kernel == MicroKernel::kAmx && !plan_.runs.one)) return false;
  for (const ContractionDim& dim : plan_.depth) {
    if (!dim.extent.IsConstant()) return false;
  }
  return DeferredRowsPerGranule() <= kMaxDeferredRows;
}

// The words of DeferredRows, the batch as one number.
AmxContraction::DeferredRows AmxContraction::TakeDeferred() {
  llvm::IRBuilder<>& b = e_.b();
  const auto word = [&](std::int64_t number) -> llvm::Value* {
    return b.CreateAlignedLoad(b.getInt64Ty(), e_.Scratch(plan_.deferred_offset + 8 * number),
                               llvm::Align(8));
  };
  DeferredRows deferred;
  deferred.count = word(0);
  deferred.first_unit = word(1);
  deferred.first_row = word(2);
  deferred.panel = word(3);
  Values extents;
  for (const ContractionBatchDim& dim : func_.batch) extents.push_back(e_.Dim(dim.extent));
  deferred.batch = e_.Unflatten(word(4), extents);
  b.CreateAlignedStore(e_.I64(0), e_.Scratch(plan_.deferred_offset), llvm::Align(8));
  return deferred;
}

void AmxContraction::EmitDeferredRow(const DeferredRows& deferred, llvm::Value* number) {
  llvm::IRBuilder<>& b = e_.b();
  // The second unit's sums begin at row 16 of the block.
  llvm::Value* gap = e_.Sub(e_.I64(kTileRows), deferred.first_unit);
  llvm::Value* at =
      b.CreateSelect(b.CreateICmpSLT(number, deferred.first_unit), number, e_.Add(number, gap));
  EmitEpilogueRow(deferred.batch, e_.Add(deferred.first_row, number), deferred.panel,
                  AddBytes(e_.Scratch(plan_.block_offset), e_.Mul(at, e_.I64(SumBytes()))),
                  nullptr);
}

void AmxContraction::DeferOrEmitEpilogue(const Tasks& tasks, const PanelChunk& chunk,
                                         const UnitPair& pair) {
  llvm::IRBuilder<>& b = e_.b();
  const RowUnit& first = pair.first;
  const RowUnit* second = pair.second;
  const std::int64_t nr = func_.rhs.nr;
  const auto defer = [&] {
    llvm::Value* count = second == nullptr ? first.rows : e_.Add(first.rows, second->rows);
    const std::array<llvm::Value*, 5> words = {count, first.rows, first.first_row, chunk.panel,
                                               FlatBatch(tasks.batch)};
    for (std::size_t i = 0; i < words.size(); ++i) {
      b.CreateAlignedStore(words[i],
                           e_.Scratch(plan_.deferred_offset + 8 * static_cast<std::int64_t>(i)),
                           llvm::Align(8));
    }
  };
  if (func_.n.IsConstant() && func_.n.constant() % nr == 0) {
    defer();
    return;
  }
  llvm::Value* columns = e_.Sub(e_.Dim(func_.n), e_.Mul(chunk.panel, e_.I64(nr)));
  llvm::Value* whole = b.CreateICmpSGE(columns, e_.I64(nr));
  e_.If(whole, defer);
  e_.If(b.CreateNot(whole), [&] {
    EmitEpilogueRows(tasks, chunk.panel, first, pair.sums, columns);
    if (second == nullptr) return;
    EmitEpilogueRows(tasks, chunk.panel, *second, pair.second_sums, columns);
  });
}

void AmxContraction::EmitDeferredRows(const DeferredRows& deferred, llvm::Value* granule,
                                      std::int64_t begin, std::int64_t end) {
  const std::int64_t rows = DeferredRowsPerGranule();
  end = std::min(end, rows);
  if (end - begin > kMaxRepeatedRows) {
    llvm::Value* first = e_.Mul(granule, e_.I64(rows));
    e_.For(e_.Add(first, e_.I64(begin)), e_.Min(e_.Add(first, e_.I64(end)), deferred.count), 1,
           [&](llvm::Value* number) { EmitDeferredRow(deferred, number); });
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    llvm::Value* number = e_.Add(e_.Mul(granule, e_.I64(rows)), e_.I64(i));
    e_.If(e_.b().CreateICmpSLT(number, deferred.count), [&] { EmitDeferredRow(deferred, number); });
  }
}

void AmxContraction::EmitDeferredFrom(const DeferredRows& deferred, llvm::Value* granule) {
  e_.For(e_.Mul(granule, e_.I64(DeferredRowsPerGranule())), deferred.count, 1,
         [&](llvm::Value* number) { EmitDeferredRow(deferred, number); });
}

void AmxContraction::FlushDeferred() { EmitDeferredFrom(TakeDeferred(), e_.I64(0)); }

}  // namespace stoker::codegen
