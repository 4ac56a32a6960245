// Every pointwise operation on every dtype, against the reference interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "compiler/codegen/llvm/body/accuracy.h"
#include "protocol/base/float16.h"
#include "protocol/graph/build/graph_builder.h"
#include "protocol/graph/interpret/interpreter.h"
#include "protocol/graph/op_table.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"

namespace stoker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One operation with its dtypes.
struct Case {
  OpKind kind = OpKind::kAdd;
  DType from = DType::kF32;  // Of the operands.
  DType to = DType::kF32;    // Of the result.
  CompareDirection direction = CompareDirection::kEq;
};

std::string NameOf(const Case& c) {
  std::string name = std::string(Name(c.kind)) + "_" + std::string(Name(c.from));
  if (c.to != c.from) name += "_" + std::string(Name(c.to));
  return name;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (int code = 0; code < kNumOpKinds; ++code) {
    const auto kind = static_cast<OpKind>(code);
    if (!IsPointwise(kind)) continue;
    for (int d = 0; d < kNumDTypes; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (kind == OpKind::kConvert) {
        for (int to = 0; to < kNumDTypes; ++to) {
          cases.push_back({kind, dtype, static_cast<DType>(to)});
        }
        continue;
      }
      if (kind == OpKind::kCompare) {
        for (const CompareDirection direction :
             {CompareDirection::kEq, CompareDirection::kNe, CompareDirection::kLt,
              CompareDirection::kLe, CompareDirection::kGt, CompareDirection::kGe}) {
          cases.push_back({kind, dtype, DType::kBool, direction});
        }
        continue;
      }
      const OpRow& row = RowOf(kind);
      if (kind == OpKind::kBitcastConvert || !Contains(row.dtypes, dtype)) continue;
      cases.push_back({kind, dtype, row.result == ResultRule::kBool ? DType::kBool : dtype});
    }
  }
  for (const auto& [from, to] : {std::pair{DType::kF32, DType::kI32},
                                 {DType::kI32, DType::kF32},
                                 {DType::kF64, DType::kI64},
                                 {DType::kI64, DType::kF64},
                                 {DType::kI8, DType::kU8},
                                 {DType::kBF16, DType::kI16},
                                 {DType::kI16, DType::kF16}}) {
    cases.push_back({OpKind::kBitcastConvert, from, to});
  }
  return cases;
}

// Values of an operand: special ones in all pairs with the other operands' (by different strides
// through the list), then random ones.
std::vector<double> Floats(DType dtype, std::size_t operand, std::size_t count) {
  const double tiny = dtype == DType::kF64 ? 5e-324 : dtype == DType::kF16 ? 6e-8 : 1.4e-45;
  const double least = dtype == DType::kF64 ? 2.3e-308 : dtype == DType::kF16 ? 6.2e-5 : 1.2e-38;
  const double large = dtype == DType::kF64 ? 1e300 : dtype == DType::kF16 ? 6e4 : 3e38;
  const std::vector<double> special = {
      0.0,  -0.0,  1,      -1,   0.5,   -0.5,  2,      3,         -3,        2.5,  -2.5,  1.5,
      4,    10,    -10,    0.1,  -0.1,  1e-3,  -1e-3,  1e-5,      7.25,      20,   -20,   50,
      -50,  87,    -87,    88.5, -88.5, 103,   -103,   100,       -1e-5,     0.75, -0.75, 1e-9,
      kNaN, large, -large, tiny, -tiny, least, -least, kInfinity, -kInfinity};
  std::vector<double> values;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < operand; ++i) stride *= special.size();
  std::mt19937_64 random(11 + operand);
  std::uniform_real_distribution<double> uniform(-6, 6);
  std::uniform_real_distribution<double> wide(-100, 100);
  const std::size_t pairs = special.size() * special.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double x = i % 4 == 0 ? wide(random) : uniform(random);
    values.push_back(i < pairs ? special[i / stride % special.size()] : x);
  }
  return values;
}

