#include "compiler/machine/machine.h"

#include "compiler/machine/cpu_machine.h"

namespace stoker {

Result<std::unique_ptr<const Machine>> MachineOf(const Target& target) {
  switch (target.kind()) {
    case TargetKind::kCpu: {
      STOKER_TRY(CpuMachine machine, CpuMachineOf(target));
      return std::unique_ptr<const Machine>(std::make_unique<CpuMachine>(std::move(machine)));
    }
    case TargetKind::kCuda:
      return Unimplemented("This compiler has no code generator for " + target.ToString() + ".");
  }
  CheckFailed("unknown target kind", __FILE__, __LINE__);
}

}  // namespace stoker
