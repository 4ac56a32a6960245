// The stated error of every pointwise function, against long double over its whole domain: every
// f16 and bf16, and of f32 and f64 many of each exponent and those where functions are difficult.
#include "compiler/codegen/llvm/body/accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>

#include "protocol/base/check.h"
#include "protocol/base/float16.h"
#include "protocol/graph/interpret/interpreter.h"
#include "protocol/graph/op_table.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"
#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"

namespace stoker {
namespace {

using Real = long double;

struct Format {
  int digits;
  int least;  // Exponent of the least normal number.
  double largest;
};

Format FormatOf(DType dtype) {
  if (dtype == DType::kF64) return {53, -1022, std::numeric_limits<double>::max()};
  if (dtype == DType::kF32) {
    return {24, -126, static_cast<double>(std::numeric_limits<float>::max())};
  }
  if (dtype == DType::kF16) return {11, -14, 65504};
  return {8, -126, 3.3895313892515355e38};
}

bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// ---- What is exact
// --------------------------------------------------------------------------------

Real Logistic(Real x) {
  const Real e = std::exp(-std::fabs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

Real Larger(Real x, Real y) { return std::isnan(x) || std::isnan(y) ? x + y : std::fmax(x, y); }
Real Smaller(Real x, Real y) { return std::isnan(x) || std::isnan(y) ? x + y : std::fmin(x, y); }

struct Function {
  OpKind kind;
  Real (*exact)(Real x, Real y);
  // Errors are counted in the last place of this where it is larger than the result.
  Real (*size)(Real x) = nullptr;
};

#define STOKER_UNARY(kind, expression)                            \
  {                                                               \
    OpKind::kind, [](Real x, Real) -> Real { return expression; } \
  }
#define STOKER_BINARY(kind, expression)                             \
  {                                                                 \
    OpKind::kind, [](Real x, Real y) -> Real { return expression; } \
  }

constexpr Function kFunctions[] = {
    STOKER_UNARY(kAbs, std::fabs(x)),
    STOKER_UNARY(kNegate, -x),
    STOKER_UNARY(kSign, x > 0 || x < 0 ? std::copysign(Real(1), x) : x),
    STOKER_UNARY(kExponential, std::exp(x)),
    STOKER_UNARY(kExponential2, std::exp2(x)),
    STOKER_UNARY(kExponentialMinusOne, std::expm1(x)),
    STOKER_UNARY(kLog, std::log(x)),
    STOKER_UNARY(kLog2, std::log2(x)),
    STOKER_UNARY(kLogPlusOne, std::log1p(x)),
    STOKER_UNARY(kLogistic, Logistic(x)),
    STOKER_UNARY(kSqrt, std::sqrt(x)),
    STOKER_UNARY(kRsqrt, 1 / std::sqrt(x)),
    STOKER_UNARY(kSine, std::sin(x)),
    STOKER_UNARY(kCosine, std::cos(x)),
    STOKER_UNARY(kTan, std::tan(x)),
    STOKER_UNARY(kAsin, std::asin(x)),
    STOKER_UNARY(kAcos, std::acos(x)),
    STOKER_UNARY(kAtan, std::atan(x)),
    STOKER_UNARY(kSinh, std::sinh(x)),
    STOKER_UNARY(kCosh, std::cosh(x)),
    STOKER_UNARY(kTanh, std::tanh(x)),
    STOKER_UNARY(kErf, std::erf(x)),
    STOKER_UNARY(kFloor, std::floor(x)),
    STOKER_UNARY(kCeil, std::ceil(x)),
    STOKER_UNARY(kTrunc, std::trunc(x)),
    STOKER_UNARY(kRoundNearestEven, std::nearbyint(x)),
    STOKER_BINARY(kAdd, x + y),
    STOKER_BINARY(kSubtract, x - y),
    STOKER_BINARY(kMultiply, x* y),
    STOKER_BINARY(kDivide, x / y),
    STOKER_BINARY(kRemainder, std::fmod(x, y)),
    STOKER_BINARY(kMaximum, Larger(x, y)),
    STOKER_BINARY(kMinimum, Smaller(x, y)),
    STOKER_BINARY(kPower, std::pow(x, y)),
    STOKER_BINARY(kAtan2, std::atan2(x, y)),
    STOKER_UNARY(kErfc, std::erfc(x)),
    {OpKind::kLogGamma, [](Real x, Real) -> Real { return std::lgamma(x); },
     [](Real x) -> Real { return x < 0 ? std::lgamma(-x) : 0; }},
};

// ---- Where it is asked
// ----------------------------------------------------------------------------

double Rounded(DType dtype, double x) {
  if (dtype == DType::kF64) return x;
  const auto single = static_cast<float>(x);
  if (dtype == DType::kF16) return static_cast<double>(FloatFromF16(F16FromFloat(single)));
  if (dtype == DType::kBF16) return static_cast<double>(FloatFromBF16(BF16FromFloat(single)));
  return static_cast<double>(single);
}

// Every value of a narrow format; of the others 2 * `each` of every exponent (subnormal numbers and
// NaN among them).
std::vector<double> OfEveryExponent(DType dtype, int each, std::mt19937_64& random) {
  std::vector<double> values;
  if (IsNarrow(dtype)) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto narrow = static_cast<std::uint16_t>(bits);
      values.push_back(
          static_cast<double>(dtype == DType::kF16 ? FloatFromF16(narrow) : FloatFromBF16(narrow)));
    }
    return values;
  }
  const bool single = dtype == DType::kF32;
  const int mantissa_bits = single ? 23 : 52;
  const std::uint64_t all = (std::uint64_t{1} << mantissa_bits) - 1;
  for (std::uint64_t exponent = 0; exponent < (single ? 0x200U : 0x1000U); ++exponent) {
    for (int i = 0; i < each; ++i) {
      const std::uint64_t mantissa = i == 0 ? 0 : i == 1 ? all : i == 2 ? 1 : random() & all;
      const std::uint64_t bits = exponent << mantissa_bits | mantissa;
      values.push_back(
          single ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                 : std::bit_cast<double>(bits));
    }
  }
  return values;
}

// Around 0, +-1 and 2, where most functions bend; at multiples of pi/2, where the periodic ones do.
void AddDifficult(DType dtype, int count, std::mt19937_64& random, std::vector<double>& values) {
  std::uniform_real_distribution<double> unit(-1, 1);
  const double ulp = std::ldexp(1.0, -FormatOf(dtype).digits);
  for (int i = 0; i < count; ++i) {
    const Real turns = std::floor(std::exp2(static_cast<Real>(63 * (1 + unit(random)) / 2)));
    for (const double x :
         {unit(random), 6 * unit(random), 30 * unit(random), 110 * unit(random), 800 * unit(random),
          1 + 64 * ulp * unit(random), -1 + 64 * ulp * unit(random), 2 + 64 * ulp * unit(random),
          1.5 + unit(random), static_cast<double>(turns * (acosl(-1.0L) / 2))}) {
      values.push_back(Rounded(dtype, x));
    }
  }
}

struct Sample {
  std::vector<double> x;
  std::vector<double> y;  // Empty for functions of one operand.
};

Sample SampleOf(OpKind kind, DType dtype, int each) {
  std::mt19937_64 random(7);
  Sample sample;
  sample.x = OfEveryExponent(dtype, each, random);
  AddDifficult(dtype, 32 * each, random, sample.x);
  if (NumOperands(kind) == 1) return sample;
  sample.y = sample.x;
  std::ranges::shuffle(sample.x, random);
  std::ranges::shuffle(sample.y, random);
  std::uniform_real_distribution<double> unit(-1, 1);
  // Random exponents seldom meet: half of the pairs are of one size, or have a power that is
  // finite.
  const double range = FormatOf(dtype).digits == 53 ? 1100 : dtype == DType::kF16 ? 26 : 155;
  for (std::size_t i = 0; i < sample.y.size(); i += 2) {
    const double x = sample.x[i];
    double y = x * std::exp2(8 * unit(random));
    if (kind == OpKind::kPower) y = range * unit(random) / std::log2(std::fabs(x));
    sample.y[i] = Rounded(dtype, y);
  }
  return sample;
}

// ---- Kernels
// --------------------------------------------------------------------------------------

LoopFunc FuncOf(OpKind kind, DType dtype, std::size_t size) {
  LoopFunc func;
  func.dims = {static_cast<std::int64_t>(size)};
  Stage stage;
  stage.loops = {0};
  BodyBuilder body(stage.body);
  std::vector<std::uint32_t> args;
  for (int i = 0; i < NumOperands(kind); ++i) {
    const auto operand = static_cast<std::uint32_t>(i);
    func.operands.push_back({dtype, false, false});
    args.push_back(body.Load(At(operand, dtype, Affine({{0, 1}}))));
  }
  const std::uint32_t result = body.Op(kind, args);
  const auto out = static_cast<std::uint32_t>(func.operands.size());
  func.operands.push_back({dtype, true, false});
  stage.stores = {{result, At(out, dtype, Affine({{0, 1}}))}};
  func.stages = {stage};
  return func;
}

std::string BytesOf(DType dtype, const std::vector<double>& values) {
  InterpreterTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = {static_cast<std::int64_t>(values.size())};
  tensor.elements = values;
  return tensor.ToBytes();
}

// Nothing where this processor cannot run the kernel; threads of a GPU are emulated.
bool Runs(const LoopFunc& func, const Target& target, const std::vector<void*>& buffers) {
  if (target.kind() == TargetKind::kCuda) {
    const auto candidates = Candidates(func, target);
    STOKER_CHECK(candidates.ok());
    const auto kernel = EmulatedKernel::Make(candidates->front(), target);
    STOKER_CHECK(kernel.ok());
    (*kernel)->Run(buffers);
    return true;
  }
  const auto kernel = LoadedKernel::Make(func, target);
  STOKER_CHECK(kernel.ok());
  if ((*kernel)->Runs()) (*kernel)->Run(buffers);
  return (*kernel)->Runs();
}

// None where the kernel does not run.
std::vector<double> ResultsOf(const LoopFunc& func, DType dtype, const Sample& sample,
                              const Target& target) {
  const std::size_t size = sample.x.size();
  std::vector<std::string> buffers = {BytesOf(dtype, sample.x)};
  if (!sample.y.empty()) buffers.push_back(BytesOf(dtype, sample.y));
  buffers.emplace_back(size * static_cast<std::size_t>(SizeInBytes(dtype)) + 64, '\0');
  std::vector<void*> pointers;
  for (std::string& buffer : buffers) pointers.push_back(buffer.data());
  if (!Runs(func, target, pointers)) return {};
  buffers.back().resize(size * static_cast<std::size_t>(SizeInBytes(dtype)));
  const InterpreterTensor results =
      InterpreterTensor::FromBytes(dtype, {static_cast<std::int64_t>(size)}, buffers.back());
  return std::get<0>(results.elements);
}

std::vector<double> ResultsOf(OpKind kind, DType dtype, const Sample& sample,
                              const Target& target) {
  return ResultsOf(FuncOf(kind, dtype, sample.x.size()), dtype, sample, target);
}

// ---- The comparison
// -------------------------------------------------------------------------------

// Infinite if the two are of different kinds.
double ErrorUlps(OpKind kind, DType dtype, Real exact, Real size, double actual) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  const Format format = FormatOf(dtype);
  if (std::isnan(exact) || std::isnan(actual)) {
    return std::isnan(exact) && std::isnan(actual) ? 0 : kWrong;
  }
  const bool extreme = kind == OpKind::kMaximum || kind == OpKind::kMinimum;
  if (!extreme && std::signbit(exact) != std::signbit(actual)) return kWrong;
  if (exact == static_cast<Real>(actual)) return 0;
  const Real larger = std::fmax(std::fabs(exact), size);
  const int exponent = std::isinf(exact) || larger == 0 ? 0 : std::ilogb(larger);
  // Infinity stands for the next power of two.
  const Real edge = std::ldexp(static_cast<Real>(1), std::ilogb(format.largest) + 1);
  const auto placed = [&](Real value) { return std::fmin(std::fabs(value), edge); };
  const int top = std::ilogb(format.largest);
  const int scale = std::isinf(exact) ? top : std::clamp(exponent, format.least, top);
  const Real ulp = std::ldexp(static_cast<Real>(1), scale - format.digits + 1);
  return static_cast<double>(std::fabs(placed(exact) - placed(static_cast<Real>(actual))) / ulp);
}

class AccuracyTest : public testing::TestWithParam<std::tuple<Target, Function>> {};

TEST_P(AccuracyTest, WholeDomain_ErrorIsWithinTheStatedBound) {
  const auto& [target, function] = GetParam();
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    const Sample sample = SampleOf(function.kind, dtype, dtype == DType::kF32 ? 256 : 32);
    const std::vector<double> results = ResultsOf(function.kind, dtype, sample, target);
    if (results.empty()) continue;
    double worst = -1;
    std::size_t at = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Real exact = function.exact(static_cast<Real>(sample.x[i]),
                                        static_cast<Real>(sample.y.empty() ? 0 : sample.y[i]));
      const Real x = static_cast<Real>(sample.x[i]);
      const Real size = function.size == nullptr || std::isnan(x) ? 0 : function.size(x);
      const double error = ErrorUlps(function.kind, dtype, exact, size, results[i]);
      if (error > worst) worst = error, at = i;
    }
    std::cout << "  " << Name(function.kind) << " " << Name(dtype) << " " << worst << "\n";
    EXPECT_LE(worst, codegen::LargestErrorUlps(function.kind, dtype, target.kind()))
        << Name(dtype) << " of " << testing::PrintToString(sample.x[at]) << " "
        << (sample.y.empty() ? "" : testing::PrintToString(sample.y[at])) << " gives "
        << testing::PrintToString(results[at]);
  }
}

