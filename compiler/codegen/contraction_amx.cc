// The register tile of AMX: up to two row tiles of A by two column tiles of B. Tile registers are
// named by number in LLVM's intrinsics, so that nothing is left to allocation:
//   0..3 sums (row tile * 2 + column tile), 4..5 A, 6..7 B.
#include <algorithm>

#include "compiler/codegen/contraction_emitter.h"

namespace stoker::codegen {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileRowBytes = 64;
constexpr int kLhsTile = 4;
constexpr int kRhsTile = 6;
constexpr int kNumTiles = 8;
// Layout of the configuration that ldtilecfg reads.
constexpr std::int64_t kConfigColumnBytes = 16;
constexpr std::int64_t kConfigRows = 48;

}  // namespace

void ContractionEmitter::TileInstruction(const char* name, std::initializer_list<int> tiles) {
  Values args;
  for (const int tile : tiles) args.push_back(e_.b().getInt8(static_cast<std::uint8_t>(tile)));
  e_.CallIntrinsic(name, args);
}

void ContractionEmitter::MoveTile(const char* name, int tile, llvm::Value* pointer,
                                  llvm::Value* stride) {
  e_.CallIntrinsic(name, {e_.b().getInt8(static_cast<std::uint8_t>(tile)), pointer, stride});
}

void ContractionEmitter::ClearTileConfig() {
  llvm::IRBuilder<>& b = e_.b();
  const auto store = [&](llvm::Value* value, std::int64_t at) {
    b.CreateAlignedStore(value, e_.Scratch(plan_.config_offset + at), llvm::Align(1));
  };
  store(llvm::Constant::getNullValue(KernelEmitter::VectorOf(b.getInt8Ty(), 32)), 0);
  store(llvm::Constant::getNullValue(KernelEmitter::VectorOf(b.getInt8Ty(), 32)), 32);
  store(b.getInt8(1), 0);  // Palette 1.
  for (int tile = 0; tile < kNumTiles; ++tile) {
    store(b.getInt16(kTileRowBytes), kConfigColumnBytes + 2 * tile);
  }
  for (const int tile : {kRhsTile, kRhsTile + 1}) store(b.getInt8(kTileRows), kConfigRows + tile);
}

// Loads the configuration for row tiles of so many rows unless it is loaded already. No rows at
// all, as ClearTileConfig leaves it, is never equal.
void ContractionEmitter::ConfigureTiles(llvm::Value* rows0, llvm::Value* rows1) {
  llvm::IRBuilder<>& b = e_.b();
  const auto slot = [&](int tile) { return e_.Scratch(plan_.config_offset + kConfigRows + tile); };
  rows0 = b.CreateTrunc(rows0, b.getInt8Ty());
  rows1 = b.CreateTrunc(rows1, b.getInt8Ty());
  llvm::Value* old0 = b.CreateAlignedLoad(b.getInt8Ty(), slot(0), llvm::Align(1));
  llvm::Value* old1 = b.CreateAlignedLoad(b.getInt8Ty(), slot(2), llvm::Align(1));
  llvm::Value* stale = b.CreateOr(b.CreateICmpNE(old0, rows0), b.CreateICmpNE(old1, rows1));
  e_.If(stale, [&] {
    for (const int tile : {0, 1, kLhsTile}) {
      b.CreateAlignedStore(rows0, slot(tile), llvm::Align(1));
    }
    for (const int tile : {2, 3, kLhsTile + 1}) {
      b.CreateAlignedStore(rows1, slot(tile), llvm::Align(1));
    }
    e_.CallIntrinsic("llvm.x86.ldtilecfg", {e_.Scratch(plan_.config_offset)});
  });
}

