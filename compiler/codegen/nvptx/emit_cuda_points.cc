// Loops whose points are computed by themselves.
#include "compiler/codegen/nvptx/cuda_loop_emitter.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"

namespace stoker::codegen {
namespace {

class PointEmitter final : public CudaLoopEmitter {
 public:
  PointEmitter(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
               llvm::Module& module)
      : CudaLoopEmitter(func, schedule, machine, static_cast<int>(func.dims.size()) - 1, module),
        vectors_(std::get<PointSchedule>(schedule.how).vectors) {}

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
    llvm::Value* first =
        emitter_.Add(emitter_.Mul(emitter_.BlockIndex(), Constant(run)), emitter_.ThreadIndex());
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
};

}  // namespace

void EmitCudaPoints(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                    llvm::Module& module) {
  STOKER_CHECK(func.stages.size() == 1 && func.stages[0].loops.empty());
  PointEmitter(func, schedule, machine, module).Emit();
}

}  // namespace stoker::codegen
