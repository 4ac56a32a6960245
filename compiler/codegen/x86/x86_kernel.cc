#include "compiler/codegen/x86/x86_kernel.h"

#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/x86/attention/emit_attention.h"
#include "compiler/codegen/x86/contraction/emit_contraction.h"
#include "compiler/codegen/x86/emit_loop.h"
#include "compiler/codegen/x86/ordered/emit_ordered.h"
#include "compiler/codegen/x86/pack.h"
#include "compiler/codegen/x86/x86_target.h"

namespace stoker::codegen {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

Result<std::unique_ptr<Backend>> BuildX86Kernel(const KernelFunc& func, const CpuMachine& machine,
                                                Laps& laps) {
  STOKER_TRY(auto target_machine, X86TargetMachine(machine));
  auto backend = std::make_unique<Backend>(std::move(target_machine));
  llvm::Module& module = backend->module();
  const auto emit = Overloaded{
      [&](const LoopFunc& f) { return EmitLoop(f, machine, module); },
      [&](const ContractionFunc& f) { return EmitContraction(f, machine, module); },
      [&](const PackFunc& f) { return EmitPack(f, machine, module); },
      [&](const AttentionFunc& f) { return EmitAttention(f, machine, module); },
      [&](const ScanFunc& f) { return EmitScan(f, machine, module); },
      [&](const SortFunc& f) { return EmitSort(f, machine, module); },
      [&](const ScatterFunc& f) { return EmitScatter(f, machine, module); },
  };
  STOKER_RETURN_IF_ERROR(std::visit(emit, func));
  laps.End("emit");
  STOKER_RETURN_IF_ERROR(backend->Optimize());
  laps.End("optimize");
  return backend;
}

Result<LaunchShape> LaunchShapeOf(const KernelFunc& func, const CpuMachine& machine) {
  return std::visit(
      Overloaded{
          [&](const LoopFunc& f) { return LaunchShapeOfLoop(f, machine); },
          [&](const ContractionFunc& f) { return LaunchShapeOfContraction(f, machine); },
          [&](const PackFunc& f) { return LaunchShapeOfPack(f); },
          [&](const AttentionFunc& f) { return LaunchShapeOfAttention(f, machine); },
          [&](const ScanFunc& f) { return LaunchShapeOfScan(f, machine); },
          [&](const SortFunc& f) { return LaunchShapeOfSort(f); },
          [&](const ScatterFunc& f) -> Result<LaunchShape> { return LaunchShapeOfScatter(f); },
      },
      func);
}

}  // namespace stoker::codegen
