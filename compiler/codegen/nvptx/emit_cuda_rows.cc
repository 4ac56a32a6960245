// Loops over rows: neighbouring threads share one.
#include <algorithm>

#include "compiler/codegen/nvptx/cuda_loop_emitter.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"

namespace stoker::codegen {
namespace {

class RowEmitter final : public CudaLoopEmitter {
 public:
  RowEmitter(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
             llvm::Module& module)
      : CudaLoopEmitter(func, schedule, machine, static_cast<int>(func.dims.size()) - 1, module),
        rows_(std::get<RowSchedule>(schedule.how)),
        warp_(machine.warp_size) {}

 private:
  void EmitBlock() override {
    const std::int64_t rows = schedule_.threads / rows_.team;
    llvm::Value* thread = emitter_.ThreadIndex();
    member_ = b().CreateURem(thread, Constant(rows_.team));
    team_ = b().CreateUDiv(thread, Constant(rows_.team));
    llvm::Value* row = emitter_.Add(emitter_.Mul(emitter_.BlockIndex(), Constant(rows)), team_);
    const std::vector<int> outer = OuterDims();
    const Values extents = ExtentsOf(outer);
    llvm::Value* count = ProductOf(extents);
    const std::optional<std::int64_t> known = KnownOf(count);
    is_row_ = known && *known % rows == 0 ? nullptr : b().CreateICmpSLT(row, count);
    // Threads without a row do the first one's work beside the others, and store nothing.
    SetIndices(outer, emitter_.Unflatten(OrZero(is_row_, row), extents));
    for (const Stage& stage : func_.stages) EmitStage(stage);
  }

  void EmitStage(const Stage& stage) {
    BeginReductions(stage);
    Values states = Start();
    if (stage.loops.empty()) {
      EmitScalars(stage, states);
    } else {
      for (const int dim : stage.loops) index_[static_cast<std::size_t>(dim)] = nullptr;
      const Values extents = ExtentsOf(stage.loops);
      count_ = b().CreateUDiv(ProductOf(extents), Constant(schedule_.width));
      if (rows_.kept) {
        EmitSlots(stage, extents, Constant(0), SlotsOfRow(), states);
      } else {
        Stream(stage, extents, states);
      }
      states = Combine(states);
    }
    ForEachState(states, [&](Reducer& reducer, std::size_t i, auto state) {
      SetResult(stage.reductions[i].id, reducer.Result(state));
    });
    for (const int dim : stage.loops) index_[static_cast<std::size_t>(dim)] = nullptr;
  }

  // What is computed once a row, by each of its threads.
  void EmitScalars(const Stage& stage, Values& states) {
    std::vector<Slot> slot(1);
    slot[0].lanes.index = index_;
    std::vector<VectorBody> bodies = Evaluate(stage, slot);
    if (!stage.reductions.empty()) {
      states.clear();
      ForEachReducer([&](Reducer& reducer) { states.append(reducer.Start(1)); });
      ForEachState(states, [&](Reducer& reducer, std::size_t i, auto state) {
        reducer.Accumulate(state, bodies[0].Vector(stage.reductions[i].value), slot[0].lanes,
                           nullptr);
      });
    }
    if (stage.stores.empty()) return;
    If(And(is_row_, b().CreateICmpEQ(member_, Constant(0))),
       [&] { bodies[0].Store(stage.stores); });
  }

  int SlotsOfRow() const {
    const std::int64_t count = KnownOf(count_).value();
    return static_cast<int>((count + rows_.team - 1) / rows_.team);
  }

  // Vectors (first + s) * team + member for each s below `slots`.
  void EmitSlots(const Stage& stage, const Values& extents, llvm::Value* first, int slots,
                 Values& states) {
    std::vector<Slot> all;
    for (int s = 0; s < slots; ++s) {
      Slot slot;
      slot.number = s;
      llvm::Value* number = emitter_.Add(first, Constant(s));
      llvm::Value* vector = emitter_.Add(emitter_.Mul(number, Constant(rows_.team)), member_);
      std::optional<std::int64_t> most;
      if (const auto known = KnownOf(number)) most = (*known + 1) * rows_.team - 1;
      if (!is_inside_) slot.active = Below(vector, count_, most);
      llvm::Value* flat = emitter_.Mul(OrZero(slot.active, vector), Constant(schedule_.width));
      SetIndices(stage.loops, emitter_.Unflatten(flat, extents));
      slot.lanes = LanesHere();
      all.push_back(std::move(slot));
    }
    std::vector<VectorBody> bodies = Evaluate(stage, all);
    Accumulate(stage, all, bodies, states);
    if (stage.stores.empty()) return;
    for (std::size_t s = 0; s < all.size(); ++s) {
      If(And(is_row_, all[s].active), [&] { bodies[s].Store(stage.stores); });
    }
  }

  void Stream(const Stage& stage, const Values& extents, Values& states) {
    llvm::Value* step = Constant(std::int64_t{rows_.team} * rows_.vectors);
    llvm::Value* whole = b().CreateUDiv(count_, step);
    is_inside_ = true;
    ForSums(whole, rows_.vectors, states, [&](llvm::Value* i, Values& values) {
      EmitSlots(stage, extents, emitter_.Mul(i, Constant(rows_.vectors)), rows_.vectors, values);
    });
    is_inside_ = false;
    const std::optional<std::int64_t> known = KnownOf(count_);
    const std::int64_t all = std::int64_t{rows_.team} * rows_.vectors;
    const int rest =
        known ? static_cast<int>((*known % all + rows_.team - 1) / rows_.team) : rows_.vectors;
    if (rest == 0) return;
    llvm::Value* first = emitter_.Mul(whole, Constant(rows_.vectors));
    if (known) {
      EmitSlots(stage, extents, first, rest, states);
      return;
    }
    // An empty row has no first vector to compute in place of another.
    emitter_.If(b().CreateICmpSGT(count_, emitter_.Mul(whole, step)), states,
                [&](Values& values) { EmitSlots(stage, extents, first, rest, values); });
  }

  // The states of all threads of the team as one, in each of them.
  Values Combine(Values& states) {
    Values narrow;
    ForEachState(states, [&](Reducer& reducer, std::size_t, auto state) {
      narrow.append(reducer.Narrow(Values(state.begin(), state.end())));
    });
    Butterfly(narrow, std::min(rows_.team, warp_));
    if (rows_.team > warp_ && !narrow.empty()) AcrossWarps(narrow);
    return narrow;
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
    const std::int64_t warps = rows_.team / warp_;
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

  const RowSchedule& rows_;
  const int warp_;
  llvm::Value* member_ = nullptr;  // Of its team.
  llvm::Value* team_ = nullptr;    // Of the block.
  llvm::Value* is_row_ = nullptr;  // Null: always.
  llvm::Value* count_ = nullptr;   // Vectors of the stage.
  bool is_inside_ = false;         // All vectors are below count_.
};

}  // namespace

void EmitCudaRows(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module) {
  RowEmitter(func, schedule, machine, module).Emit();
}

}  // namespace stoker::codegen
