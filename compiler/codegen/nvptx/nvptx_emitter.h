// NvptxEmitter: a kernel function for a GPU (cuda_kernel_abi.h), as one of its threads sees it.
#pragma once

#include <string>

#include "compiler/codegen/llvm/emitter.h"
#include "compiler/machine/gpu_machine.h"
#include "compiler/schedule/cuda/cuda_schedule.h"

namespace stoker::codegen {

class NvptxEmitter final : public KernelEmitter {
 public:
  NvptxEmitter(llvm::Module& module, const GpuMachine& machine, const CudaSchedule& schedule,
               std::uint32_t num_operands);

  // i64.
  llvm::Value* ThreadIndex();
  llvm::Value* BlockIndex();
  llvm::Value* BlockCount();

  // Row-major indices of `flat`, in 32 bits where these extents fit.
  Values Unflatten(llvm::Value* flat, llvm::ArrayRef<llvm::Value*> extents);

  // body() twice, with vectors accessed at once where these operands are aligned for that, and
  // element by element where they are not.
  void ForEitherAlignment(const std::vector<std::uint32_t>& operands,
                          llvm::function_ref<void()> body);

  // Whether vectors are accessed at once here.
  bool is_aligned() const { return is_aligned_; }

  // Of the whole block.
  void Barrier();
  // Of the `threads` of a team, which are whole warps, and whose number is below kMostTeams.
  void Barrier(llvm::Value* team, std::int64_t threads);
  // `value` of the lane of this warp whose number differs in the bits of `mask`. Any lane type.
  llvm::Value* FromLane(llvm::Value* value, int mask);
  // So many bytes of shared memory, aligned to 16.
  llvm::Value* Shared(std::int64_t bytes);
  // x, as a number that to LLVM and ptxas may be another one in each turn of a loop, whose number
  // is an i32 that is never negative, as they do not know; x fits 32 bits itself. What is made of
  // it is computed where it is needed, rather than kept in registers of its own.
  llvm::Value* InTurn(llvm::Value* x, llvm::Value* turn);
  // The start of so many bytes that a block is given when it is launched.
  llvm::Value* DynamicShared(std::int64_t bytes);
  // What an access moves, from an operand to shared memory, by the copy engine: there when the
  // thread that asked has awaited it. Where `condition` does not hold, nothing is read.
  void CopyToShared(llvm::Value* to, llvm::Value* from, llvm::Value* condition);
  void AwaitCopies();
  // Lanes in registers' form at element `index` of shared memory.
  void StoreShared(llvm::Value* base, llvm::Value* index, llvm::Value* value);
  llvm::Value* LoadShared(llvm::Value* base, llvm::Value* index, llvm::Type* type);

  void Require(llvm::Value* lanes, const std::string& message) override;
  bool IndexesLanes() const override { return false; }
  bool BranchesOverLanes() const override { return true; }

 private:
  llvm::Value* LoadBuffer(std::uint32_t operand) override;
  llvm::Value* LoadDim(std::size_t slot) override;
  bool HasGather(DType dtype) const override;
  llvm::Align AlignOf(DType dtype, int width) const override;
  llvm::Value* LoadIf(llvm::Value* condition, llvm::Type* type, llvm::Value* pointer,
                      llvm::Align align) override;
  void StoreIf(llvm::Value* condition, llvm::Value* value, llvm::Value* pointer,
               llvm::Align align) override;
  llvm::Value* BitsOfBF16(llvm::Value* value) override;
  llvm::Value* RoundToBF16InHardware(llvm::Value* value) override;
  llvm::Value* RoundLikeBF16InHardware(llvm::Value* value) override;
  llvm::Value* ScaleInHardware(llvm::Value* x, llvm::Value* n) override;
  llvm::Value* ExtremeInHardware(bool is_largest, llvm::Value* x, llvm::Value* y) override;
  llvm::Value* ReciprocalRootInHardware(llvm::Value* x) override;
  bool HasExp2(llvm::Type* type) const override;
  llvm::Value* Exp2InHardware(llvm::Value* x) override;
  llvm::Value* ReciprocalInHardware(llvm::Value* x) override;
  // An intrinsic of f32 for each lane; null for other types.
  llvm::Value* OfEachFloat(llvm::Intrinsic::ID intrinsic, llvm::Value* x);

  // of_one(lane) of each, of the same type.
  llvm::Value* OfEachLane(llvm::Value* x, llvm::function_ref<llvm::Value*(llvm::Value*)> of_one);

  std::uint32_t num_operands_;
  std::uint64_t threads_;
  int access_bytes_;
  bool keeps_loads_;
  bool is_aligned_ = false;
  llvm::Value* dynamic_shared_ = nullptr;
};

}  // namespace stoker::codegen