TEST(Accuracy, EveryFunctionOfFloats_IsAsked) {
  for (int i = 0; i < kNumOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const OpRow& row = RowOf(kind);
    const bool is_function = row.role == OpRole::kPointwise && row.result == ResultRule::kSame &&
                             Contains(row.dtypes, DType::kF32) && row.operands <= 2;
    EXPECT_EQ(is_function,
              std::ranges::find(kFunctions, kind, &Function::kind) != std::end(kFunctions))
        << row.name;
  }
}

// 1 + erf(x), which is one function on GPUs where it is rounded to 16 bits: of every x.
TEST(Accuracy, OnePlusErfOfGpus_IsWhatEachRoundingShows) {
  const Target target = Target::Parse("cuda/sm_90a").value();
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Sample sample = SampleOf(OpKind::kErf, dtype, 1);
    LoopFunc func = FuncOf(OpKind::kErf, dtype, sample.x.size());
    BodyBuilder body(func.stages[0].body);
    const std::uint32_t sum =
        body.Op(OpKind::kAdd, {func.stages[0].stores[0].value, body.Constant(DType::kF32, 1)});
    func.stages[0].stores[0].value = sum;
    const std::vector<double> results = ResultsOf(func, dtype, sample, target);
    ASSERT_EQ(results.size(), sample.x.size());
    const int digits = FormatOf(dtype).digits;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double x = sample.x[i];
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(results[i]));
        continue;
      }
      const double exact = std::erfc(-x);
      const double own = std::ldexp(exact, -17);
      const double rounding = std::fmax(std::ldexp(exact, -digits), 0x1p-25);
      EXPECT_GE(results[i], 0);
      EXPECT_LE(std::fabs(results[i] - exact), x < -4.5 ? 0x1p-32 : own + rounding)
          << Name(dtype) << " of " << x << " gives " << results[i];
    }
  }
}

