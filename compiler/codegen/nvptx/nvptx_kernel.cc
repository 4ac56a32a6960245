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
  const LoopFunc& loop = std::get<LoopFunc>(func);
  if (std::holds_alternative<PointSchedule>(schedule.how)) {
    EmitCudaPoints(loop, schedule, machine, backend->module());
  } else if (std::holds_alternative<RowSchedule>(schedule.how)) {
    EmitCudaRows(loop, schedule, machine, backend->module());
  } else {
    EmitCudaColumns(loop, schedule, machine, backend->module());
  }
  laps.End("emit");
  STOKER_RETURN_IF_ERROR(backend->Optimize());
  laps.End("optimize");
  return backend;
}

}  // namespace stoker::codegen
