// The register tile of AMX: up to two row tiles of A by two column tiles of B.
#include "compiler/codegen/x86/contraction/amx_contraction.h"

namespace stoker::codegen {

void AmxContraction::Begin() {
  tiles_.Begin();
  if (!DefersEpilogue()) return;
  e_.b().CreateAlignedStore(e_.I64(0), e_.Scratch(plan_.deferred_offset), llvm::Align(8));
}

void AmxContraction::End() {
  if (DefersEpilogue()) FlushDeferred();
  tiles_.End();
}

void AmxContraction::EmitUnits(const Tasks& tasks, const PanelChunk& chunk) {
  llvm::IRBuilder<>& b = e_.b();
  const bool only_one = plan_.units == SymDim(1);
  const bool only_pairs = plan_.units.IsConstant() && plan_.units.constant() % 2 == 0;
  e_.For(tasks.first_unit, tasks.last_unit, 2, [&](llvm::Value* unit) {
    if (only_one || only_pairs) {
      EmitPair(tasks, chunk, unit, only_pairs);
      return;
    }
    llvm::Value* pair = b.CreateICmpSLT(e_.Add(unit, e_.I64(1)), tasks.last_unit);
    e_.If(pair, [&] { EmitPair(tasks, chunk, unit, true); });
    e_.If(b.CreateNot(pair), [&] { EmitPair(tasks, chunk, unit, false); });
  });
}

// One unit, or two.
void AmxContraction::EmitPair(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number,
                              bool two) {
  const RowUnit first = UnitAt(tasks, number);
  const RowUnit second = two ? UnitAt(tasks, e_.Add(number, e_.I64(1))) : first;
  UnitPair pair{first, two ? &second : nullptr};
  pair.sums = SumsAt(tasks, chunk, number);
  pair.second_sums = AddBytes(pair.sums, e_.I64(plan_.unit_bytes));
  tiles_.Configure(first.rows, second.rows);
  EmitBlock(tasks, chunk, number, pair);
  FinishBlock(tasks, chunk, pair);
}

void AmxContraction::FinishBlock(const Tasks& tasks, const PanelChunk& chunk,
                                 const UnitPair& pair) {
  if (chunk.partial) return;
  if (DefersEpilogue()) {
    DeferOrEmitEpilogue(tasks, chunk, pair);
    return;
  }
  EmitEpilogue(tasks, chunk.panel, pair.first, pair.sums);
  if (pair.second == nullptr) return;
  EmitEpilogue(tasks, chunk.panel, *pair.second, pair.second_sums);
}

void AmxContraction::EmitBlock(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number,
                               const UnitPair& pair) {
  const RowUnit& first = pair.first;
  const RowUnit* second = pair.second;
  llvm::Value* prefetch = PrefetchFor(tasks, chunk, number);
  const TileBlock block = TileBlockOf(first, second, chunk);
  llvm::Value* sum_stride = e_.I64(SumBytes());
  // A single run begins with the sums of the chunk before; others are added to them.
  const bool one = plan_.runs.one;
  ForEachSum(block, pair.sums, [&](int tile, llvm::Value* pointer) {
    if (one && chunk.partial) {
      tiles_.Load(tile, pointer, sum_stride);
    } else {
      tiles_.Zero(tile);
      if (!one && !chunk.partial) tiles_.Store(tile, pointer, sum_stride);
    }
  });
  llvm::Value* run = e_.Scratch(plan_.run_offset);
  const auto end_run = [&](Values&) {
    ForEachSum(block, run, [&](int tile, llvm::Value* pointer) {
      tiles_.Store(tile, pointer, sum_stride);
      tiles_.Zero(tile);
    });
    AddTileRun(first, second, run, pair.sums);
  };
  Values carried = {chunk.rhs, prefetch, e_.I64(0)};
  EmitDepth(
      first.lhs, UnionOf(first, second), chunk, /*unroll=*/1, carried,
      [&](llvm::Value* lhs, llvm::Value* rhs, int granules, Values& values) {
        STOKER_CHECK(granules == 1);
        EmitGranule(block, lhs, rhs);
        if (block.deferred.count == nullptr) return;
        EmitDeferredRows(block.deferred, values[2], 0, kTileRows);
        values[2] = e_.Add(values[2], e_.I64(1));
      },
      end_run);
  // Where zeros around an image are left out, there were fewer granules.
  if (block.deferred.count != nullptr && !plan_.halos.empty()) {
    EmitDeferredFrom(block.deferred, carried[2]);
  }
  if (!one) return;
  ForEachSum(block, pair.sums,
             [&](int tile, llvm::Value* pointer) { tiles_.Store(tile, pointer, sum_stride); });
}

AmxContraction::TileBlock AmxContraction::TileBlockOf(const RowUnit& first, const RowUnit* second,
                                                      const PanelChunk& chunk) {
  TileBlock block;
  if (second != nullptr) {
    block.row_tiles = 2;
    block.distance = e_.b().CreatePtrDiff(e_.b().getInt8Ty(), second->lhs, first.lhs);
  }
  block.lhs_stride = e_.Mul(e_.Dim(plan_.rows.back().lhs_stride), e_.I64(plan_.LhsBytes()));
  block.keeps_rhs = chunk.partial;
  if (DefersEpilogue()) block.deferred = TakeDeferred();
  return block;
}

void AmxContraction::EmitGranule(const TileBlock& block, llvm::Value* lhs, llvm::Value* rhs) {
  llvm::Value* stride = e_.I64(func_.rhs.nr * func_.rhs.kr * ElementBytes());
  for (int c = 0; c < plan_.vectors; ++c) {
    llvm::Value* columns = AddBytes(rhs, e_.I64(c * kTileRowBytes));
    if (block.keeps_rhs) {
      tiles_.Load(AmxTiles::kRhs + c, columns, stride);
    } else {
      tiles_.LoadPassing(AmxTiles::kRhs + c, columns, stride);
    }
  }
  for (int r = 0; r < block.row_tiles; ++r) {
    tiles_.Load(AmxTiles::kLhs + r, r == 0 ? lhs : AddBytes(lhs, block.distance), block.lhs_stride);
    MultiplyRowTile(r);
  }
}

void AmxContraction::ForEachSum(const TileBlock& block, llvm::Value* base,
                                llvm::function_ref<void(int tile, llvm::Value* at)> use) {
  for (int r = 0; r < block.row_tiles; ++r) {
    for (int c = 0; c < plan_.vectors; ++c) {
      use(r * 2 + c, AddBytes(base, e_.I64(r * plan_.unit_bytes + c * kTileRowBytes)));
    }
  }
}

void AmxContraction::MultiplyRowTile(int number) {
  for (int c = 0; c < plan_.vectors; ++c) {
    tiles_.MultiplyBF16(number * 2 + c, AmxTiles::kLhs + number, AmxTiles::kRhs + c);
  }
}

// Adds the sums of a run of one or two units to others that lie like them.
void AmxContraction::AddTileRun(const RowUnit& first, const RowUnit* second, llvm::Value* run,
                                llvm::Value* sums) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* vector = KernelEmitter::VectorOf(b.getFloatTy(), plan_.lanes);
  const auto add = [&](const RowUnit& unit, std::int64_t offset) {
    e_.For(e_.I64(0), unit.rows, 1, [&](llvm::Value* row) {
      for (int v = 0; v < plan_.vectors; ++v) {
        llvm::Value* at =
            e_.Add(e_.Mul(row, e_.I64(SumBytes())), e_.I64(offset + v * kTileRowBytes));
        llvm::Value* of_run = b.CreateAlignedLoad(vector, AddBytes(run, at), llvm::Align(64));
        llvm::Value* before = b.CreateAlignedLoad(vector, AddBytes(sums, at), llvm::Align(64));
        b.CreateAlignedStore(b.CreateFAdd(before, of_run), AddBytes(sums, at), llvm::Align(64));
      }
    });
  };
  add(first, 0);
  if (second != nullptr) add(*second, plan_.unit_bytes);
}

}  // namespace stoker::codegen
