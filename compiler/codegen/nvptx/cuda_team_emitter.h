// CudaTeamEmitter: what loops share whose threads work in teams. A team has an outer point, or a
// vector of them; each of its members takes a part of every stage's loops.
#pragma once

#include <cstdint>

#include "compiler/codegen/nvptx/cuda_loop_emitter.h"

namespace stoker::codegen {

class CudaTeamEmitter : public CudaLoopEmitter {
 protected:
  struct Teams {
    int members;     // Of a team.
    int slots;       // Of a thread, in flight at a time.
    int points;      // Outer points that a team has: 1, or a vector of them.
    int slot_width;  // Points of a stage's loops in one slot: 1, or a vector of them.
  };

  CudaTeamEmitter(const LoopFunc& func, const CudaSchedule& schedule, int vector_dim,
                  NvptxEmitter& emitter, const Teams& teams)
      : CudaLoopEmitter(func, schedule, vector_dim, emitter), teams_(teams) {}

  // The loops of one stage.
  struct Loops {
    Values extents;
    llvm::Value* count;  // Of slots.
  };

  std::int64_t TeamsOfBlock() const { return schedule_.threads / teams_.members; }

  // Sets member_ and team_.
  virtual void FindPlace(llvm::Value* thread) = 0;
  // body(number) for each of `count` that is this team's, of which the first is `number`: that one,
  // if it is one.
  using PointsFn = llvm::function_ref<void(llvm::Value* number)>;
  virtual void ForPoints(llvm::Value* number, llvm::Value* count, PointsFn body);
  virtual void AfterStage(const Stage&) {}
  virtual void EmitLoops(const Stage& stage, const Loops& loops, Values& states) {
    Stream(stage, loops, states);
  }
  // The states of all members as one, in each of them.
  virtual void Combine(Values& states) = 0;

  // The indices of the outer dims at a team's point, or vector of points.
  void SetPoints(llvm::Value* number);
  void Stream(const Stage& stage, const Loops& loops, Values& states);
  // Slots (first + s) * members + member for each s below `slots`; `all_inside`: each of them is
  // one of the loops'.
  void EmitSlots(const Stage& stage, const Loops& loops, llvm::Value* first, int slots,
                 bool all_inside, Values& states);

  const Teams teams_;
  llvm::Value* member_ = nullptr;  // Of its team.
  llvm::Value* team_ = nullptr;    // Of the block.

 private:
  void EmitBlock() final;
  void EmitStage(const Stage& stage);
  // What is computed once a team, by each of its members.
  void EmitOnce(const Stage& stage, Values& states);
  llvm::Value* Over(llvm::Value* points, std::int64_t width);

  llvm::Value* has_points_ = nullptr;  // Null: every team.
};

}  // namespace stoker::codegen
