// Loops over columns: neighbouring threads have neighbouring columns, and threads that lie apart
// share one.
#include <algorithm>

#include "compiler/codegen/nvptx/cuda_team_emitter.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"

namespace stoker::codegen {
namespace {

class ColumnEmitter final : public CudaTeamEmitter {
 public:
  ColumnEmitter(const LoopFunc& func, const CudaSchedule& schedule, const ColumnSchedule& columns,
                NvptxEmitter& emitter)
      : CudaTeamEmitter(func, schedule, func.num_outer - 1, emitter,
                        {.members = columns.team,
                         .slots = columns.points,
                         .points = schedule.width,
                         .slot_width = 1}) {}

 private:
  void FindPlace(llvm::Value* thread) override {
    team_ = b().CreateURem(thread, Constant(TeamsOfBlock()));
    member_ = b().CreateUDiv(thread, Constant(TeamsOfBlock()));
  }

  // By a tree in shared memory.
  void Combine(Values& states) override {
    if (teams_.members == 1 || states.empty()) return;
    std::vector<llvm::Value*> places;
    for (llvm::Value* value : states) {
      const std::int64_t bytes = std::max(1U, value->getType()->getScalarSizeInBits() / 8);
      places.push_back(Place(places.size(), bytes * schedule_.width * schedule_.threads));
    }
    const auto at = [&](llvm::Value* member) {
      return emitter_.Add(emitter_.Mul(member, Constant(TeamsOfBlock())), team_);
    };
    // Others may still read what the reduction before left there.
    if (is_used_) emitter_.Barrier();
    is_used_ = true;
    for (std::size_t i = 0; i < states.size(); ++i) {
      emitter_.StoreShared(places[i], at(member_), states[i]);
    }
    const auto load = [&](llvm::Value* member) {
      Values loaded;
      for (std::size_t i = 0; i < states.size(); ++i) {
        loaded.push_back(emitter_.LoadShared(places[i], at(member), states[i]->getType()));
      }
      return loaded;
    };
    for (int distance = teams_.members / 2; distance >= 1; distance /= 2) {
      emitter_.Barrier();
      emitter_.If(b().CreateICmpSLT(member_, Constant(distance)), [&] {
        Values mine = load(member_);
        const Values theirs = load(emitter_.Add(member_, Constant(distance)));
        std::size_t from = 0;
        ForEachState(mine, [&](Reducer& reducer, std::size_t, auto state) {
          reducer.Merge(state, llvm::ArrayRef<llvm::Value*>(theirs).slice(from, state.size()));
          from += state.size();
        });
        for (std::size_t i = 0; i < mine.size(); ++i) {
          emitter_.StoreShared(places[i], at(member_), mine[i]);
        }
      });
    }
    emitter_.Barrier();
    states = load(Constant(0));
  }

  // Shared memory is used again from reduction to reduction.
  llvm::Value* Place(std::size_t number, std::int64_t bytes) {
    if (number == places_.size()) places_.push_back({nullptr, 0});
    auto& [memory, size] = places_[number];
    if (size < bytes) {
      memory = emitter_.Shared(bytes);
      size = bytes;
    }
    return memory;
  }

  struct SharedPlace {
    llvm::Value* memory;
    std::int64_t bytes;
  };

  std::vector<SharedPlace> places_;
  bool is_used_ = false;
};

}  // namespace

void EmitCudaColumns(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                     llvm::Module& module) {
  NvptxEmitter emitter(module, machine, schedule, static_cast<std::uint32_t>(func.operands.size()));
  ColumnEmitter(func, schedule, std::get<ColumnSchedule>(schedule.how), emitter).Emit();
  emitter.Finish();
}

}  // namespace stoker::codegen
