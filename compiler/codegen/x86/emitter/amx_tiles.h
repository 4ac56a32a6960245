// AmxTiles: AMX tile registers. They are named by number in LLVM's intrinsics, so that nothing is
// left to allocation; kernels use
//   0..3 sums (row tile * 2 + column tile), 4..5 rows of A, 6..7 columns of B.
#pragma once

#include "compiler/codegen/x86/emitter/x86_emitter.h"

namespace stoker::codegen {

class AmxTiles {
 public:
  static constexpr int kRows = AmxTile::kRows;
  static constexpr int kRowBytes = AmxTile::kRowBytes;  // Of every tile.
  static constexpr int kTileBytes = AmxTile::kBytes;
  static constexpr int kConfigBytes = AmxTile::kConfigBytes;
  static constexpr int kLhs = 4;
  static constexpr int kRhs = 6;

  // `config`: scratch for the configuration, kConfigBytes.
  AmxTiles(X86Emitter& emitter, std::int64_t config_offset)
      : e_(emitter), config_offset_(config_offset) {}

  // At the start of a kernel, before Configure, and at its end.
  void Begin();
  void End();
  // Sets the rows of the tiles of both row tiles, unless they are set so already.
  void Configure(llvm::Value* rows0, llvm::Value* rows1);

  void Zero(int tile);
  void Load(int tile, llvm::Value* pointer, llvm::Value* stride_bytes);
  // What is gone from the first-level cache before it is read again.
  void LoadPassing(int tile, llvm::Value* pointer, llvm::Value* stride_bytes);
  void Store(int tile, llvm::Value* pointer, llvm::Value* stride_bytes);
  // sums += rows of A times columns of B, pairs of bf16.
  void MultiplyBF16(int sums, int lhs, int rhs);

 private:
  llvm::Value* Number(int tile) { return e_.b().getInt8(static_cast<std::uint8_t>(tile)); }
  llvm::Value* RowsOf(int tile);

  X86Emitter& e_;
  std::int64_t config_offset_;
};

}  // namespace stoker::codegen
