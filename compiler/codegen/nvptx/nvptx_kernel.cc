#include "compiler/codegen/nvptx/nvptx_kernel.h"

#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/nvptx/emit_cuda_attention.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"
#include "compiler/codegen/nvptx/emit_cuda_ordered.h"
#include "compiler/codegen/nvptx/nv_jit_link.h"
#include "compiler/codegen/nvptx/nvptx_target.h"
#include "protocol/artifact/cuda_kernel_abi.h"

namespace stoker::codegen {

namespace {

void Emit(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
          llvm::Module& module) {
  if (std::holds_alternative<PointSchedule>(schedule.how)) {
    EmitCudaPoints(func, schedule, machine, module);
  } else if (std::holds_alternative<RowSchedule>(schedule.how)) {
    EmitCudaRows(func, schedule, machine, module);
  } else {
    EmitCudaColumns(func, schedule, machine, module);
  }
}

void Emit(const JoinedFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
          llvm::Module& module) {
  EmitCudaJoined(func, schedule, machine, module);
}

void Emit(const AttentionFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
          llvm::Module& module) {
  EmitCudaAttention(func, schedule, machine, module);
}

void Emit(const ScanFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
          llvm::Module& module) {
  EmitCudaScan(func, schedule, machine, module);
}

void Emit(const SortFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
          llvm::Module& module) {
  EmitCudaSort(func, schedule, machine, module);
}

void Emit(const ScatterFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
          llvm::Module& module) {
  EmitCudaScatter(func, schedule, machine, module);
}

void GiveName(llvm::Module& module, const std::string& name) {
  for (llvm::Function& function : module) {
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) {
      function.setName(std::string(kCudaKernelPrefix) + name + std::string(kCudaKernelSuffix));
    }
  }
}

// What NvptxEmitter has LLVM write.
std::string DirectiveOf(int blocks_per_sm) {
  return ".minnctapersm " + std::to_string(blocks_per_sm) + "\n";
}

template <typename Func>
void Emit(const Func&, const CudaSchedule&, const GpuMachine&, llvm::Module&) {
  STOKER_CHECK(false);  // It has no CudaSchedule.
}

}  // namespace

Result<std::unique_ptr<Backend>> BuildNvptxKernel(const KernelFunc& func,
                                                  const CudaSchedule& schedule,
                                                  const GpuMachine& machine, Laps& laps) {
  STOKER_TRY(auto target_machine, NvptxTargetMachine(machine));
  auto backend = std::make_unique<Backend>(std::move(target_machine));
  std::visit([&](const auto& f) { Emit(f, schedule, machine, backend->module()); }, func);
  GiveName(backend->module(), NameOf(func));
  laps.End("emit");
  STOKER_RETURN_IF_ERROR(backend->Optimize());
  laps.End("optimize");
  return backend;
}

Result<NvptxCode> AssembleNvptxKernel(std::string ptx, const CudaSchedule& schedule,
                                      const std::string& arch) {
  if (schedule.most_blocks_per_sm > 0) {
    std::string more = ptx;
    const std::string said = DirectiveOf(schedule.blocks_per_sm);
    const std::size_t place = more.find(said);
    STOKER_CHECK(place != more.npos);
    more.replace(place, said.size(), DirectiveOf(schedule.most_blocks_per_sm));
    STOKER_TRY(std::string cubin, AssemblePtx(more, arch));
    const CubinResources resources = ResourcesOf(cubin);
    if (resources.stack_bytes == 0) return NvptxCode{std::move(more), std::move(cubin), resources};
  }
  STOKER_TRY(std::string cubin, AssemblePtx(ptx, arch));
  const CubinResources resources = ResourcesOf(cubin);
  return NvptxCode{std::move(ptx), std::move(cubin), resources};
}

}  // namespace stoker::codegen
