#include <algorithm>
#include <cmath>
#include <iterator>
#include <variant>

#include "protocol/graph/elements.h"
#include "protocol/graph/interpret/interpret.h"
#include "protocol/graph/op_table.h"
#include "protocol/graph/reference_arithmetic.h"

namespace stoker {
namespace {

using enum OpKind;
using Int = std::int64_t;

std::int64_t DivideInt(std::int64_t a, std::int64_t b) {
  if (b == 0) return -1;
  if (b == -1) return WrapSubtract(0, a);
  return a / b;
}

std::int64_t RemainderInt(std::int64_t a, std::int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

std::int64_t PowerInt(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return base == 1 ? 1 : 0;
  }
  std::int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = WrapMultiply(result, base);
    base = WrapMultiply(base, base);
  }
  return result;
}

std::int64_t Shift(OpKind kind, DType dtype, std::int64_t x, std::int64_t by) {
  const int bits = SizeInBytes(dtype) * 8;
  const bool beyond = by < 0 || by >= bits;  // A negative count is a large unsigned one.
  if (kind == OpKind::kShiftRightArithmetic) {
    return beyond ? (x < 0 ? -1 : 0) : x >> by;
  }
  if (beyond) return 0;
  auto word = static_cast<std::uint64_t>(x);
  if (kind == OpKind::kShiftLeft) return static_cast<std::int64_t>(word << by);
  if (bits < 64) word &= (std::uint64_t{1} << bits) - 1;
  return static_cast<std::int64_t>(word >> by);
}

// std::lgamma notes a sign where all threads see it.
double LogGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// f of the elements of one or two operands of one shape.
template <typename R, typename T, typename F>
void MapUnary(Evaluation& e, F f) {
  const std::vector<T>& x = ElementsOf<T>(e.operand(0));
  std::vector<R>& out = ElementsOf<R>(e.results[0]);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(x[i]);
}
template <typename R, typename T, typename F>
void MapBinary(Evaluation& e, F f) {
  const std::vector<T>& a = ElementsOf<T>(e.operand(0));
  const std::vector<T>& b = ElementsOf<T>(e.operand(1));
  std::vector<R>& out = ElementsOf<R>(e.results[0]);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(a[i], b[i]);
}

template <typename T>
void InterpretCompare(Evaluation& e) {
  const std::string& direction = e.attributes().String(AttrName::kDirection);
  const auto map = [&](auto f) { MapBinary<std::int64_t, T>(e, f); };
  if (direction == "EQ") map([](T a, T b) { return a == b; });
  if (direction == "NE") map([](T a, T b) { return a != b; });
  if (direction == "LT") map([](T a, T b) { return a < b; });
  if (direction == "LE") map([](T a, T b) { return a <= b; });
  if (direction == "GT") map([](T a, T b) { return a > b; });
  if (direction == "GE") map([](T a, T b) { return a >= b; });
}

void InterpretConvert(Evaluation& e) {
  const DType from = e.operand(0).dtype;
  const DType to = e.results[0].dtype;
  if (IsFloat(from) && IsFloat(to)) {
    e.results[0].elements = e.operand(0).elements;
  } else if (IsFloat(from)) {
    MapUnary<std::int64_t, double>(e, [&](double x) { return FloatToInt(to, x); });
  } else if (IsFloat(to)) {
    MapUnary<double, std::int64_t>(e, [](std::int64_t x) { return static_cast<double>(x); });
  } else if (to == DType::kBool) {
    MapUnary<std::int64_t, std::int64_t>(e, [](std::int64_t x) { return x != 0 ? 1 : 0; });
  } else {
    e.results[0].elements = e.operand(0).elements;  // Wrapped afterwards.
  }
}

void InterpretBitcast(Evaluation& e) {
  InterpreterTensor& result = e.results[0];
  result = InterpreterTensor::FromBytes(result.dtype, result.shape, e.operand(0).ToBytes());
}

template <typename T>
void InterpretSelect(Evaluation& e) {
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  const std::vector<std::int64_t>& predicate = ElementsOf<std::int64_t>(e.operand(0));
  const std::vector<T>& on_true = ElementsOf<T>(e.operand(1));
  const std::vector<T>& on_false = ElementsOf<T>(e.operand(2));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = predicate[i] != 0 ? on_true[i] : on_false[i];
}

template <typename T>
void InterpretClamp(Evaluation& e) {
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  const std::vector<T>& low = ElementsOf<T>(e.operand(0));
  const std::vector<T>& x = ElementsOf<T>(e.operand(1));
  const std::vector<T>& high = ElementsOf<T>(e.operand(2));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = MinimumOf(MaximumOf(x[i], low[i]), high[i]);
}

void InterpretNot(Evaluation& e) {
  const bool logical = e.operand(0).dtype == DType::kBool;
  MapUnary<Int, Int>(e, [&](Int x) { return logical ? Int{x == 0} : ~x; });
}

void InterpretShift(Evaluation& e) {
  MapBinary<Int, Int>(e,
                      [&](Int x, Int by) { return Shift(e.node.kind, e.operand(0).dtype, x, by); });
}

// How an op is computed: of one or two elements, or as a whole; monostate: not of that type.
template <typename T>
using Rule = std::variant<std::monostate, T (*)(T), T (*)(T, T), void (*)(Evaluation&)>;

struct Reference {
  OpKind kind;
  Rule<double> of_floats;  // Of the last operand.
  Rule<Int> of_integers;   // And bool.
};

constexpr std::monostate kNone;

// The reference of every pointwise op, one row each.
constexpr Reference kReferences[] = {
    {kAbs, [](double x) { return std::fabs(x); },
     [](Int x) { return x < 0 ? WrapSubtract(0, x) : x; }},
    {kNegate, [](double x) { return -x; }, [](Int x) { return WrapSubtract(0, x); }},
    {kSign, [](double x) { return x > 0   ? 1.0
                                  : x < 0 ? -1.0
                                          : x; },  // NaN and zeros stay.
     [](Int x) { return Int{x > 0} - Int{x < 0}; }},
    {kExponential, [](double x) { return std::exp(x); }, kNone},
    {kExponential2, [](double x) { return std::exp2(x); }, kNone},
    {kExponentialMinusOne, [](double x) { return std::expm1(x); }, kNone},
    {kLog, [](double x) { return std::log(x); }, kNone},
    {kLog2, [](double x) { return std::log2(x); }, kNone},
    {kLogPlusOne, [](double x) { return std::log1p(x); }, kNone},
    {kLogistic, [](double x) { return 1 / (1 + std::exp(-x)); }, kNone},
    {kSqrt, [](double x) { return std::sqrt(x); }, kNone},
    {kRsqrt, [](double x) { return 1 / std::sqrt(x); }, kNone},
    {kSine, [](double x) { return std::sin(x); }, kNone},
    {kCosine, [](double x) { return std::cos(x); }, kNone},
    {kTan, [](double x) { return std::tan(x); }, kNone},
    {kAsin, [](double x) { return std::asin(x); }, kNone},
    {kAcos, [](double x) { return std::acos(x); }, kNone},
    {kAtan, [](double x) { return std::atan(x); }, kNone},
    {kSinh, [](double x) { return std::sinh(x); }, kNone},
    {kCosh, [](double x) { return std::cosh(x); }, kNone},
    {kTanh, [](double x) { return std::tanh(x); }, kNone},
    {kErf, [](double x) { return std::erf(x); }, kNone},
    {kFloor, [](double x) { return std::floor(x); }, kNone},
    {kCeil, [](double x) { return std::ceil(x); }, kNone},
    {kTrunc, [](double x) { return std::trunc(x); }, kNone},
    {kRoundNearestEven, [](double x) { return std::nearbyint(x); }, kNone},
    {kIsFinite,
     [](Evaluation& e) {
       MapUnary<Int, double>(e, [](double x) { return Int{std::isfinite(x)}; });
     },
     kNone},
    {kIsNan,
     [](Evaluation& e) { MapUnary<Int, double>(e, [](double x) { return Int{std::isnan(x)}; }); },
     kNone},
    {kNot, kNone, InterpretNot},
    {kRequire, kNone, [](Int x) { return x; }},
    {kConvert, InterpretConvert, InterpretConvert},
    {kBitcastConvert, InterpretBitcast, InterpretBitcast},
    {kAdd, [](double a, double b) { return a + b; }, [](Int a, Int b) { return WrapAdd(a, b); }},
    {kSubtract, [](double a, double b) { return a - b; }, WrapSubtract},
    {kMultiply, [](double a, double b) { return a * b; },
     [](Int a, Int b) { return WrapMultiply(a, b); }},
    {kDivide, [](double a, double b) { return a / b; }, DivideInt},
    {kRemainder, [](double a, double b) { return std::fmod(a, b); }, RemainderInt},
    {kMaximum, [](double a, double b) { return MaximumOf(a, b); },
     [](Int a, Int b) { return MaximumOf(a, b); }},
    {kMinimum, [](double a, double b) { return MinimumOf(a, b); },
     [](Int a, Int b) { return MinimumOf(a, b); }},
    {kPower, [](double a, double b) { return std::pow(a, b); }, PowerInt},
    {kAtan2, [](double a, double b) { return std::atan2(a, b); }, kNone},
    {kAnd, kNone, [](Int a, Int b) { return a & b; }},
    {kOr, kNone, [](Int a, Int b) { return a | b; }},
    {kXor, kNone, [](Int a, Int b) { return a ^ b; }},
    {kShiftLeft, kNone, InterpretShift},
    {kShiftRightArithmetic, kNone, InterpretShift},
    {kShiftRightLogical, kNone, InterpretShift},
    {kCompare, InterpretCompare<double>, InterpretCompare<Int>},
    {kSelect, InterpretSelect<double>, InterpretSelect<Int>},
    {kClamp, InterpretClamp<double>, InterpretClamp<Int>},
    {kErfc, [](double x) { return std::erfc(x); }, kNone},
    {kLogGamma, LogGamma, kNone},
};

static_assert(HasEveryPointwiseOp(kReferences));

template <typename T>
void Evaluate(const Rule<T>& rule, Evaluation& e) {
  STOKER_CHECK(rule.index() != 0);
  if (const auto* unary = std::get_if<T (*)(T)>(&rule)) {
    MapUnary<T, T>(e, *unary);
  } else if (const auto* binary = std::get_if<T (*)(T, T)>(&rule)) {
    MapBinary<T, T>(e, *binary);
  } else {
    std::get<void (*)(Evaluation&)>(rule)(e);
  }
}

}  // namespace