std::vector<std::int64_t> Integers(DType dtype, std::size_t operand, std::size_t count) {
  const int bits = dtype == DType::kBool ? 1 : 8 * SizeInBytes(dtype);
  const bool is_signed = dtype != DType::kU8 && dtype != DType::kBool;
  const std::int64_t high =
      bits == 64 ? INT64_MAX : (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  const std::int64_t low = is_signed ? -high - 1 : 0;
  std::vector<std::int64_t> special = {0, 1, low, high};
  for (const std::int64_t x : {2, 3, 7, 8, 15, 31, 63, 64, 100, -1, -2, -3, -8, -100}) {
    if (x >= low && x <= high) special.push_back(x);
  }
  std::vector<std::int64_t> values;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < operand; ++i) stride *= special.size();
  std::mt19937_64 random(13 + operand);
  const std::size_t pairs = special.size() * special.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<std::int64_t>(random());
    const std::int64_t wrapped =
        bits == 64 ? x
                   : low + static_cast<std::int64_t>(static_cast<std::uint64_t>(x) >> (64 - bits));
    values.push_back(i < pairs ? special[i / stride % special.size()] : wrapped);
  }
  return values;
}

// How far a result may be from the interpreter's: units in the last place of `dtype`.
double UlpLimit(const Case& c) {
  const bool is_function = c.kind == OpKind::kPower || RowOf(c.kind).dtypes == kFloats;
  if (!is_function || !IsFloat(c.from) || c.to != c.from) return 1;
  // The interpreter computes in f64.
  return codegen::LargestErrorUlps(c.kind, c.from) + (c.from == DType::kF64 ? 2 : 1);
}

double Ulp(DType dtype, double x) {
  const int digits = dtype == DType::kF64   ? 53
                     : dtype == DType::kF32 ? 24
                     : dtype == DType::kF16 ? 11
                                            : 8;
  const int least = dtype == DType::kF64 ? -1022 : dtype == DType::kF16 ? -14 : -126;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent - 1, least) - digits + 1);
}

double Largest(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kBF16) return 3.3895313892515355e38;
  return static_cast<double>(std::numeric_limits<float>::max());
}

// `x`: the first operand.
bool Close(const Case& c, double x, double expected, double actual) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  // Which of two zeros is the larger is left open.
  const bool extreme =
      c.kind == OpKind::kMaximum || c.kind == OpKind::kMinimum || c.kind == OpKind::kClamp;
  if (expected == actual) {
    return expected != 0 || extreme || std::signbit(expected) == std::signbit(actual);
  }
  const double limit = UlpLimit(c);
  // Rounding may go over the edge of the format.
  const double clipped = std::fmin(std::fmax(expected, -Largest(c.to)), Largest(c.to));
  if (std::isinf(actual)) {
    return std::signbit(actual) == std::signbit(expected) &&
           Largest(c.to) - std::fabs(clipped) <= limit * Ulp(c.to, clipped);
  }
  // accuracy.h says what the error of log_gamma is counted in.
  const bool is_reflected = c.kind == OpKind::kLogGamma && x < 0;
  const double size = std::fmax(std::fabs(clipped), is_reflected ? std::lgamma(-x) : 0);
  return std::fabs(clipped - actual) <= limit * Ulp(c.to, size);
}

class PointwiseTest : public testing::TestWithParam<Target> {};

