#include "compiler/codegen/nvptx/cuda_team_emitter.h"

#include <utility>

namespace stoker::codegen {

void CudaTeamEmitter::EmitBlock() {
  FindPlace(emitter_.ThreadIndex());
  const std::int64_t teams = TeamsOfBlock();
  llvm::Value* number = emitter_.Add(emitter_.Mul(emitter_.BlockIndex(), Constant(teams)), team_);
  ForPoints(number, Over(ProductOf(ExtentsOf(OuterDims())), teams_.points), [&](llvm::Value* own) {
    SetPoints(own);
    for (const Stage& stage : func_.stages) {
      EmitStage(stage);
      AfterStage(stage);
    }
  });
}

void CudaTeamEmitter::ForPoints(llvm::Value* number, llvm::Value* count, PointsFn body) {
  const std::optional<std::int64_t> known = KnownOf(count);
  const bool is_whole = known && *known % TeamsOfBlock() == 0;
  has_points_ = is_whole ? nullptr : b().CreateICmpSLT(number, count);
  // Teams without points do the first ones' work beside the others, and store nothing.
  body(OrZero(has_points_, number));
}

void CudaTeamEmitter::SetPoints(llvm::Value* number) {
  const std::vector<int> outer = OuterDims();
  llvm::Value* flat = emitter_.Mul(number, Constant(teams_.points));
  SetIndices(outer, emitter_.Unflatten(flat, ExtentsOf(outer)));
}

void CudaTeamEmitter::EmitStage(const Stage& stage) {
  BeginReductions(stage);
  Values states = Start(stage.loops.empty() ? teams_.points : schedule_.width);
  if (stage.loops.empty()) {
    EmitOnce(stage, states);
  } else {
    Loops loops{ExtentsOf(stage.loops), nullptr};
    loops.count = Over(ProductOf(loops.extents), teams_.slot_width);
    EmitLoops(stage, loops, states);
    Combine(states);
    for (const int dim : stage.loops) index_[static_cast<std::size_t>(dim)] = nullptr;
  }
  ForEachState(states, [&](Reducer& reducer, std::size_t i, auto state) {
    SetResult(stage.reductions[i].id, ResultOf(reducer, state));
  });
}

void CudaTeamEmitter::EmitOnce(const Stage& stage, Values& states) {
  std::vector<Slot> slots(1);
  if (teams_.points == 1) {
    slots[0].lanes.index = index_;
  } else {
    slots[0].lanes = LanesHere();
  }
  std::vector<VectorBody> bodies = Evaluate(stage, slots);
  Accumulate(stage, slots, bodies, states);
  if (stage.stores.empty()) return;
  llvm::Value* is_first = teams_.members == 1 ? nullptr : b().CreateICmpEQ(member_, Constant(0));
  If(And(has_points_, is_first), [&] { bodies[0].Store(stage.stores); });
}

void CudaTeamEmitter::Stream(const Stage& stage, const Loops& loops, Values& states) {
  const std::int64_t step = std::int64_t{teams_.members} * teams_.slots;
  llvm::Value* whole = b().CreateUDiv(loops.count, Constant(step));
  ForSums(whole, teams_.slots, states, [&](llvm::Value* i, Values& values) {
    EmitSlots(stage, loops, emitter_.Mul(i, Constant(teams_.slots)), teams_.slots, true, values);
  });
  const std::optional<std::int64_t> known = KnownOf(loops.count);
  const std::int64_t rest = known ? *known % step : step;
  if (rest == 0) return;
  const int slots = static_cast<int>((rest + teams_.members - 1) / teams_.members);
  llvm::Value* first = emitter_.Mul(whole, Constant(teams_.slots));
  const auto emit = [&](Values& values) { EmitSlots(stage, loops, first, slots, false, values); };
  if (known) {
    emit(states);
    return;
  }
  // Loops without a point have no first slot to compute in place of another.
  llvm::Value* done = emitter_.Mul(whole, Constant(step));
  emitter_.If(b().CreateICmpSGT(loops.count, done), states, emit);
}

void CudaTeamEmitter::EmitSlots(const Stage& stage, const Loops& loops, llvm::Value* first,
                                int slots, bool all_inside, Values& states) {
  std::vector<Slot> all;
  for (int s = 0; s < slots; ++s) {
    Slot slot;
    slot.number = s;
    llvm::Value* row = emitter_.Add(first, Constant(s));
    llvm::Value* place = emitter_.Add(emitter_.Mul(row, Constant(teams_.members)), member_);
    std::optional<std::int64_t> most;
    if (const auto known = KnownOf(row)) most = (*known + 1) * teams_.members - 1;
    if (!all_inside) slot.active = Below(place, loops.count, most);
    llvm::Value* flat = emitter_.Mul(OrZero(slot.active, place), Constant(teams_.slot_width));
    SetIndices(stage.loops, emitter_.Unflatten(flat, loops.extents));
    slot.lanes = LanesHere();
    all.push_back(std::move(slot));
  }
  std::vector<VectorBody> bodies = Evaluate(stage, all);
  Accumulate(stage, all, bodies, states);
  if (stage.stores.empty()) return;
  for (std::size_t s = 0; s < all.size(); ++s) {
    If(And(has_points_, all[s].active), [&] { bodies[s].Store(stage.stores); });
  }
}

llvm::Value* CudaTeamEmitter::Over(llvm::Value* points, std::int64_t width) {
  return width == 1 ? points : b().CreateUDiv(points, Constant(width));
}

}  // namespace stoker::codegen
