// MicroKernel: the innermost loops of a contraction, by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/ir/contraction_func.h"
#include "compiler/machine/cpu_machine.h"
#include "protocol/base/result.h"

namespace stoker::cpu {

enum class MicroKernel : std::uint8_t {
  kMultiplyAdd,  // Vectors of columns, one broadcast element of A each: f32, f64, i32, i64.
  kDotBF16,      // vdpbf16ps: a broadcast pair of A, pairs of B.
  kAmx,          // tdpbf16ps: two row tiles by two column tiles.
  kAmxSplit,     // The same on f32 split into three bf16 parts; see split_contraction.cc.
};

std::string_view Name(MicroKernel kernel);  // "multiply_add"

constexpr bool IsAmx(MicroKernel kernel) {
  return kernel == MicroKernel::kAmx || kernel == MicroKernel::kAmxSplit;
}

// Those of a machine that read B as it is packed, the fastest first. Never empty: InvalidArgument
// says what the packing asks for.
Result<std::vector<MicroKernel>> MicroKernelsOf(const ContractionFunc& func,
                                                const CpuMachine& machine);

// A rough estimate of one product, with so many lanes in a vector.
double NsPerProduct(MicroKernel kernel, std::int64_t lanes, const CpuMachine& machine);

}  // namespace stoker::cpu
