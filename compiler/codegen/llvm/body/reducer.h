// Reducer: the accumulator of one reduction, kept in registers.
#pragma once

#include <vector>

#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/ir/loop_func.h"

namespace stoker::codegen {

// A state is StateSize() values: the accumulator and, for the arg kinds, the position of the
// extreme (i64, row-major over the reduced dims).
class Reducer {
 public:
  // `dims`: the reduced loop dims, outermost first, and their extents.
  Reducer(KernelEmitter& emitter, const Reduction& reduction, std::vector<int> dims,
          std::vector<llvm::Value*> extents);

  std::size_t StateSize() const { return is_arg_ ? 2 : 1; }
  // Whether it rounds: a long chain of such sums loses what EmitSumCascade keeps.
  bool SumsUp() const { return kind_ == Combine::kAdd && IsFloat(dtype_); }
  Values Start(int width);
  // Adds `value` of the points `lanes`; inactive lanes of `mask` are left as they are.
  void Accumulate(llvm::MutableArrayRef<llvm::Value*> state, llvm::Value* value, const Lanes& lanes,
                  llvm::Value* mask);
  // The same of the value x * y, where the reduction sums up, rounded with the sum.
  void AccumulateProduct(llvm::MutableArrayRef<llvm::Value*> state, llvm::Value* x, llvm::Value* y,
                         llvm::Value* mask);
  // Adds another state.
  void Merge(llvm::MutableArrayRef<llvm::Value*> state, llvm::ArrayRef<llvm::Value*> other);
  // What the reduction gives, per lane.
  llvm::Value* Result(llvm::ArrayRef<llvm::Value*> state) const { return state.back(); }
  // The state of all lanes together, as one lane.
  Values Narrow(const Values& state);
  // The result over all lanes: a scalar.
  llvm::Value* ReduceLanes(const Values& state);

 private:
  llvm::Value* Position(const Lanes& lanes, int width);
  // Whether `value` is more extreme than `best`.
  llvm::Value* Beats(llvm::Value* value, llvm::Value* best);

  KernelEmitter* emitter_;
  Combine kind_;
  DType dtype_;
  bool is_arg_;
  std::vector<int> dims_;
  std::vector<llvm::Value*> extents_;
};

}  // namespace stoker::codegen
