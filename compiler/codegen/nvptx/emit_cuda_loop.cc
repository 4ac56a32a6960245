#include "compiler/codegen/nvptx/emit_cuda_loop.h"

#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/nvptx/nvptx_emitter.h"

namespace stoker::codegen {
namespace {

// What is stored at the point of row-major number `flat`.
void EmitPoint(NvptxEmitter& emitter, const Stage& stage, llvm::Value* flat,
               const Values& extents) {
  const Values at = emitter.Unflatten(flat, extents);
  Lanes lanes;
  lanes.index.assign(at.begin(), at.end());
  VectorBody body(emitter, stage.body);
  body.Evaluate(lanes, [](const BodyInstr&) -> LaneValue { STOKER_CHECK(false); });
  body.Store(stage.stores);
}

}  // namespace

void EmitCudaLoop(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module) {
  STOKER_CHECK(func.stages.size() == 1 && func.stages[0].loops.empty());
  NvptxEmitter emitter(module, machine, schedule, static_cast<std::uint32_t>(func.operands.size()));
  Values extents;
  llvm::Value* points = emitter.I64(1);
  for (const SymDim& dim : func.dims) {
    extents.push_back(emitter.Dim(dim));
    points = emitter.Mul(points, extents.back());
  }
  const std::int64_t run = std::int64_t{schedule.threads} * schedule.elements;
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(points);
  const bool is_whole = count != nullptr && count->getSExtValue() % run == 0;
  llvm::Value* first =
      emitter.Add(emitter.Mul(emitter.BlockIndex(), emitter.I64(run)), emitter.ThreadIndex());
  for (std::int64_t i = 0; i < schedule.elements; ++i) {
    llvm::Value* flat = emitter.Add(first, emitter.I64(i * schedule.threads));
    const auto point = [&] { EmitPoint(emitter, func.stages[0], flat, extents); };
    if (is_whole) {
      point();
    } else {
      emitter.If(emitter.b().CreateICmpSLT(flat, points), point);
    }
  }
  emitter.Finish();
}

}  // namespace stoker::codegen
