// Loops over K that end a run where the plan says (sum_runs.h).
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/x86/contraction/contraction_emitter.h"

namespace stoker::codegen {

bool ContractionEmitter::CountsRuns() const {
  return plan_.runs.IsCounted() && plan_.depth.size() > 1;
}

// In iterations of the dim where runs end. Of K of b bits, at run time: 2^floor(b / 2) elements,
// between 0.7 and 1.4 times its square root; what is counted may be almost twice as long.
llvm::Value* ContractionEmitter::RunLength() {
  if (!plan_.runs.IsCounted()) return e_.I64(plan_.runs.length);
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* terms = e_.I64(1);
  for (const ContractionDim& dim : plan_.depth) terms = e_.Mul(terms, e_.Dim(dim.extent));
  llvm::Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, terms, b.getInt1(false));
  llvm::Value* half = b.CreateLShr(e_.Sub(e_.I64(64), zeros), e_.I64(1));
  llvm::Value* length = b.CreateShl(e_.I64(1), half);
  if (plan_.kernel != MicroKernel::kDotBF16) return length;
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateLShr(length, e_.I64(1)), e_.I64(1));
}

void ContractionEmitter::ForSteps(llvm::Value* begin, llvm::Value* count, int unroll,
                                  Values& carried, RunStep step) {
  llvm::IRBuilder<>& b = e_.b();
  const auto at = [&](llvm::Value* i) { return e_.Add(begin, i); };
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(count)) {
    const std::int64_t all = constant->getSExtValue();
    const std::int64_t whole = all / unroll * unroll;
    e_.For(e_.I64(0), e_.I64(whole), unroll, carried,
           [&](llvm::Value* i, Values& values) { step(at(i), unroll, values); });
    if (all > whole) step(at(e_.I64(whole)), static_cast<int>(all - whole), carried);
    return;
  }
  llvm::Value* whole = count;
  if (unroll > 1) whole = e_.Mul(b.CreateUDiv(count, e_.I64(unroll)), e_.I64(unroll));
  e_.For(e_.I64(0), whole, unroll, carried,
         [&](llvm::Value* i, Values& values) { step(at(i), unroll, values); });
  if (unroll == 1) return;
  e_.For(whole, count, 1, carried, [&](llvm::Value* i, Values& values) { step(at(i), 1, values); });
}

void ContractionEmitter::ForRuns(std::size_t dim, llvm::Value* count, int unroll, Values& carried,
                                 RunStep step, RunEnd end_run) {
  llvm::IRBuilder<>& b = e_.b();
  if (plan_.runs.one || dim != plan_.runs.dim) {
    ForSteps(e_.I64(0), count, unroll, carried, step);
    return;
  }
  llvm::Value* length = RunLength();
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(count);
  if (constant != nullptr && !plan_.runs.IsCounted()) {
    // What is left over of unrolled steps is a run of its own.
    const std::int64_t run = plan_.runs.length;
    const std::int64_t all = constant->getSExtValue();
    const std::int64_t whole = all / unroll * unroll;
    e_.For(e_.I64(0), e_.I64(whole), run, carried, [&](llvm::Value* at, Values& values) {
      llvm::Value* number = whole % run == 0 ? length : e_.Min(length, e_.Sub(e_.I64(whole), at));
      e_.For(e_.I64(0), number, unroll, values,
             [&](llvm::Value* i, Values& inner) { step(e_.Add(at, i), unroll, inner); });
      end_run(values);
    });
    if (all == whole) return;
    step(e_.I64(whole), static_cast<int>(all - whole), carried);
    end_run(carried);
    return;
  }
  llvm::Value* runs = b.CreateUDiv(e_.Sub(e_.Add(count, length), e_.I64(1)), length);
  // K of no elements is a run of none: its end stores zeros.
  runs = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, runs, e_.I64(1));
  e_.For(e_.I64(0), runs, 1, carried, [&](llvm::Value* run, Values& values) {
    llvm::Value* at = e_.Mul(run, length);
    llvm::Value* number = e_.Min(length, e_.Sub(count, at));
    ForSteps(at, number, unroll, values, step);
    if (!CountsRuns()) {
      end_run(values);
      return;
    }
    values.back() = e_.Add(values.back(), number);
    llvm::Value* ends = b.CreateZExt(b.CreateICmpSGE(values.back(), length), b.getInt64Ty());
    e_.For(e_.I64(0), ends, 1, values, [&](llvm::Value*, Values& ended) {
      end_run(ended);
      ended.back() = e_.I64(0);
    });
  });
}

}  // namespace stoker::codegen
