// Loops over columns: neighbouring threads have neighbouring columns, and threads that lie apart
// share one.
#include <algorithm>

#include "compiler/codegen/nvptx/cuda_loop_emitter.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"

namespace stoker::codegen {
namespace {

class ColumnEmitter final : public CudaLoopEmitter {
 public:
  ColumnEmitter(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                llvm::Module& module)
      : CudaLoopEmitter(func, schedule, machine, func.num_outer - 1, module),
        columns_(std::get<ColumnSchedule>(schedule.how)),
        across_(schedule.threads / columns_.team) {}

 private:
  void EmitBlock() override {
    llvm::Value* thread = emitter_.ThreadIndex();
    column_ = b().CreateURem(thread, Constant(across_));
    member_ = b().CreateUDiv(thread, Constant(across_));
    llvm::Value* vector =
        emitter_.Add(emitter_.Mul(emitter_.BlockIndex(), Constant(across_)), column_);
    const std::vector<int> outer = OuterDims();
    const Values extents = ExtentsOf(outer);
    llvm::Value* count = b().CreateUDiv(ProductOf(extents), Constant(schedule_.width));
    const std::optional<std::int64_t> known = KnownOf(count);
    is_column_ = known && *known % across_ == 0 ? nullptr : b().CreateICmpSLT(vector, count);
    llvm::Value* flat = emitter_.Mul(OrZero(is_column_, vector), Constant(schedule_.width));
    SetIndices(outer, emitter_.Unflatten(flat, extents));
    for (const Stage& stage : func_.stages) EmitStage(stage);
  }

  void EmitStage(const Stage& stage) {
    BeginReductions(stage);
    Values states = Start();
    if (stage.loops.empty()) {
      EmitOnce(stage, states);
    } else {
      Stream(stage, states);
      Combine(states);
    }
    ForEachState(states, [&](Reducer& reducer, std::size_t i, auto state) {
      SetResult(stage.reductions[i].id, reducer.Result(state));
    });
  }

  // What is computed once a column, by each of its threads.
  void EmitOnce(const Stage& stage, Values& states) {
    std::vector<Slot> slots(1);
    slots[0].lanes = LanesHere();
    std::vector<VectorBody> bodies = Evaluate(stage, slots);
    Accumulate(stage, slots, bodies, states);
    if (stage.stores.empty()) return;
    llvm::Value* is_first = columns_.team == 1 ? nullptr : b().CreateICmpEQ(member_, Constant(0));
    If(And(is_column_, is_first), [&] { bodies[0].Store(stage.stores); });
  }

  void Stream(const Stage& stage, Values& states) {
    const Values extents = ExtentsOf(stage.loops);
    llvm::Value* count = ProductOf(extents);
    const std::int64_t step = std::int64_t{columns_.team} * columns_.points;
    llvm::Value* whole = b().CreateUDiv(count, Constant(step));
    ForSums(whole, columns_.points, states, [&](llvm::Value* i, Values& values) {
      llvm::Value* first = emitter_.Mul(i, Constant(columns_.points));
      EmitSlots(stage, extents, first, columns_.points, nullptr, values);
    });
    const std::optional<std::int64_t> known = KnownOf(count);
    const std::int64_t rest = known ? *known % step : step;
    if (rest == 0) return;
    const int slots = static_cast<int>((rest + columns_.team - 1) / columns_.team);
    llvm::Value* first = emitter_.Mul(whole, Constant(columns_.points));
    const auto emit = [&](Values& values) {
      EmitSlots(stage, extents, first, slots, count, values);
    };
    if (known) {
      emit(states);
    } else {
      // An empty column has no first point to compute in place of another.
      llvm::Value* done = emitter_.Mul(whole, Constant(step));
      emitter_.If(b().CreateICmpSGT(count, done), states, emit);
    }
  }

  // Points (first + s) * team + member for each s below `slots`, all of them below `count` if it is
  // null.
  void EmitSlots(const Stage& stage, const Values& extents, llvm::Value* first, int slots,
                 llvm::Value* count, Values& states) {
    std::vector<Slot> all;
    for (int s = 0; s < slots; ++s) {
      Slot slot;
      llvm::Value* number = emitter_.Add(first, Constant(s));
      llvm::Value* point = emitter_.Add(emitter_.Mul(number, Constant(columns_.team)), member_);
      std::optional<std::int64_t> most;
      if (const auto known = KnownOf(number)) most = (*known + 1) * columns_.team - 1;
      if (count != nullptr) slot.active = Below(point, count, most);
      SetIndices(stage.loops, emitter_.Unflatten(OrZero(slot.active, point), extents));
      slot.lanes = LanesHere();
      all.push_back(std::move(slot));
    }
    std::vector<VectorBody> bodies = Evaluate(stage, all);
    Accumulate(stage, all, bodies, states);
    if (stage.stores.empty()) return;
    for (std::size_t s = 0; s < all.size(); ++s) {
      If(And(is_column_, all[s].active), [&] { bodies[s].Store(stage.stores); });
    }
  }

  // The states of all threads of a column as one, in each of them: a tree in shared memory.
  void Combine(Values& states) {
    if (columns_.team == 1 || states.empty()) return;
    std::vector<llvm::Value*> places;
    for (llvm::Value* value : states) {
      const std::int64_t bytes = std::max(1U, value->getType()->getScalarSizeInBits() / 8);
      places.push_back(Place(places.size(), bytes * schedule_.width * schedule_.threads));
    }
    const auto at = [&](llvm::Value* member) {
      return emitter_.Add(emitter_.Mul(member, Constant(across_)), column_);
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
    for (int distance = columns_.team / 2; distance >= 1; distance /= 2) {
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

  const ColumnSchedule& columns_;
  const std::int64_t across_;         // Columns, in vectors, of a block.
  llvm::Value* column_ = nullptr;     // Of the block, in vectors.
  llvm::Value* member_ = nullptr;     // Of those that share it.
  llvm::Value* is_column_ = nullptr;  // Null: always.
  std::vector<SharedPlace> places_;
  bool is_used_ = false;
};

}  // namespace

void EmitCudaColumns(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                     llvm::Module& module) {
  ColumnEmitter(func, schedule, machine, module).Emit();
}

}  // namespace stoker::codegen
