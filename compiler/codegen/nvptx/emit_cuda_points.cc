// Loops whose points are computed by themselves, and several of these side by side.
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

class JoinEmitter {
 public:
  JoinEmitter(const JoinedFunc& func, const CudaSchedule& schedule, NvptxEmitter& emitter)
      : schedule_(schedule), emitter_(emitter), block_(emitter.BlockIndex()) {
    const auto& parts = std::get<JoinedSchedule>(schedule.how).parts;
    std::uint32_t buffer = 0;
    std::int64_t block = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts_.push_back({WithBuffersFrom(buffer, func.parts[i]), parts[i], block});
      buffer += static_cast<std::uint32_t>(func.parts[i].operands.size());
      block += parts[i].blocks;
    }
  }

  // Parts [begin, end), of which the block has one: half of them are out of the question at a time.
  void Emit(std::size_t begin, std::size_t end) {
    if (end - begin == 1) {
      EmitPart(parts_[begin]);
      return;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    llvm::Value* is_before =
        emitter_.b().CreateICmpSLT(block_, emitter_.I64(parts_[middle].first_block));
    emitter_.If(is_before, [&] { Emit(begin, middle); });
    emitter_.If(emitter_.b().CreateNot(is_before), [&] { Emit(middle, end); });
  }

  std::size_t size() const { return parts_.size(); }

 private:
  struct Part {
    LoopFunc func;
    JoinedSchedule::Part how;
    std::int64_t first_block;
  };

  void EmitPart(const Part& part) {
    CudaSchedule schedule = schedule_;
    schedule.width = part.how.width;
    schedule.how = PointSchedule{part.how.vectors};
    llvm::Value* block = emitter_.b().CreateSub(block_, emitter_.I64(part.first_block));
    PointEmitter(part.func, schedule, block, emitter_).Emit();
  }

  const CudaSchedule& schedule_;
  NvptxEmitter& emitter_;
  llvm::Value* const block_;
  std::vector<Part> parts_;
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
  JoinEmitter joined(func, schedule, emitter);
  joined.Emit(0, joined.size());
  emitter.Finish();
}

}  // namespace stoker::codegen
