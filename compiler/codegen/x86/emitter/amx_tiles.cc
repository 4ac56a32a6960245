#include "compiler/codegen/x86/emitter/amx_tiles.h"

namespace stoker::codegen {
namespace {

constexpr int kNumTiles = 8;
// Layout of what ldtilecfg reads.
constexpr std::int64_t kConfigColumnBytes = 16;
constexpr std::int64_t kConfigRows = 48;

}  // namespace

void AmxTiles::Begin() {
  llvm::IRBuilder<>& b = e_.b();
  const auto store = [&](llvm::Value* value, std::int64_t at) {
    b.CreateAlignedStore(value, e_.Scratch(config_offset_ + at), llvm::Align(1));
  };
  llvm::Constant* zeros =
      llvm::Constant::getNullValue(KernelEmitter::VectorOf(b.getInt8Ty(), kConfigBytes / 2));
  store(zeros, 0);
  store(zeros, kConfigBytes / 2);
  store(b.getInt8(1), 0);  // Palette 1.
  for (int tile = 0; tile < kNumTiles; ++tile) {
    store(b.getInt16(kRowBytes), kConfigColumnBytes + 2 * tile);
  }
  for (const int tile : {kRhs, kRhs + 1}) store(b.getInt8(kRows), kConfigRows + tile);
}

void AmxTiles::End() { e_.CallIntrinsic("llvm.x86.tilerelease", {}); }

llvm::Value* AmxTiles::RowsOf(int tile) { return e_.Scratch(config_offset_ + kConfigRows + tile); }

// No rows at all, as Begin leaves it, is never what is asked for.
void AmxTiles::Configure(llvm::Value* rows0, llvm::Value* rows1) {
  llvm::IRBuilder<>& b = e_.b();
  rows0 = b.CreateTrunc(rows0, b.getInt8Ty());
  rows1 = b.CreateTrunc(rows1, b.getInt8Ty());
  llvm::Value* old0 = b.CreateAlignedLoad(b.getInt8Ty(), RowsOf(0), llvm::Align(1));
  llvm::Value* old1 = b.CreateAlignedLoad(b.getInt8Ty(), RowsOf(2), llvm::Align(1));
  llvm::Value* stale = b.CreateOr(b.CreateICmpNE(old0, rows0), b.CreateICmpNE(old1, rows1));
  e_.If(stale, [&] {
    for (const int tile : {0, 1, kLhs}) b.CreateAlignedStore(rows0, RowsOf(tile), llvm::Align(1));
    for (const int tile : {2, 3, kLhs + 1}) {
      b.CreateAlignedStore(rows1, RowsOf(tile), llvm::Align(1));
    }
    e_.CallIntrinsic("llvm.x86.ldtilecfg", {e_.Scratch(config_offset_)});
  });
}

void AmxTiles::Zero(int tile) { e_.CallIntrinsic("llvm.x86.tilezero", {Number(tile)}); }

void AmxTiles::Load(int tile, llvm::Value* pointer, llvm::Value* stride_bytes) {
  e_.CallIntrinsic("llvm.x86.tileloadd64", {Number(tile), pointer, stride_bytes});
}

void AmxTiles::LoadPassing(int tile, llvm::Value* pointer, llvm::Value* stride_bytes) {
  e_.CallIntrinsic("llvm.x86.tileloaddt164", {Number(tile), pointer, stride_bytes});
}

void AmxTiles::Store(int tile, llvm::Value* pointer, llvm::Value* stride_bytes) {
  e_.CallIntrinsic("llvm.x86.tilestored64", {Number(tile), pointer, stride_bytes});
}

void AmxTiles::MultiplyBF16(int sums, int lhs, int rhs) {
  e_.CallIntrinsic("llvm.x86.tdpbf16ps", {Number(sums), Number(lhs), Number(rhs)});
}

}  // namespace stoker::codegen
