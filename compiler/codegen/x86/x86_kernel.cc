#include "compiler/codegen/x86/x86_kernel.h"

#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/x86/attention/emit_attention.h"
#include "compiler/codegen/x86/contraction/emit_contraction.h"
#include "compiler/codegen/x86/emit_loop.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/codegen/x86/ordered/emit_ordered.h"
#include "compiler/codegen/x86/pack.h"
#include "compiler/codegen/x86/x86_target.h"

namespace stoker::codegen {
namespace {

// One function and its kind of schedule.
struct Emission {
  const CpuSchedule& schedule;
  const CpuMachine& machine;
  llvm::Module& module;

  template <typename Schedule>
  const Schedule& How() const {
    return std::get<Schedule>(schedule.how);
  }
  const std::vector<SymDim>& dims() const { return schedule.launch.dims; }

  Status operator()(const LoopFunc& func) const {
    return EmitLoop(func, How<LoopSchedule>(), dims(), machine, module);
  }
  Status operator()(const ContractionFunc& func) const {
    EmitContraction(func, How<ContractionSchedule>(), dims(), machine, module);
    return Ok();
  }
  Status operator()(const PackFunc& func) const {
    EmitPack(func, How<PackSchedule>(), dims(), machine, module);
    return Ok();
  }
  Status operator()(const AttentionFunc& func) const {
    EmitAttention(func, How<AttentionSchedule>(), dims(), machine, module);
    return Ok();
  }
  Status operator()(const ScanFunc& func) const {
    EmitScan(func, How<ScanSchedule>(), dims(), machine, module);
    return Ok();
  }
  Status operator()(const SortFunc& func) const {
    EmitSort(func, How<SortSchedule>(), dims(), machine, module);
    return Ok();
  }
  Status operator()(const ScatterFunc& func) const {
    EmitScatter(func, How<ScatterSchedule>(), dims(), machine, module);
    return Ok();
  }
};

}  // namespace

Result<std::unique_ptr<Backend>> BuildX86Kernel(const KernelFunc& func, const CpuSchedule& schedule,
                                                const CpuMachine& machine, Laps& laps) {
  STOKER_TRY(auto target_machine, X86TargetMachine(machine));
  auto backend = std::make_unique<Backend>(std::move(target_machine));
  STOKER_RETURN_IF_ERROR(std::visit(Emission{schedule, machine, backend->module()}, func));
  laps.End("emit");
  STOKER_RETURN_IF_ERROR(backend->Optimize());
  laps.End("optimize");
  return backend;
}

}  // namespace stoker::codegen
