#include "compiler/codegen/x86/emitter/transpose.h"

namespace stoker::codegen {

// One step for each bit of the lane number: it trades places with that bit of the row number.
void Transpose(X86Emitter& emitter, Values& rows) {
  llvm::IRBuilder<>& b = emitter.b();
  const std::size_t width = rows.size();
  STOKER_CHECK((width & (width - 1)) == 0);
  for (std::size_t bit = 1; bit < width; bit *= 2) {
    llvm::SmallVector<int, 16> low;
    llvm::SmallVector<int, 16> high;
    for (std::size_t lane = 0; lane < width; ++lane) {
      // Of the pair (rows[i], rows[i + bit]), lanes of the second row count from `width` on.
      const std::size_t from = lane & ~bit;
      const bool second = (lane & bit) != 0;
      low.push_back(static_cast<int>(second ? width + from : from));
      high.push_back(static_cast<int>(second ? width + (from | bit) : from | bit));
    }
    for (std::size_t i = 0; i < width; ++i) {
      if ((i & bit) != 0) continue;
      llvm::Value* x = rows[i];
      llvm::Value* y = rows[i + bit];
      rows[i] = b.CreateShuffleVector(x, y, low);
      rows[i + bit] = b.CreateShuffleVector(x, y, high);
    }
  }
}

}  // namespace stoker::codegen
