// The register tile of vector machines: rows x vectors of sums that stay in registers over a run of
// K.
#include "compiler/codegen/x86/contraction/vector_contraction.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>

namespace stoker::codegen {
namespace {

// A power of two, of which runs are multiples.
int Unroll(std::int64_t products_per_iteration, std::int64_t products) {
  const auto fit = static_cast<std::uint64_t>(products_per_iteration / products);
  return static_cast<int>(std::clamp<std::uint64_t>(std::bit_floor(fit), 2, kMaxUnroll));
}

}  // namespace

void VectorContraction::EmitUnits(const Tasks& tasks, const PanelChunk& chunk) {
  e_.For(tasks.first_unit, tasks.last_unit, 1, [&](llvm::Value* unit) {
    EmitUnit(tasks, chunk, unit);
    if (chunk.partial) return;
    EmitEpilogue(tasks, chunk.panel, UnitAt(tasks, unit), SumsAt(tasks, chunk, unit));
  });
}

void VectorContraction::EmitUnit(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number) {
  llvm::IRBuilder<>& b = e_.b();
  const RowUnit unit = UnitAt(tasks, number);
  llvm::Value* sums = SumsAt(tasks, chunk, number);
  llvm::Value* prefetch = PrefetchFor(tasks, chunk, number);
  const std::int64_t rows = plan_.MaxUnitRows();
  if (!plan_.last_tiles.empty()) {
    EmitTiles(unit, chunk, sums, prefetch);
    return;
  }
  if (llvm::isa<llvm::ConstantInt>(unit.rows)) {
    EmitTile(unit, rows, /*clamp=*/false, chunk, sums, prefetch);
    return;
  }
  llvm::Value* is_long = b.CreateICmpEQ(unit.rows, e_.I64(rows));
  const bool fixed = plan_.segments.IsConstant();
  e_.If(is_long, [&] { EmitTile(unit, rows, /*clamp=*/false, chunk, sums, prefetch); });
  e_.If(b.CreateNot(is_long), [&] {
    EmitTile(unit, fixed ? rows - plan_.inner : rows, /*clamp=*/!fixed, chunk, sums, prefetch);
  });
}

// The one of all sizes that the unit has chosen.
void VectorContraction::EmitTiles(const RowUnit& unit, const PanelChunk& chunk, llvm::Value* sums,
                                  llvm::Value* prefetch) {
  llvm::IRBuilder<>& b = e_.b();
  const std::int64_t rows = plan_.MaxUnitRows();
  const auto emit = [&](llvm::Value* is_meant, std::int64_t tile, bool clamp) {
    llvm::Value* fits = b.CreateICmpEQ(unit.tile_rows, e_.I64(tile));
    e_.If(b.CreateAnd(is_meant, fits), [&] { EmitTile(unit, tile, clamp, chunk, sums, prefetch); });
  };
  llvm::Value* has_all = b.CreateICmpEQ(e_.Add(unit.before, unit.rows), unit.tile_rows);
  emit(has_all, rows, /*clamp=*/false);
  for (const std::int64_t tile : plan_.last_tiles) {
    emit(b.CreateNot(unit.is_lone), tile, /*clamp=*/false);
  }
  for (const std::int64_t tile : plan_.lone_tiles) {
    llvm::Value* is_lone = unit.is_lone;
    if (tile == rows) is_lone = b.CreateAnd(is_lone, b.CreateNot(has_all));
    emit(is_lone, tile, /*clamp=*/true);
  }
}

Values VectorContraction::RowOffsets(const RowUnit& unit, std::int64_t rows, bool clamp) {
  llvm::Value* stride = e_.Dim(plan_.rows[plan_.split].lhs_stride);
  Values offsets;
  if (clamp) {
    STOKER_CHECK(plan_.inner == 1 || plan_.rows.back().extent.IsConstant());
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    llvm::Value* row = e_.I64(r);
    if (clamp) row = e_.Min(row, e_.Sub(unit.rows, e_.I64(1)));
    if (plan_.inner == 1) {
      offsets.push_back(e_.Mul(row, stride));
      continue;
    }
    llvm::Value* line = e_.b().CreateUDiv(row, e_.I64(plan_.inner));
    llvm::Value* within = e_.b().CreateURem(row, e_.I64(plan_.inner));
    offsets.push_back(
        e_.Add(e_.Mul(line, stride), e_.Mul(within, e_.Dim(plan_.rows.back().lhs_stride))));
  }
  return offsets;
}

void VectorContraction::EmitTile(const RowUnit& unit, std::int64_t rows, bool clamp,
                                 const PanelChunk& chunk, llvm::Value* sums,
                                 llvm::Value* prefetch) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* type = KernelEmitter::VectorOf(e_.LaneType(func_.accumulator), plan_.lanes);
  const Values offsets = RowOffsets(unit, rows, clamp);
  const std::size_t count =
      static_cast<std::size_t>(rows) * static_cast<std::size_t>(plan_.vectors);
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  // What is stored at the end begins with the sums of the chunk before: a single run, or the totals
  // of runs where registers hold them. Elsewhere the first run of all is stored and the rest are
  // added; the last carried value then is whether there was one.
  const bool one = plan_.runs.one;
  const bool keeps_totals = plan_.KeepsTotals(rows);
  Values carried = {chunk.rhs, prefetch};
  const auto push_sums = [&](bool goes_on) {
    for (std::size_t i = 0; i < count; ++i) {
      carried.push_back(zero);
      if (goes_on) carried.back() = LoadSum(sums, i, /*is_volatile=*/false);
    }
  };
  push_sums(one && chunk.partial);
  if (keeps_totals) push_sums(chunk.partial);
  if (!one && !keeps_totals) carried.push_back(b.getInt1(chunk.partial));
  DepthBounds bounds = unit.depth;
  if (bounds.first_column != nullptr) {
    bounds.last_column = e_.Add(bounds.first_column, e_.I64(plan_.LineRows(rows) - 1));
  }
  EmitDepth(
      unit.lhs, bounds, chunk,
      Unroll(plan_.products_per_iteration, static_cast<std::int64_t>(count)), carried,
      [&](llvm::Value* lhs, llvm::Value* rhs, int granules, Values& values) {
        for (int g = 0; g < granules; ++g) {
          MultiplyAdd(offsets, AddBytes(lhs, e_.I64(g * plan_.depth_granule * ElementBytes())),
                      AddBytes(rhs, e_.I64(g * GranuleBytes())), values);
        }
      },
      [&](Values& values) {
        if (keeps_totals) {
          for (std::size_t i = 2; i < count + 2; ++i) {
            values[count + i] = b.CreateFAdd(values[count + i], values[i]);
          }
        } else {
          EndRun(chunk, sums, count, values);
        }
        for (std::size_t i = 0; i < count; ++i) values[i + 2] = zero;
      });
  if (!one && !keeps_totals) return;
  const std::size_t first = keeps_totals ? count + 2 : 2;
  for (std::size_t i = 0; i < count; ++i) StoreSum(carried[first + i], sums, i);
}

