// VectorContraction: micro-kernels kMultiplyAdd and kDotBF16, vectors of columns by broadcast
// elements of A.
#pragma once

#include "compiler/codegen/x86/contraction/contraction_emitter.h"

namespace stoker::codegen {

class VectorContraction final : public ContractionEmitter {
 public:
  using ContractionEmitter::ContractionEmitter;

 private:
  void EmitUnits(const Tasks& tasks, const PanelChunk& chunk) override;
  void EmitUnit(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* unit);
  // EmitUnit of a plan with last_tiles.
  void EmitTiles(const RowUnit& unit, const PanelChunk& chunk, llvm::Value* sums,
                 llvm::Value* prefetch);
  // Adds the unit's products to `sums`. `rows`: how many the code is for; with clamp, the unit may
  // have fewer, and those past its end repeat its last one.
  void EmitTile(const RowUnit& unit, std::int64_t rows, bool clamp, const PanelChunk& chunk,
                llvm::Value* sums, llvm::Value* prefetch);
  // Brings the sums of a run into memory: those of a tile are `count` of the values, from the third
  // on; the last one says whether there were any before.
  void EndRun(const PanelChunk& chunk, llvm::Value* sums, std::size_t count, Values& values);
  // Vector `i` of a tile's sums in memory.
  std::int64_t SumVectorBytes() const;
  llvm::LoadInst* LoadSum(llvm::Value* sums, std::size_t i, bool is_volatile);
  void StoreSum(llvm::Value* sum, llvm::Value* sums, std::size_t i);
  // Offsets of the rows of a tile from its first, in elements.
  Values RowOffsets(const RowUnit& unit, std::int64_t rows, bool clamp);
  void MultiplyAdd(const Values& rows, llvm::Value* lhs, llvm::Value* rhs, Values& carried);
};

}  // namespace stoker::codegen
