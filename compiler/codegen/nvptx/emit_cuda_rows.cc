// Loops over rows: neighbouring threads share one.
#include <algorithm>
#include <utility>

#include "compiler/codegen/nvptx/cuda_team_emitter.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"

namespace stoker::codegen {
namespace {

class RowEmitter final : public CudaTeamEmitter {
 public:
  RowEmitter(const LoopFunc& func, const CudaSchedule& schedule, const RowSchedule& rows,
             int warp_size, NvptxEmitter& emitter)
      : CudaTeamEmitter(func, schedule, static_cast<int>(func.dims.size()) - 1, emitter,
                        {.members = rows.team,
                         .slots = rows.vectors,
                         .points = 1,
                         .slot_width = schedule.width}),
        is_kept_(rows.kept),
        warp_(warp_size) {}

 private:
  void FindPlace(llvm::Value* thread) override {
    member_ = b().CreateURem(thread, Constant(teams_.members));
    team_ = b().CreateUDiv(thread, Constant(teams_.members));
  }

  void EmitLoops(const Stage& stage, const Loops& loops, Values& states) override {
    if (!is_kept_) {
      Stream(stage, loops, states);
      return;
    }
    const std::int64_t count = KnownOf(loops.count).value();
    const auto slots = static_cast<int>((count + teams_.members - 1) / teams_.members);
    EmitSlots(stage, loops, Constant(0), slots, false, states);
  }

  void Combine(Values& states) override {
    Values narrow;
    ForEachState(states, [&](Reducer& reducer, std::size_t, auto state) {
      narrow.append(reducer.Narrow(Values(state.begin(), state.end())));
    });
    Butterfly(narrow, std::min(teams_.members, warp_));
    if (teams_.members > warp_ && !narrow.empty()) AcrossWarps(narrow);
    states = std::move(narrow);
  }

  void Butterfly(Values& states, int lanes) {
    for (int distance = 1; distance < lanes; distance *= 2) {
      ForEachState(states, [&](Reducer& reducer, std::size_t, auto state) {
        Values other;
        for (llvm::Value* value : state) other.push_back(emitter_.FromLane(value, distance));
        reducer.Merge(state, other);
      });
    }
  }

  // Through shared memory of its own for every reduction, so that nobody waits for it to be read.
  void AcrossWarps(Values& states) {
    const std::int64_t warps = teams_.members / warp_;
    llvm::Value* lane = b().CreateURem(member_, Constant(warp_));
    llvm::Value* base = emitter_.Mul(team_, Constant(warps));
    llvm::Value* mine = emitter_.Add(base, b().CreateUDiv(member_, Constant(warp_)));
    std::vector<llvm::Value*> places;
    for (llvm::Value* value : states) {
      const std::int64_t bytes = std::max(1U, value->getType()->getScalarSizeInBits() / 8);
      places.push_back(emitter_.Shared(bytes * schedule_.threads / warp_));
    }
    emitter_.If(b().CreateICmpEQ(lane, Constant(0)), [&] {
      for (std::size_t i = 0; i < states.size(); ++i) {
        emitter_.StoreShared(places[i], mine, states[i]);
      }
    });
    emitter_.Barrier();
    llvm::Value* theirs = emitter_.Add(base, b().CreateURem(lane, Constant(warps)));
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i] = emitter_.LoadShared(places[i], theirs, states[i]->getType());
    }
    Butterfly(states, static_cast<int>(warps));
  }

  const bool is_kept_;
  const int warp_;
};

}  // namespace

void EmitCudaRows(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module) {
  NvptxEmitter emitter(module, machine, schedule, static_cast<std::uint32_t>(func.operands.size()));
  RowEmitter(func, schedule, std::get<RowSchedule>(schedule.how), machine.warp_size, emitter)
      .Emit();
  emitter.Finish();
}

}  // namespace stoker::codegen
