#include "compiler/codegen/llvm/math/accuracy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "protocol/base/check.h"

namespace stoker::codegen {
namespace {

struct Bound {
  OpKind kind;
  double f32;
  double f64;
};

constexpr Bound kBounds[] = {
    {OpKind::kAbs, 0, 0},
    {OpKind::kNegate, 0, 0},
    {OpKind::kSign, 0, 0},
    {OpKind::kExponential, 1, 1.25},
    {OpKind::kExponential2, 1, 1.25},
    {OpKind::kExponentialMinusOne, 0.51, 2},
    {OpKind::kLog, 1, 1},
    {OpKind::kLog2, 1.5, 1.25},
    {OpKind::kLogPlusOne, 0.51, 2.5},
    {OpKind::kLogistic, 2, 2},
    {OpKind::kSqrt, 0.5, 0.5},
    {OpKind::kRsqrt, 1.5, 1.5},
    {OpKind::kSine, 0.6, 1.75},
    {OpKind::kCosine, 0.6, 1.75},
    {OpKind::kTan, 0.6, 3.5},
    {OpKind::kAsin, 0.51, 2.5},
    {OpKind::kAcos, 0.51, 2.5},
    {OpKind::kAtan, 0.51, 2},
    {OpKind::kSinh, 0.51, 2.5},
    {OpKind::kCosh, 0.51, 2.5},
    {OpKind::kTanh, 4.5, 2.5},
    {OpKind::kErf, 6, 1.5},
    {OpKind::kFloor, 0, 0},
    {OpKind::kCeil, 0, 0},
    {OpKind::kTrunc, 0, 0},
    {OpKind::kRoundNearestEven, 0, 0},
    {OpKind::kAdd, 0.5, 0.5},
    {OpKind::kSubtract, 0.5, 0.5},
    {OpKind::kMultiply, 0.5, 0.5},
    {OpKind::kDivide, 0.5, 0.5},
    {OpKind::kRemainder, 0, 0},
    {OpKind::kMaximum, 0, 0},
    {OpKind::kMinimum, 0, 0},
    {OpKind::kPower, 0.51, 2},
    {OpKind::kAtan2, 0.51, 2.5},
};

// The error of f32, where it is computed, in the last place of a format of fewer digits, and that
// of the one rounding. What is 0 gives a value of the format.
double AfterRounding(double f32, int digits) {
  return f32 == 0 ? 0 : 0.5 + std::ldexp(f32, digits - 24);
}

}  // namespace

double LargestErrorUlps(OpKind kind, DType dtype) {
  const Bound* bound = std::ranges::find(kBounds, kind, &Bound::kind);
  STOKER_CHECK(bound != std::end(kBounds));
  if (dtype == DType::kF64) return bound->f64;
  if (dtype == DType::kF32) return bound->f32;
  return AfterRounding(bound->f32, dtype == DType::kF16 ? 11 : 8);
}

}  // namespace stoker::codegen
