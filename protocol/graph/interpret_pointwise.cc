#include <cmath>
#include <limits>

#include "protocol/graph/combine.h"
#include "protocol/graph/elements.h"
#include "protocol/graph/interpret.h"

namespace stoker {
namespace {

using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);
using IntUnary = std::int64_t (*)(std::int64_t);
using IntBinary = std::int64_t (*)(std::int64_t, std::int64_t);

double Sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }  // NaN and zeros stay.
double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

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

// nullptr: not an op on floats.
FloatUnary FloatUnaryOf(OpKind kind) {
  if (kind == OpKind::kAbs) return [](double x) { return std::fabs(x); };
  if (kind == OpKind::kNegate) return [](double x) { return -x; };
  if (kind == OpKind::kSign) return Sign;
  if (kind == OpKind::kExponential) return [](double x) { return std::exp(x); };
  if (kind == OpKind::kExponential2) return [](double x) { return std::exp2(x); };
  if (kind == OpKind::kExponentialMinusOne) return [](double x) { return std::expm1(x); };
  if (kind == OpKind::kLog) return [](double x) { return std::log(x); };
  if (kind == OpKind::kLog2) return [](double x) { return std::log2(x); };
  if (kind == OpKind::kLogPlusOne) return [](double x) { return std::log1p(x); };
  if (kind == OpKind::kLogistic) return Logistic;
  if (kind == OpKind::kSqrt) return [](double x) { return std::sqrt(x); };
  if (kind == OpKind::kRsqrt) return [](double x) { return 1 / std::sqrt(x); };
  if (kind == OpKind::kSine) return [](double x) { return std::sin(x); };
  if (kind == OpKind::kCosine) return [](double x) { return std::cos(x); };
  if (kind == OpKind::kTan) return [](double x) { return std::tan(x); };
  if (kind == OpKind::kAsin) return [](double x) { return std::asin(x); };
  if (kind == OpKind::kAcos) return [](double x) { return std::acos(x); };
  if (kind == OpKind::kAtan) return [](double x) { return std::atan(x); };
  if (kind == OpKind::kSinh) return [](double x) { return std::sinh(x); };
  if (kind == OpKind::kCosh) return [](double x) { return std::cosh(x); };
  if (kind == OpKind::kTanh) return [](double x) { return std::tanh(x); };
  if (kind == OpKind::kErf) return [](double x) { return std::erf(x); };
  if (kind == OpKind::kFloor) return [](double x) { return std::floor(x); };
  if (kind == OpKind::kCeil) return [](double x) { return std::ceil(x); };
  if (kind == OpKind::kTrunc) return [](double x) { return std::trunc(x); };
  if (kind == OpKind::kRoundNearestEven) return [](double x) { return std::nearbyint(x); };
  return nullptr;
}

IntUnary IntUnaryOf(OpKind kind) {
  if (kind == OpKind::kAbs) return [](std::int64_t x) { return x < 0 ? WrapSubtract(0, x) : x; };
  if (kind == OpKind::kNegate) return [](std::int64_t x) { return WrapSubtract(0, x); };
  if (kind == OpKind::kSign) {
    return [](std::int64_t x) { return std::int64_t{x > 0} - std::int64_t{x < 0}; };
  }
  return nullptr;
}

FloatBinary FloatBinaryOf(OpKind kind) {
  if (kind == OpKind::kAdd) return [](double a, double b) { return a + b; };
  if (kind == OpKind::kSubtract) return [](double a, double b) { return a - b; };
  if (kind == OpKind::kMultiply) return [](double a, double b) { return a * b; };
  if (kind == OpKind::kDivide) return [](double a, double b) { return a / b; };
  if (kind == OpKind::kRemainder) return [](double a, double b) { return std::fmod(a, b); };
  if (kind == OpKind::kMaximum) return MaximumOf;
  if (kind == OpKind::kMinimum) return MinimumOf;
  if (kind == OpKind::kPower) return [](double a, double b) { return std::pow(a, b); };
  if (kind == OpKind::kAtan2) return [](double a, double b) { return std::atan2(a, b); };
  return nullptr;
}