// x / 2 * (1 + erf(x / sqrt(2))), which is one function there too: of every x.
TEST(Accuracy, GeluOfGpus_IsWhatEachRoundingShows) {
  const Target target = Target::Parse("cuda/sm_90a").value();
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Sample sample = SampleOf(OpKind::kErf, dtype, 1);
    LoopFunc func = FuncOf(OpKind::kErf, dtype, sample.x.size());
    Body& instrs = func.stages[0].body;
    BodyBuilder body(instrs);
    const std::uint32_t x = instrs.instrs[func.stages[0].stores[0].value].args[0];
    const std::uint32_t half = body.Op(OpKind::kMultiply, {x, body.Constant(DType::kF32, 0.5)});
    const std::uint32_t scaled =
        body.Op(OpKind::kMultiply, {x, body.Constant(DType::kF32, 0.70710678F)});
    const std::uint32_t normal =
        body.Op(OpKind::kAdd, {body.Op(OpKind::kErf, {scaled}), body.Constant(DType::kF32, 1)});
    func.stages[0].stores[0].value = body.Op(OpKind::kMultiply, {half, normal});
    const std::vector<double> results = ResultsOf(func, dtype, sample, target);
    ASSERT_EQ(results.size(), sample.x.size());
    const double least = dtype == DType::kF16 ? 0x1p-25 : 0x1p-134;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const double x_i = sample.x[i];
      const double exact = x_i / 2 * std::erfc(-x_i * std::sqrt(0.5));
      if (std::isnan(exact) || std::isinf(exact)) {  // Of -infinity, too, as in PyTorch.
        EXPECT_EQ(testing::PrintToString(std::fabs(results[i])),
                  testing::PrintToString(std::fabs(exact)));
        continue;
      }
      const double own = x_i < -6.3 ? -x_i * 0x1p-33 : std::ldexp(std::fabs(exact), -17);
      const double rounding =
          std::fmax(std::ldexp(std::fabs(exact), -FormatOf(dtype).digits), least);
      EXPECT_EQ(std::signbit(results[i]), std::signbit(x_i)) << x_i;
      EXPECT_LE(std::fabs(results[i] - exact), own + rounding)
          << Name(dtype) << " of " << x_i << " gives " << results[i];
    }
  }
}

std::vector<Target> AllTargets() {
  std::vector<Target> targets = X86Targets();
  targets.push_back(Target::Parse("cuda/sm_90a").value());
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Targets, AccuracyTest,
                         testing::Combine(testing::ValuesIn(AllTargets()),
                                          testing::ValuesIn(kFunctions)),
                         [](const auto& param) {
                           return std::string(Name(std::get<1>(param.param).kind)) + "_" +
                                  TestNameOf(std::get<0>(param.param));
                         });

}  // namespace
}  // namespace stoker
