#include "compiler/machine/machine.h"

#include "compiler/machine/cpu_machine.h"
#include "compiler/machine/gpu_machine.h"

namespace stoker {

Result<std::unique_ptr<const Machine>> MachineOf(const Target& target) {
  switch (target.kind()) {
    case TargetKind::kCpu: {
      STOKER_TRY(CpuMachine machine, CpuMachineOf(target));
      return std::unique_ptr<const Machine>(std::make_unique<CpuMachine>(std::move(machine)));
    }
    case TargetKind::kCuda: {
      STOKER_TRY(GpuMachine machine, GpuMachineOf(target));
      return std::unique_ptr<const Machine>(std::make_unique<GpuMachine>(std::move(machine)));
    }
  }
  CheckFailed("unknown target kind", __FILE__, __LINE__);
}

}  // namespace stoker
