#include "compiler/codegen/machine.h"

#include <array>
#include <utility>

namespace stoker::codegen {
namespace {

// Our feature names and LLVM's.
constexpr std::array<std::pair<const char*, const char*>, 6> kFeatureNames = {{
    {"amx_bf16", "+amx-tile,+amx-bf16"},
    {"amx_int8", "+amx-tile,+amx-int8"},
    {"avx512_bf16", "+avx512bf16"},
    {"avx512_fp16", "+avx512fp16"},
    {"avx512_vnni", "+avx512vnni"},
    {"avx_vnni", "+avxvnni"},
}};

}  // namespace

int Machine::Lanes(DType dtype) const {
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kBool;
  return vector_bytes / (narrow ? 4 : SizeInBytes(dtype));
}

Result<Machine> MachineOf(const Target& target) {
  if (target.kind() != TargetKind::kCpu) {
    return Unimplemented("Target " + target.ToString() + " is not a CPU target.");
  }
  Machine machine;
  machine.cpu = target.arch();
  machine.avx512 = target.arch() == "x86-64-v4";
  machine.vector_bytes = machine.avx512 ? 64 : 32;
  machine.num_vector_registers = machine.avx512 ? 32 : 16;
  machine.avx512_bf16 = target.Has("avx512_bf16");
  machine.avx512_fp16 = target.Has("avx512_fp16");
  machine.avx512_vnni = target.Has("avx512_vnni");
  machine.amx_bf16 = target.Has("amx_bf16");
  for (const auto& [ours, llvm] : kFeatureNames) {
    if (!target.Has(ours)) continue;
    if (!machine.features.empty()) machine.features += ',';
    machine.features += llvm;
  }
  return machine;
}

}  // namespace stoker::codegen