IntBinary IntBinaryOf(OpKind kind) {
  if (kind == OpKind::kAdd) return WrapAdd;
  if (kind == OpKind::kSubtract) return WrapSubtract;
  if (kind == OpKind::kMultiply) return WrapMultiply;
  if (kind == OpKind::kDivide) return DivideInt;
  if (kind == OpKind::kRemainder) return RemainderInt;
  if (kind == OpKind::kMaximum) return MaximumOf;
  if (kind == OpKind::kMinimum) return MinimumOf;
  if (kind == OpKind::kPower) return PowerInt;
  if (kind == OpKind::kAnd) return [](std::int64_t a, std::int64_t b) { return a & b; };
  if (kind == OpKind::kOr) return [](std::int64_t a, std::int64_t b) { return a | b; };
  if (kind == OpKind::kXor) return [](std::int64_t a, std::int64_t b) { return a ^ b; };
  return nullptr;
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
void InterpretTernary(Evaluation& e) {
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  const std::vector<T>& b = ElementsOf<T>(e.operand(1));
  const std::vector<T>& c = ElementsOf<T>(e.operand(2));
  if (e.node.kind == OpKind::kSelect) {
    const std::vector<std::int64_t>& predicate = ElementsOf<std::int64_t>(e.operand(0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = predicate[i] != 0 ? b[i] : c[i];
  } else {
    const std::vector<T>& low = ElementsOf<T>(e.operand(0));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = MinimumOf(MaximumOf(b[i], low[i]), c[i]);
  }
}

void InterpretFloat(Evaluation& e) {
  const OpKind kind = e.node.kind;
  if (kind == OpKind::kIsFinite) {
    MapUnary<std::int64_t, double>(e, [](double x) { return std::isfinite(x) ? 1 : 0; });
  } else if (kind == OpKind::kIsNan) {
    MapUnary<std::int64_t, double>(e, [](double x) { return std::isnan(x) ? 1 : 0; });
  } else if (const FloatUnary unary = FloatUnaryOf(kind)) {
    MapUnary<double, double>(e, unary);
  } else {
    const FloatBinary binary = FloatBinaryOf(kind);
    STOKER_CHECK(binary != nullptr);
    MapBinary<double, double>(e, binary);
  }
}

void InterpretInt(Evaluation& e) {
  const OpKind kind = e.node.kind;
  const DType dtype = e.operand(0).dtype;
  if (kind == OpKind::kNot) {
    const bool logical = dtype == DType::kBool;
    MapUnary<std::int64_t, std::int64_t>(
        e, [&](std::int64_t x) { return logical ? std::int64_t{x == 0} : ~x; });
  } else if (kind == OpKind::kShiftLeft || kind == OpKind::kShiftRightArithmetic ||
             kind == OpKind::kShiftRightLogical) {
    MapBinary<std::int64_t, std::int64_t>(
        e, [&](std::int64_t x, std::int64_t by) { return Shift(kind, dtype, x, by); });
  } else if (const IntUnary unary = IntUnaryOf(kind)) {
    MapUnary<std::int64_t, std::int64_t>(e, unary);
  } else {
    const IntBinary binary = IntBinaryOf(kind);
    STOKER_CHECK(binary != nullptr);
    MapBinary<std::int64_t, std::int64_t>(e, binary);
  }
}

}  // namespace

Status InterpretPointwise(Evaluation& e) {
  const OpKind kind = e.node.kind;
  const bool floats = IsFloat(e.operand(0).dtype);
  if (kind == OpKind::kConvert) {
    InterpretConvert(e);
  } else if (kind == OpKind::kBitcastConvert) {
    InterpretBitcast(e);
  } else if (kind == OpKind::kCompare) {
    floats ? InterpretCompare<double>(e) : InterpretCompare<std::int64_t>(e);
  } else if (CategoryOf(kind) == OpCategory::kTernary) {
    IsFloat(e.results[0].dtype) ? InterpretTernary<double>(e) : InterpretTernary<std::int64_t>(e);
  } else {
    floats ? InterpretFloat(e) : InterpretInt(e);
  }
  return Ok();
}

Status InterpretNullary(Evaluation& e) {
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
