#include "compiler/codegen/x86/contraction/emit_contraction.h"

#include <memory>

#include "compiler/codegen/x86/contraction/amx_contraction.h"
#include "compiler/codegen/x86/contraction/split_contraction.h"
#include "compiler/codegen/x86/contraction/vector_contraction.h"
#include "compiler/schedule/cpu/contraction_plan.h"

namespace stoker::codegen {
namespace {

std::unique_ptr<ContractionEmitter> EmitterOf(X86Emitter& emitter, const ContractionFunc& func,
                                              const ContractionPlan& plan) {
  switch (plan.kernel) {
    case MicroKernel::kMultiplyAdd:
    case MicroKernel::kDotBF16:
      return std::make_unique<VectorContraction>(emitter, func, plan);
    case MicroKernel::kAmx:
      return std::make_unique<AmxContraction>(emitter, func, plan);
    case MicroKernel::kAmxSplit:
      return std::make_unique<SplitContraction>(emitter, func, plan);
  }
  STOKER_CHECK(false);
}

}  // namespace

void EmitContraction(const ContractionFunc& func, const ContractionSchedule& schedule,
                     const std::vector<SymDim>& dims, const CpuMachine& machine,
                     llvm::Module& module) {
  const ContractionPlan plan = PlanContraction(func, schedule, machine);
  X86Emitter emitter(module, machine, dims, static_cast<std::uint32_t>(func.operands.size()));
  EmitterOf(emitter, func, plan)->Emit();
  emitter.Finish();
}

}  // namespace stoker::codegen
