#include "compiler/codegen/nvptx/nvptx_kernel.h"

#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/nvptx/emit_cuda_loop.h"
#include "compiler/codegen/nvptx/nvptx_target.h"

namespace stoker::codegen {

Result<std::unique_ptr<Backend>> BuildNvptxKernel(const KernelFunc& func,
                                                  const CudaSchedule& schedule,
                                                  const GpuMachine& machine, Laps& laps) {
  STOKER_TRY(auto target_machine, NvptxTargetMachine(machine));
  auto backend = std::make_unique<Backend>(std::move(target_machine));
  EmitCudaLoop(std::get<LoopFunc>(func), schedule, machine, backend->module());
  laps.End("emit");
  STOKER_RETURN_IF_ERROR(backend->Optimize());
  laps.End("optimize");
  return backend;
}

}  // namespace stoker::codegen
