#include "compiler/machine/cpu_machine.h"

#include <algorithm>
#include <cmath>

namespace stoker {

int CpuMachine::Lanes(DType dtype) const {
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kBool;
  return vector_bytes / (narrow ? 4 : SizeInBytes(dtype));
}

std::int64_t CpuMachine::MinTasksPerChunk(double task_ns) const {
  return std::max<std::int64_t>(1, std::llround(tasks.chunk_ns / std::max(task_ns, 0.1)));
}

Result<CpuMachine> CpuMachineOf(const Target& target) {
  if (target.kind() != TargetKind::kCpu) {
    return Unimplemented("Target " + target.ToString() + " is not a CPU target.");
  }
  CpuMachine machine;
  machine.arch = target.arch();
  machine.features = target.features();
  machine.avx512 = target.arch() == "x86-64-v4";
  machine.vector_bytes = machine.avx512 ? 64 : 32;
  machine.num_vector_registers = machine.avx512 ? 32 : 16;
  machine.avx512_bf16 = target.Has("avx512_bf16");
  machine.amx_bf16 = target.Has("amx_bf16");
  return machine;
}

}  // namespace stoker