void VectorContraction::EndRun(const PanelChunk& chunk, llvm::Value* sums, std::size_t count,
                               Values& values) {
  llvm::IRBuilder<>& b = e_.b();
  const auto store_all = [&] {
    for (std::size_t i = 0; i < count; ++i) StoreSum(values[i + 2], sums, i);
  };
  // Volatile, or the optimizer would keep these sums in registers, of which there are none left.
  const auto add_all = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      llvm::Value* before = LoadSum(sums, i, /*is_volatile=*/true);
      StoreSum(b.CreateFAdd(before, values[i + 2]), sums, i);
    }
  };
  llvm::Value*& has_sums = values[count + 2];
  if (chunk.partial) {
    add_all();
  } else {
    e_.If(b.CreateNot(has_sums), store_all);
    e_.If(has_sums, add_all);
  }
  has_sums = b.getTrue();
}

std::int64_t VectorContraction::SumVectorBytes() const {
  return plan_.lanes * SizeInBytes(func_.accumulator);
}

llvm::LoadInst* VectorContraction::LoadSum(llvm::Value* sums, std::size_t i, bool is_volatile) {
  llvm::Type* type = KernelEmitter::VectorOf(e_.LaneType(func_.accumulator), plan_.lanes);
  llvm::Value* at = AddBytes(sums, e_.I64(static_cast<std::int64_t>(i) * SumVectorBytes()));
  const llvm::Align align(static_cast<std::uint64_t>(SumVectorBytes()));
  llvm::LoadInst* sum = e_.b().CreateAlignedLoad(type, at, align, is_volatile);
  if (!is_volatile) e_.TagAccess(sum, KernelEmitter::kScratch);
  return sum;
}

