// What LLVM 22 gets wrong in masked stores.
#pragma once

#include <llvm/IR/Module.h>

namespace stoker::codegen {

// Makes plain stores of the masked ones whose constant mask leaves one lane: where such a lane was
// narrowed before, LLVM 22 stores as many bytes as it had, over the neighbour's. To be called when
// nothing folds constants any more, for a mask may be known only then.
void StoreSingleLanes(llvm::Module& module);

}  // namespace stoker::codegen
