#include "client/core/execution/verification.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/base/check.h"

namespace stoker {
namespace {

using Floats = std::vector<double>;
using Integers = std::vector<std::int64_t>;

// One element may be off by so many times the tolerance: rounding adds up in some more than in
// others.
constexpr double kElementFactor = 32;

double ToleranceOfF32(Numerics numerics) {
  switch (numerics) {
    case Numerics::kHighest:
      return 1e-4;
    case Numerics::kHigh:
      return 1e-3;
    case Numerics::kMedium:
      return 4e-2;
  }
  return 0;
}

// Of ‖actual − expected‖ / ‖expected‖.
double ToleranceOf(DType dtype, Numerics numerics) {
  switch (dtype) {
    case DType::kF64:
      return 1e-10;
    case DType::kF32:
      return ToleranceOfF32(numerics);
    case DType::kF16:
      return 5e-3;
    case DType::kBF16:
      return 4e-2;
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 0;
  }
  return 0;
}

// Kernels may take what is smaller for zero.
double SmallestOf(DType dtype) {
  return dtype == DType::kF64 ? std::numeric_limits<double>::min()
                              : std::numeric_limits<float>::min();
}

struct Deviation {
  double whole = 0;       // ‖actual − expected‖ / ‖expected‖.
  double element = 0;     // Largest |actual − expected| / (|expected| + mean |expected|).
  std::size_t place = 0;  // Of that element.
};

Deviation DeviationOf(const Floats& actual, const Floats& expected, double smallest) {
  double squares = 0;
  double sum = 0;
  for (const double e : expected) {
    if (!std::isfinite(e)) continue;
    squares += e * e;
    sum += std::abs(e);
  }
  const double mean = sum / std::max<double>(1, static_cast<double>(expected.size()));
  Deviation deviation;
  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = actual[i];
    const double e = expected[i];
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const bool is_finite = std::isfinite(a) && std::isfinite(e);
    const double off = is_finite ? std::abs(a - e) : INFINITY;
    if (off < smallest) continue;
    difference += off * off;
    const double relative = is_finite ? off / (std::abs(e) + mean) : INFINITY;
    if (relative > deviation.element) {
      deviation.element = relative;
      deviation.place = i;
    }
  }
  if (difference != 0) deviation.whole = squares == 0 ? INFINITY : std::sqrt(difference / squares);
  return deviation;
}

std::string Text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

// Row-major place `i`: "[1,0,2]".
std::string IndexText(const std::vector<std::int64_t>& shape, std::size_t i) {
  auto rest = static_cast<std::int64_t>(i);
  std::string text = "]";
  for (std::size_t d = shape.size(); d-- > 0;) {
    text = (d == 0 ? "" : ",") + std::to_string(rest % shape[d]) + text;
    rest /= shape[d];
  }
  return "[" + text;
}

// What is wrong, and where; nothing if nothing is.
struct Wrong {
  std::size_t place;
  std::string actual, expected, why;
};

std::optional<Wrong> Compare(const Floats& actual, const Floats& expected, DType dtype,
                             Numerics numerics) {
  const Deviation off = DeviationOf(actual, expected, SmallestOf(dtype));
  const double tolerance = ToleranceOf(dtype, numerics);
  std::string why;
  if (off.whole > tolerance) {
    why =
        "the output is off by " + Text(off.whole) + " of its length, more than " + Text(tolerance);
  } else if (off.element > kElementFactor * tolerance) {
    why = "it is off by " + Text(off.element) + " of its size and the mean, more than " +
          Text(kElementFactor * tolerance);
  } else {
    return std::nullopt;
  }
  return Wrong{off.place, Text(actual[off.place]), Text(expected[off.place]), std::move(why)};
}

std::optional<Wrong> Compare(const Integers& actual, const Integers& expected) {
  const auto [a, e] = std::ranges::mismatch(actual, expected);
  if (e == expected.end()) return std::nullopt;
  return Wrong{static_cast<std::size_t>(e - expected.begin()), std::to_string(*a),
               std::to_string(*e), "integers must be equal"};
}

}  // namespace

Status VerifyOutput(std::size_t output, const InterpreterTensor& actual,
                    const InterpreterTensor& expected, Numerics numerics) {
  // As a tensor of the dtype holds it: what is out of range is infinite.
  const InterpreterTensor held =
      InterpreterTensor::FromBytes(expected.dtype, expected.shape, expected.ToBytes());
  STOKER_CHECK(actual.shape == held.shape && actual.elements.index() == held.elements.index());
  const auto* floats = std::get_if<Floats>(&held.elements);
  const std::optional<Wrong> wrong =
      floats != nullptr
          ? Compare(std::get<Floats>(actual.elements), *floats, held.dtype, numerics)
          : Compare(std::get<Integers>(actual.elements), std::get<Integers>(held.elements));
  if (!wrong) return Ok();
  return Internal("Output " + std::to_string(output) + " element " +
                  IndexText(held.shape, wrong->place) + " is " + wrong->actual +
                  ", and the interpreter's " + wrong->expected + ": " + wrong->why + ".");
}

}  // namespace stoker