void VectorContraction::StoreSum(llvm::Value* sum, llvm::Value* sums, std::size_t i) {
  llvm::Value* at = AddBytes(sums, e_.I64(static_cast<std::int64_t>(i) * SumVectorBytes()));
  const llvm::Align align(static_cast<std::uint64_t>(SumVectorBytes()));
  e_.TagAccess(e_.b().CreateAlignedStore(sum, at, align), KernelEmitter::kScratch);
}

void VectorContraction::MultiplyAdd(const Values& rows, llvm::Value* lhs, llvm::Value* rhs,
                                    Values& carried) {
  llvm::IRBuilder<>& b = e_.b();
  const bool dot = plan_.kernel == MicroKernel::kDotBF16;
  llvm::Type* pairs = KernelEmitter::VectorOf(b.getBFloatTy(), plan_.lanes * 2);
  llvm::Type* lane = dot ? b.getInt32Ty() : e_.LaneType(plan_.element);
  llvm::Type* vector = dot ? pairs : KernelEmitter::VectorOf(lane, plan_.lanes);
  const std::int64_t vector_bytes = plan_.lanes * (dot ? 4 : ElementBytes());
  Values columns_of_panel;
  for (int v = 0; v < plan_.vectors; ++v) {
    llvm::LoadInst* load =
        b.CreateAlignedLoad(vector, AddBytes(rhs, e_.I64(v * vector_bytes)),
                            llvm::Align(static_cast<std::uint64_t>(vector_bytes)));
    e_.TagAccess(load, kRhs);
    columns_of_panel.push_back(load);
  }
  const bool is_float = lane->isFloatingPointTy();
  const std::size_t line =
      static_cast<std::size_t>(plan_.LineRows(static_cast<std::int64_t>(rows.size())));
  const auto takes_part = [&](std::size_t row) {
    return columns() == Columns::kAllButFirst  ? row % line != 0
           : columns() == Columns::kAllButLast ? row % line != line - 1
                                               : true;
  };
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!takes_part(r)) continue;
    llvm::Value* row = rows[r];
    std::size_t i = 2 + r * columns_of_panel.size();
    llvm::LoadInst* load =
        b.CreateAlignedLoad(lane, AddBytes(lhs, e_.Mul(row, e_.I64(ElementBytes()))),
                            llvm::Align(static_cast<std::uint64_t>(ElementBytes())));
    e_.TagAccess(load, plan_.lhs != LhsCopy::kNone ? KernelEmitter::kScratch : kLhs);
    llvm::Value* element = e_.Splat(load, plan_.lanes);
    if (dot) element = b.CreateBitCast(element, pairs);
    for (llvm::Value* column : columns_of_panel) {
      llvm::Value*& sum = carried[i++];
      if (dot) {
        sum = e_.CallIntrinsic(plan_.lanes == 16 ? "llvm.x86.avx512bf16.dpbf16ps.512"
                                                 : "llvm.x86.avx512bf16.dpbf16ps.256",
                               {sum, element, column});
      } else if (is_float) {
        sum = e_.Fma(element, column, sum);
      } else {
        sum = b.CreateAdd(b.CreateMul(element, column), sum);
      }
    }
  }
}

}  // namespace stoker::codegen
