// CudaLoopEmitter: what the kernels of all forms of loops share (cuda_schedule.h): points in
// vectors, values from stage to stage, reductions within one thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/codegen/llvm/body/reducer.h"
#include "compiler/codegen/llvm/body/row_sums.h"
#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/nvptx/hidden_errors.h"
#include "compiler/codegen/nvptx/nvptx_emitter.h"
#include "compiler/ir/loop_func.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::codegen {

class CudaLoopEmitter {
 public:
  virtual ~CudaLoopEmitter() = default;
  CudaLoopEmitter(const CudaLoopEmitter&) = delete;
  CudaLoopEmitter& operator=(const CudaLoopEmitter&) = delete;

  void Emit();  // What stands at this place of a kernel; the caller finishes it.

 protected:
  // `vector_dim`: along which vectors lie.
  CudaLoopEmitter(const LoopFunc& func, const CudaSchedule& schedule, int vector_dim,
                  NvptxEmitter& emitter);

  // What one block does, up to the end.
  virtual void EmitBlock() = 0;

  // One vector of points of a stage.
  struct Slot {
    Lanes lanes;
    llvm::Value* active = nullptr;  // i1; null: always. Where it does not hold, `lanes` is some
                                    // other vector of the stage, whose values count for nothing.
    int number = 0;                 // Among those of a thread that are kept.
  };

  llvm::Value* Constant(std::int64_t value) { return emitter_.I64(value); }
  llvm::IRBuilder<>& b() { return emitter_.b(); }
  Values ExtentsOf(const std::vector<int>& dims);
  llvm::Value* ProductOf(const Values& extents);
  std::vector<int> OuterDims() const;
  void SetIndices(const std::vector<int>& dims, const Values& at);
  Lanes LanesHere() const;  // At the indices that are set, `width` along the vectors' dim.
  // x where condition holds or is null, 0 elsewhere.
  llvm::Value* OrZero(llvm::Value* condition, llvm::Value* x);
  llvm::Value* And(llvm::Value* x, llvm::Value* y);                  // Null: true.
  void If(llvm::Value* condition, llvm::function_ref<void()> then);  // Null: true.
  // x < limit; null where that is known for all x up to `most`.
  llvm::Value* Below(llvm::Value* x, llvm::Value* limit, std::optional<std::int64_t> most);
  static std::optional<std::int64_t> KnownOf(const llvm::Value* value);

  // What a slot loads, where it lies in shared memory; without a value: it does not.
  virtual LaneValue Staged(const BodyInstr&, const Slot&) { return {}; }

  // The bodies of some slots, and what they keep for later stages.
  std::vector<VectorBody> Evaluate(const Stage& stage, const std::vector<Slot>& slots);

  // Reductions of the stage that was begun last: their states follow one another.
  void BeginReductions(const Stage& stage);
  bool SumsUp() const;
  Values Start(int width);  // Of vectors of so many elements.
  void Accumulate(const Stage& stage, const std::vector<Slot>& slots,
                  std::vector<VectorBody>& bodies, Values& states);
  // loop(begin, end, 1, ...) with sums in runs, where there are any: see EmitSumCascade.
  void ForSums(llvm::Value* end, std::int64_t terms, Values& states, KernelEmitter::LoopBody body);
  // visit(reducer, number of the reduction, its state).
  void ForEachState(
      Values& states,
      llvm::function_ref<void(Reducer&, std::size_t, llvm::MutableArrayRef<llvm::Value*>)> visit);
  // Of a state that Start began.
  llvm::Value* ResultOf(const Reducer& reducer, llvm::ArrayRef<llvm::Value*> state);
  void SetResult(std::uint32_t id, llvm::Value* value) {
    results_[id] = {value, KernelEmitter::WidthOf(value) == 1};
  }

  const LoopFunc& func_;
  const CudaSchedule& schedule_;
  NvptxEmitter& emitter_;
  const int vector_dim_;
  std::vector<llvm::Value*> index_;  // Of each dim that is fixed now.

 private:
  std::vector<std::uint32_t> VectorOperands() const;
  Values Restart(const Values& states);
  void Join(Values& states, const Values& run);

  const RowSums row_sums_;
  const HiddenErrors hidden_errors_;
  const RowFormulas formulas_;
  std::vector<Reducer> reducers_;
  std::map<std::uint32_t, LaneValue> results_;            // Of reductions.
  std::map<std::uint32_t, std::vector<LaneValue>> kept_;  // Temporaries, by slot.
};

}  // namespace stoker::codegen