LoopFunc FuncOf(const Case& c, std::int64_t size) {
  LoopFunc func;
  func.dims = {size};
  Stage stage;
  stage.loops = {0};
  BodyBuilder body(stage.body);
  std::vector<std::uint32_t> args;
  for (int i = 0; i < NumOperands(c.kind); ++i) {
    const DType dtype = c.kind == OpKind::kSelect && i == 0 ? DType::kBool : c.from;
    const auto operand = static_cast<std::uint32_t>(i);
    func.operands.push_back({dtype, false, false});
    args.push_back(body.Load(At(operand, dtype, Affine({{0, 1}}))));
  }
  const std::uint32_t op = body.Op(c.kind, args);
  BodyInstr& instr = stage.body.instrs[op];
  instr.direction = c.direction;
  const bool to_half = c.to == DType::kF16 || c.to == DType::kBF16;
  instr.dtype = to_half ? DType::kF32 : c.to;
  if (c.kind == OpKind::kConvert || c.kind == OpKind::kBitcastConvert) {
    const bool from_half = c.from == DType::kF16 || c.from == DType::kBF16;
    instr.round_to = to_half ? c.to : from_half ? c.from : DType::kF32;
  }
  if (to_half && RowOf(c.kind).f32_in == DType::kF64) instr.round_to = c.to;
  const auto out = static_cast<std::uint32_t>(func.operands.size());
  func.operands.push_back({c.to, true, false});
  stage.stores = {{op, At(out, c.to, Affine({{0, 1}}))}};
  func.stages = {stage};
  return func;
}

InterpreterTensor OperandOf(const Case& c, std::size_t operand, std::size_t size) {
  const DType dtype = c.kind == OpKind::kSelect && operand == 0 ? DType::kBool : c.from;
  InterpreterTensor tensor;
  tensor.dtype = dtype;
  tensor.shape = {static_cast<std::int64_t>(size)};
  if (IsFloat(dtype)) {
    tensor.elements = Floats(dtype, operand, size);
  } else {
    tensor.elements = Integers(dtype, operand, size);
  }
  // As memory holds it.
  return InterpreterTensor::FromBytes(dtype, tensor.shape, tensor.ToBytes());
}

InterpreterTensor Expected(const Case& c, const std::vector<InterpreterTensor>& operands,
                           std::size_t size) {
  GraphBuilder builder("case");
  const Shape shape{static_cast<std::int64_t>(size)};
  std::vector<ValueId> ids;
  for (const InterpreterTensor& operand : operands) {
    ids.push_back(builder.Input({operand.dtype, shape}));
  }
  Attributes attributes;
  if (c.kind == OpKind::kCompare) {
    constexpr const char* kNames[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    attributes.Set(AttrName::kDirection, std::string(kNames[static_cast<int>(c.direction)]));
  }
  if (c.kind == OpKind::kRequire) attributes.Set(AttrName::kMessage, std::string("it holds"));
  std::optional<TensorType> hint;
  if (c.kind == OpKind::kConvert || c.kind == OpKind::kBitcastConvert)
    hint = TensorType{c.to, shape};
  const ValueId result = builder.Add(c.kind, ids, attributes, hint);
  auto graph = builder.Build(std::vector<ValueId>{result});
  STOKER_CHECK(graph.ok());
  auto results = Interpret(*graph, operands);
  STOKER_CHECK(results.ok());
  return (*results)[0];
}

TEST_P(PointwiseTest, EveryOperation_EveryDType_MatchesInterpreter) {
  double total_ms = 0;
  double worst_ms = 0;
  std::string worst;
  int kernels = 0;
  for (const Case& c : AllCases()) {
    const std::size_t size = NumOperands(c.kind) == 1 ? 1003 : 3007;  // Odd: the tail is tested.
    SCOPED_TRACE(NameOf(c));
    std::vector<InterpreterTensor> operands;
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    std::vector<void*> pointers;
    const auto add_buffer = [&](std::size_t bytes) {
      buffers.push_back(std::make_unique<GuardedBuffer>(bytes));
      pointers.push_back(buffers.back()->data());
    };
    for (std::size_t i = 0; i < static_cast<std::size_t>(NumOperands(c.kind)); ++i) {
      operands.push_back(OperandOf(c, i, size));
      const std::string bytes = operands.back().ToBytes();
      add_buffer(bytes.size());
      std::memcpy(pointers.back(), bytes.data(), bytes.size());
    }
    add_buffer(size * static_cast<std::size_t>(SizeInBytes(c.to)));
    auto kernel = LoadedKernel::Make(FuncOf(c, static_cast<std::int64_t>(size)), GetParam());
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    total_ms += (*kernel)->compile_ms();
    ++kernels;
    if ((*kernel)->compile_ms() > worst_ms) {
      worst_ms = (*kernel)->compile_ms();
      worst = NameOf(c);
    }
    if (!(*kernel)->Runs()) continue;
    (*kernel)->Run(pointers);

    const InterpreterTensor expected = Expected(c, operands, size);
    const auto* out = static_cast<const char*>(pointers.back());
    const InterpreterTensor actual = InterpreterTensor::FromBytes(
        c.to, expected.shape, {out, size * static_cast<std::size_t>(SizeInBytes(c.to))});
    int failures = 0;
    for (std::size_t i = 0; i < size && failures < 3; ++i) {
      const auto element = [&](const InterpreterTensor& tensor) {
        if (IsFloat(tensor.dtype)) return std::get<0>(tensor.elements)[i];
        return static_cast<double>(std::get<1>(tensor.elements)[i]);
      };
      bool good = IsFloat(c.to)
                      ? Close(c, element(operands[0]), element(expected), element(actual))
                      : std::get<1>(expected.elements)[i] == std::get<1>(actual.elements)[i];
      if (good) continue;
      ++failures;
      std::string inputs;
      for (const InterpreterTensor& operand : operands) {
        inputs += " " + testing::PrintToString(element(operand));
      }
      ADD_FAILURE() << NameOf(c) << " of" << inputs << " gives "
                    << testing::PrintToString(element(actual)) << ", not "
                    << testing::PrintToString(element(expected));
    }
  }
  std::cout << "  " << kernels << " kernels, " << total_ms / kernels << " ms each, slowest "
            << worst << " " << worst_ms << " ms\n";
}

// All numbers that a 16-bit float can be, but for those that a large argument concerns.
std::vector<double> AllNumbers(DType dtype, bool periodic) {
  std::vector<double> values;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto x =
        static_cast<double>(dtype == DType::kF16 ? FloatFromF16(half) : FloatFromBF16(half));
    if (std::isnan(x)) continue;
    if (!periodic || std::fabs(x) < 1e6) values.push_back(x);
  }
  return values;
}

