// Loops whose points are computed by themselves, and several of these side by side.
#include <string>
#include <utility>

#include "compiler/codegen/nvptx/cuda_loop_emitter.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"

namespace stoker::codegen {
namespace {

class PointEmitter final : public CudaLoopEmitter {
 public:
  // `block`: its number among those of the loop.
  PointEmitter(const LoopFunc& func, const CudaSchedule& schedule, llvm::Value* block,
               NvptxEmitter& emitter)
      : CudaLoopEmitter(func, schedule, static_cast<int>(func.dims.size()) - 1, emitter),
        vectors_(std::get<PointSchedule>(schedule.how).vectors),
        block_(block) {}

 private:
  void EmitBlock() override {
    const Stage& stage = func_.stages[0];
    const std::vector<int> dims = OuterDims();
    const Values extents = ExtentsOf(dims);
    llvm::Value* points = ProductOf(extents);
    llvm::Value* count = b().CreateUDiv(points, Constant(schedule_.width));
    const std::int64_t run = std::int64_t{schedule_.threads} * vectors_;
    const std::optional<std::int64_t> known = KnownOf(count);
    const bool is_whole = known && *known % run == 0;
    llvm::Value* first = emitter_.Add(emitter_.Mul(block_, Constant(run)), emitter_.ThreadIndex());
    std::vector<Slot> slots;
    for (int v = 0; v < vectors_; ++v) {
      Slot slot;
      llvm::Value* vector = emitter_.Add(first, Constant(std::int64_t{v} * schedule_.threads));
      if (!is_whole) slot.active = b().CreateICmpSLT(vector, count);
      // A load that waits for nobody is worth more than one that is left out.
      if (vectors_ > 1) vector = OrZero(slot.active, vector);
      llvm::Value* flat = emitter_.Mul(vector, Constant(schedule_.width));
      SetIndices(dims, emitter_.Unflatten(flat, extents));
      slot.lanes = LanesHere();
      slots.push_back(std::move(slot));
    }
    if (vectors_ == 1) {
      If(slots[0].active, [&] { Evaluate(stage, slots)[0].Store(stage.stores); });
      return;
    }
    std::vector<VectorBody> bodies = Evaluate(stage, slots);
    for (std::size_t v = 0; v < slots.size(); ++v) {
      If(slots[v].active, [&] { bodies[v].Store(stage.stores); });
    }
  }

  const int vectors_;
  llvm::Value* const block_;
};

// Accesses name the buffers of the whole kernel.
LoopFunc WithBuffersFrom(std::uint32_t first, LoopFunc part) {
  Stage& stage = part.stages[0];
  for (BodyInstr& instr : stage.body.instrs) instr.access.operand += first;
  for (Store& store : stage.stores) store.access.operand += first;
  return part;
}

// Equal neighbours share their code, which is told where the buffers of the block's part lie.
class JoinEmitter {
 public:
  JoinEmitter(const JoinedFunc& func, const CudaSchedule& schedule, NvptxEmitter& emitter)
      : func_(func),
        schedule_(schedule),
        how_(std::get<JoinedSchedule>(schedule.how).parts),
        emitter_(emitter),
        block_(emitter.BlockIndex()) {
    std::string last;
    std::uint32_t buffer = 0;
    std::int64_t block = 0;
    for (std::size_t i = 0; i < how_.size(); ++i) {
      std::string text = ToString(func.parts[i]);
      if (i == 0 || text != last) runs_.push_back(i);
      last = std::move(text);
      starts_.push_back({block, buffer});
      buffer += static_cast<std::uint32_t>(func.parts[i].operands.size());
      block += how_[i].blocks;
    }
  }

  void Emit() { EmitRuns(0, runs_.size()); }

 private:
  struct Start {
    std::int64_t block;
    std::uint32_t buffer;
  };

  // Runs [begin, end), of which the block has one: half of them are out of the question at a time.
  void EmitRuns(std::size_t begin, std::size_t end) {
    if (end - begin == 1) {
      EmitRun(runs_[begin], end == runs_.size() ? how_.size() : runs_[end]);
      return;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    llvm::Value* is_before = IsBefore(runs_[middle]);
    emitter_.If(is_before, [&] { EmitRuns(begin, middle); });
    emitter_.If(emitter_.b().CreateNot(is_before), [&] { EmitRuns(middle, end); });
  }

  // Parts that are equal.
  void EmitRun(std::size_t begin, std::size_t end) {
    const std::uint32_t first = starts_[begin].buffer;
    const Values found = Find(begin, end);
    for (std::uint32_t k = 0; k + 1 < found.size(); ++k) emitter_.SetBuffer(first + k, found[k]);
    CudaSchedule schedule = schedule_;
    schedule.width = how_[begin].width;
    schedule.how = PointSchedule{how_[begin].vectors};
    const LoopFunc part = WithBuffersFrom(first, func_.parts[begin]);
    llvm::Value* block = emitter_.b().CreateSub(block_, found.back());
    PointEmitter(part, schedule, block, emitter_).Emit();
  }

  // The buffers of the block's part and the first of its blocks.
  Values Find(std::size_t begin, std::size_t end) {
    Values found;
    for (std::uint32_t k = 0; k < func_.parts[begin].operands.size(); ++k) {
      found.push_back(emitter_.Buffer(starts_[begin].buffer + k));
    }
    found.push_back(emitter_.I64(starts_[begin].block));
    if (end - begin == 1) return found;
    const std::size_t middle = begin + (end - begin) / 2;
    llvm::Value* is_before = IsBefore(middle);
    emitter_.If(is_before, found, [&](Values& values) { values = Find(begin, middle); });
    emitter_.If(emitter_.b().CreateNot(is_before), found,
                [&](Values& values) { values = Find(middle, end); });
    return found;
  }

  llvm::Value* IsBefore(std::size_t part) {
    return emitter_.b().CreateICmpSLT(block_, emitter_.I64(starts_[part].block));
  }

  const JoinedFunc& func_;
  const CudaSchedule& schedule_;
  const std::vector<JoinedSchedule::Part>& how_;
  NvptxEmitter& emitter_;
  llvm::Value* const block_;
  std::vector<std::size_t> runs_;  // The first part of each.
  std::vector<Start> starts_;      // Of each part.
};

}  // namespace

void EmitCudaPoints(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                    llvm::Module& module) {
  STOKER_CHECK(func.stages.size() == 1 && func.stages[0].loops.empty());
  NvptxEmitter emitter(module, machine, schedule, static_cast<std::uint32_t>(func.operands.size()));
  PointEmitter(func, schedule, emitter.BlockIndex(), emitter).Emit();
  emitter.Finish();
}

void EmitCudaJoined(const JoinedFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                    llvm::Module& module) {
  NvptxEmitter emitter(module, machine, schedule, NumOperands(func));
  JoinEmitter(func, schedule, emitter).Emit();
  emitter.Finish();
}

}  // namespace stoker::codegen
