// A loop that keeps sums, so that each element keeps the bound of NUMERICS.md.
//
// A chain of n sums rounds its first term n times. A loop of more than 16 terms is therefore cut
// into runs, these into runs of runs, over four levels: each run starts from zero, and what it
// gives is one term of the level above. All levels are equally long, 2^⌈log2(n) / 4⌉ but 16 at
// least, so that a term is rounded no more than four times as often. An n that is known only when
// the kernel runs is cut then, into the same runs. (sum_runs.h cuts the sums of products: there to
// end a run costs as much as two steps, here next to nothing.)
#pragma once

#include "compiler/codegen/llvm/emitter.h"

namespace stoker::codegen {

// What a loop carries, of which some are sums.
struct CarriedSums {
  // The same with every sum at its start.
  llvm::function_ref<Values(const Values& carried)> restart;
  // Adds the sums of a run, and takes over what is no sum.
  llvm::function_ref<void(Values& carried, const Values& run)> add;
};

// Terms of a sum that may follow one another in one run.
inline constexpr std::int64_t kSumRun = 16;

// As KernelEmitter::For. One iteration adds `terms` terms, 1 up to kSumRun, one after the other.
void EmitSumCascade(KernelEmitter& emitter, llvm::Value* begin, llvm::Value* end, std::int64_t step,
                    std::int64_t terms, Values& carried, const CarriedSums& sums,
                    KernelEmitter::LoopBody body);

}  // namespace stoker::codegen