Status InterpretPointwise(Evaluation& e) {
  const auto* reference = std::ranges::find(kReferences, e.node.kind, &Reference::kind);
  STOKER_CHECK(reference != std::end(kReferences));
  if (IsFloat(e.operands.back()->dtype)) {
    Evaluate(reference->of_floats, e);
  } else {
    Evaluate(reference->of_integers, e);
  }
  return Ok();
}

Status InterpretCreation(Evaluation& e) {
  InterpreterTensor& result = e.results[0];
  if (e.node.kind == OpKind::kConstant) {
    const std::string& bytes = e.node.constant;
    const auto size = static_cast<std::size_t>(SizeInBytes(result.dtype));
    if (bytes.size() > size) {
      result = InterpreterTensor::FromBytes(result.dtype, result.shape, bytes);
    } else if (IsFloat(result.dtype)) {
      ElementsOf<double>(result).assign(ElementsOf<double>(result).size(),
                                        ReadFloatElement(result.dtype, bytes.data()));
    } else {
      ElementsOf<std::int64_t>(result).assign(ElementsOf<std::int64_t>(result).size(),
                                              ReadIntElement(result.dtype, bytes.data()));
    }
    return Ok();
  }
  const Split split = SplitAt(result.shape, e.attributes().Int(AttrName::kDim));
  return ForElementType(result.dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    std::vector<T>& out = ElementsOf<T>(result);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<T>(static_cast<std::int64_t>(i) / split.inner % split.size);
    }
    return Ok();
  });
}

}  // namespace stoker