void ContractionEmitter::EmitAmxUnits(const ContractionTask& task, const DepthChunk& chunk) {
  llvm::IRBuilder<>& b = e_.b();
  const std::int64_t unit_bytes = kTileRows * SumBytes();
  const auto emit = [&](llvm::Value* number, bool two) {
    const RowUnit first = UnitAt(task, number);
    llvm::Value* sums = SumsAt(task, number);
    llvm::Value* prefetch = PrefetchFor(task, number);
    if (!two) {
      ConfigureTiles(first.rows, first.rows);
      EmitAmxBlock(chunk, first, nullptr, sums, prefetch);
    } else {
      const RowUnit second = UnitAt(task, e_.Add(number, e_.I64(1)));
      ConfigureTiles(first.rows, second.rows);
      EmitAmxBlock(chunk, first, &second, sums, prefetch);
      if (!chunk.partial) {
        EmitEpilogue(task, second, AddBytes(sums, e_.I64(unit_bytes)));
      }
    }
    if (!chunk.partial) EmitEpilogue(task, first, sums);
  };
  const bool only_one = plan_.units == SymDim(1);
  const bool only_pairs = plan_.units.IsConstant() && plan_.units.constant() % 2 == 0;
  e_.For(task.first_unit, task.last_unit, 2, [&](llvm::Value* unit) {
    if (only_one || only_pairs) {
      emit(unit, only_pairs);
      return;
    }
    llvm::Value* pair = b.CreateICmpSLT(e_.Add(unit, e_.I64(1)), task.last_unit);
    e_.If(pair, [&] { emit(unit, true); });
    e_.If(b.CreateNot(pair), [&] { emit(unit, false); });
  });
}

void ContractionEmitter::EmitAmxBlock(const DepthChunk& chunk, const RowUnit& first,
                                      const RowUnit* second, llvm::Value* sums,
                                      llvm::Value* prefetch) {
  const int row_tiles = second != nullptr ? 2 : 1;
  const int column_tiles = plan_.vectors;
  llvm::Value* sum_stride = e_.I64(SumBytes());
  const auto for_each_sum = [&](llvm::function_ref<void(int, llvm::Value*)> use) {
    for (int r = 0; r < row_tiles; ++r) {
      for (int c = 0; c < column_tiles; ++c) {
        use(r * 2 + c, AddBytes(sums, e_.I64(r * kTileRows * SumBytes() + c * kTileRowBytes)));
      }
    }
  };
  for_each_sum([&](int tile, llvm::Value* pointer) {
    if (chunk.partial) {
      MoveTile("llvm.x86.tileloadd64", tile, pointer, sum_stride);
    } else {
      TileInstruction("llvm.x86.tilezero", {tile});
    }
  });
  // The second row tile is addressed from the first.
  llvm::Value* distance = nullptr;
  if (second != nullptr)
    distance = e_.b().CreatePtrDiff(e_.b().getInt8Ty(), second->lhs, first.lhs);
  llvm::Value* lhs_stride = e_.Mul(e_.Dim(plan_.rows.back().lhs_stride), e_.I64(ElementBytes()));
  llvm::Value* rhs_stride = e_.I64(func_.rhs.nr * func_.rhs.kr * ElementBytes());
  Values carried = {chunk.rhs, prefetch};
  EmitDepth(0, first.lhs, chunk, /*unroll=*/1, carried,
            [&](llvm::Value* lhs, llvm::Value* rhs, int granules, Values&) {
              STOKER_CHECK(granules == 1);
              for (int c = 0; c < column_tiles; ++c) {
                MoveTile("llvm.x86.tileloadd64", kRhsTile + c,
                         AddBytes(rhs, e_.I64(c * kTileRowBytes)), rhs_stride);
              }
              for (int r = 0; r < row_tiles; ++r) {
                MoveTile("llvm.x86.tileloadd64", kLhsTile + r,
                         r == 0 ? lhs : AddBytes(lhs, distance), lhs_stride);
                for (int c = 0; c < column_tiles; ++c) {
                  TileInstruction("llvm.x86.tdpbf16ps", {r * 2 + c, kLhsTile + r, kRhsTile + c});
                }
              }
            });
  for_each_sum([&](int tile, llvm::Value* pointer) {
    MoveTile("llvm.x86.tilestored64", tile, pointer, sum_stride);
  });
}

}  // namespace stoker::codegen
