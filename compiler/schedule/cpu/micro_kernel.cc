#include "compiler/schedule/cpu/micro_kernel.h"

#include <string>

namespace stoker::cpu {
namespace {

constexpr std::int64_t kAmxDepth = 32;  // Of a tile of bf16.

}  // namespace

std::string_view Name(MicroKernel kernel) {
  switch (kernel) {
    case MicroKernel::kMultiplyAdd:
      return "multiply_add";
    case MicroKernel::kDotBF16:
      return "dot_bf16";
    case MicroKernel::kAmx:
      return "amx";
    case MicroKernel::kAmxSplit:
      return "amx_split";
  }
  STOKER_CHECK(false);
}

Result<std::vector<MicroKernel>> MicroKernelsOf(const ContractionFunc& func,
                                                const CpuMachine& machine) {
  const PackedLayout& rhs = func.rhs;
  const bool fits_tiles = machine.amx_bf16 && rhs.k_multiple == kAmxDepth;
  std::vector<MicroKernel> kernels;
  if (rhs.dtype == DType::kBF16) {
    if (rhs.kr != 2) {
      return InvalidArgument("Packed bf16 needs kr 2; it is " + std::to_string(rhs.kr) + ".");
    }
    if (fits_tiles) kernels.push_back(MicroKernel::kAmx);
    if (machine.avx512_bf16) kernels.push_back(MicroKernel::kDotBF16);
    if (kernels.empty()) {
      return InvalidArgument("Packed bf16 needs a target with avx512_bf16 or amx_bf16.");
    }
  } else if (rhs.dtype == DType::kF32 && rhs.kr == 2) {
    if (!fits_tiles) {
      return InvalidArgument("Packed pairs of f32 need a target with amx_bf16 and K in 32s.");
    }
    kernels.push_back(MicroKernel::kAmxSplit);
  } else if (rhs.dtype != func.accumulator) {
    return InvalidArgument("Packed " + std::string(stoker::Name(rhs.dtype)) +
                           " does not accumulate in " +
                           std::string(stoker::Name(func.accumulator)) + ".");
  } else {
    kernels.push_back(MicroKernel::kMultiplyAdd);
  }
  const std::int64_t lanes = machine.vector_bytes / SizeInBytes(func.accumulator);
  if (rhs.nr % lanes != 0) {
    return InvalidArgument("Panels of " + std::to_string(rhs.nr) +
                           " columns are not whole vectors of " + std::to_string(lanes) + ".");
  }
  return kernels;
}

double NsPerProduct(MicroKernel kernel, std::int64_t lanes, const CpuMachine& machine) {
  const double per_cycle = kernel == MicroKernel::kAmx        ? 512
                           : kernel == MicroKernel::kAmxSplit ? 512 / 6.0
                           : kernel == MicroKernel::kDotBF16  ? 32
                                                              : 2.0 * static_cast<double>(lanes);
  return 1 / (per_cycle * machine.tasks.cycles_per_ns);
}

}  // namespace stoker::cpu