TEST_P(PointwiseTest, EveryNumberOf16Bits_ThroughF64_RoundsOnce) {
  for (const Case& c : AllCases()) {
    const bool is_half = c.from == DType::kF16 || c.from == DType::kBF16;
    if (!is_half || RowOf(c.kind).f32_in != DType::kF64 || NumOperands(c.kind) != 1) continue;
    SCOPED_TRACE(NameOf(c));
    const bool periodic =
        c.kind == OpKind::kSine || c.kind == OpKind::kCosine || c.kind == OpKind::kTan;
    InterpreterTensor in;
    in.dtype = c.from;
    in.elements = AllNumbers(c.from, periodic);
    const std::size_t size = std::get<0>(in.elements).size();
    in.shape = {static_cast<std::int64_t>(size)};
    const auto kernel = LoadedKernel::Make(FuncOf(c, in.shape[0]), GetParam());
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    if (!(*kernel)->Runs()) continue;
    const std::string bytes = in.ToBytes();
    GuardedBuffer input(bytes.size());
    GuardedBuffer output(bytes.size());
    std::memcpy(input.data(), bytes.data(), bytes.size());
    (*kernel)->Run({input.data(), output.data()});
    const std::string expected = Expected(c, {in}, size).ToBytes();
    int failures = 0;
    for (std::size_t i = 0; i < size && failures < 3; ++i) {
      std::uint16_t want = 0;
      std::memcpy(&want, expected.data() + 2 * i, sizeof want);
      const std::uint16_t got = static_cast<const std::uint16_t*>(output.data())[i];
      const auto value = [&](std::uint16_t half) {
        return c.to == DType::kF16 ? FloatFromF16(half) : FloatFromBF16(half);
      };
      const bool both_nan = std::isnan(value(want)) && std::isnan(value(got));
      if (want == got || both_nan) continue;
      ++failures;
      ADD_FAILURE() << std::get<0>(in.elements)[i] << " gives " << value(got) << ", not "
                    << value(want);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PointwiseTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

}  // namespace
}  // namespace stoker
