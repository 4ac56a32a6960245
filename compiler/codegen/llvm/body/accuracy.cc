#include "compiler/codegen/llvm/body/accuracy.h"

#include <algorithm>
#include <cmath>

#include "compiler/codegen/llvm/body/pointwise_table.h"

namespace stoker::codegen {
namespace {

// The error of f32, where it is computed, in the last place of a format of fewer digits, and that
// of the one rounding. What is 0 gives a value of the format.
double AfterRounding(double f32, int digits) {
  return f32 == 0 ? 0 : 0.5 + std::ldexp(f32, digits - 24);
}

}  // namespace

double LargestErrorUlps(OpKind kind, DType dtype, TargetKind target) {
  const PointwiseEmitter& row = EmitterOf(kind);
  if (dtype == DType::kF64) return row.f64_ulps;
  const bool on_gpu = target == TargetKind::kCuda;
  const double f32 = on_gpu ? std::max(row.f32_ulps, row.gpu_f32_ulps) : row.f32_ulps;
  if (dtype == DType::kF32) return f32;
  return AfterRounding(on_gpu ? std::max(f32, row.gpu_narrow_ulps) : f32,
                       dtype == DType::kF16 ? 11 : 8);
}

}  // namespace stoker::codegen
