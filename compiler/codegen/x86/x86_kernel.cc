#include "compiler/codegen/x86/x86_kernel.h"

#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/x86/attention/emit_attention.h"
#include "compiler/codegen/x86/contraction/emit_contraction.h"
#include "compiler/codegen/x86/emit_loop.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/codegen/x86/ordered/emit_ordered.h"
#include "compiler/codegen/x86/pack.h"

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
  Status operator()(const JoinedFunc&) const {
    STOKER_CHECK(false);  // It has no CpuSchedule.
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

// Whether LLVM's strength reduction makes faster code. Without it attention takes a quarter longer.
bool ReducesStrength(const KernelFunc& func, const CpuSchedule& schedule) {
  const auto* contraction = std::get_if<ContractionSchedule>(&schedule.how);
  return std::holds_alternative<AttentionFunc>(func) ||
         (contraction != nullptr && IsAmx(contraction->kernel));
}

}  // namespace

Result<std::unique_ptr<Backend>> BuildX86Kernel(const KernelFunc& func, const CpuSchedule& schedule,
                                                const CpuMachine& machine,
                                                std::shared_ptr<llvm::TargetMachine> target_machine,
                                                Laps& laps) {
  auto backend = std::make_unique<Backend>(std::move(target_machine));
  if (!ReducesStrength(func, schedule)) backend->KeepAddresses();
  STOKER_RETURN_IF_ERROR(std::visit(Emission{schedule, machine, backend->module()}, func));
  laps.End("emit");
  STOKER_RETURN_IF_ERROR(backend->Optimize());
  laps.End("optimize");
  return backend;
}

}  // namespace stoker::codegen
