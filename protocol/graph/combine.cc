#include "protocol/graph/combine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "protocol/base/check.h"
#include "protocol/graph/reference_arithmetic.h"

namespace stoker {
namespace {

using enum OpKind;

constexpr std::size_t kMaxOps = 5;  // All that have the attribute.

enum class Rounding : std::uint8_t { kExact, kRounds };

struct Row {
  std::string_view name;
  DTypeSet dtypes;
  Rounding rounding;
  std::size_t num_ops;
  std::array<OpKind, kMaxOps> ops;
};

constexpr std::array<Row, kNumCombines> kRows = {{
#define STOKER_COMBINE(combine, name, dtypes, rounding, ...) \
  {name,                                                     \
   DTypeSet::k##dtypes,                                      \
   Rounding::k##rounding,                                    \
   std::initializer_list<OpKind>{__VA_ARGS__}.size(),        \
   {__VA_ARGS__}},
#include "protocol/graph/combine.def"
#undef STOKER_COMBINE
}};

const Row& RowOf(Combine combine) { return kRows[static_cast<std::size_t>(combine)]; }

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t Highest(DType dtype) {
  if (dtype == DType::kU8) return 255;
  if (dtype == DType::kBool) return 1;
  return std::numeric_limits<std::int64_t>::max() >> (64 - SizeInBytes(dtype) * 8);
}
std::int64_t Lowest(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kBool ? 0 : -Highest(dtype) - 1;
}

// How the interpreter computes it; nullptr: not of integers, or not of floats.
struct Reference {
  Combine combine;
  double (*of_floats)(double, double);
  std::int64_t (*of_integers)(std::int64_t, std::int64_t);
  double identity;
  std::int64_t (*integer_identity)(DType);
};

using Integer = std::int64_t;

constexpr Reference kReferences[] = {
    {Combine::kAssign, [](double, double b) { return b; }, [](Integer, Integer b) { return b; }, 0,
     [](DType) { return Integer{0}; }},
    {Combine::kAdd, [](double a, double b) { return a + b; }, WrapAdd, 0,
     [](DType) { return Integer{0}; }},
    {Combine::kMultiply, [](double a, double b) { return a * b; }, WrapMultiply, 1,
     [](DType) { return Integer{1}; }},
    {Combine::kMaximum, MaximumOf, MaximumOf, -kInfinity, Lowest},
    {Combine::kMinimum, MinimumOf, MinimumOf, kInfinity, Highest},
    {Combine::kAnd, nullptr, [](Integer a, Integer b) { return a & b; }, 0,
     [](DType) { return Integer{1}; }},
    {Combine::kOr, nullptr, [](Integer a, Integer b) { return a | b; }, 0,
     [](DType) { return Integer{0}; }},
    {Combine::kLogAddExp,
     [](double a, double b) {
       if (a == b) return a + std::log(2.0);  // Equal infinities have no distance.
       return MaximumOf(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
     },
     nullptr, -kInfinity, nullptr},
};

constexpr bool IsInOrder() {
  for (int i = 0; i < kNumCombines; ++i) {
    if (kReferences[i].combine != static_cast<Combine>(i)) return false;
  }
  return std::size(kReferences) == kNumCombines;
}
static_assert(IsInOrder(), "Every row of combine.def has a reference, in its order.");

const Reference& ReferenceOf(Combine combine) {
  return kReferences[static_cast<std::size_t>(combine)];
}

}  // namespace

std::string_view Name(Combine combine) { return RowOf(combine).name; }
DTypeSet DTypesOf(Combine combine) { return RowOf(combine).dtypes; }
bool Rounds(Combine combine) { return RowOf(combine).rounding == Rounding::kRounds; }

bool Has(OpKind op, Combine combine) {
  const Row& row = RowOf(combine);
  const auto end = row.ops.begin() + static_cast<std::ptrdiff_t>(row.num_ops);
  return std::find(row.ops.begin(), end, op) != end;
}

std::vector<Combine> CombinesOf(OpKind op) {
  std::vector<Combine> combines;
  for (int i = 0; i < kNumCombines; ++i) {
    if (Has(op, static_cast<Combine>(i))) combines.push_back(static_cast<Combine>(i));
  }
  return combines;
}

Combine CombineOf(const Attributes& attributes) {
  const auto row = std::ranges::find(kRows, attributes.String(AttrName::kKind), &Row::name);
  STOKER_CHECK(row != kRows.end());
  return static_cast<Combine>(row - kRows.begin());
}

double Apply(Combine combine, double a, double b) { return ReferenceOf(combine).of_floats(a, b); }
std::int64_t Apply(Combine combine, std::int64_t a, std::int64_t b) {
  return ReferenceOf(combine).of_integers(a, b);
}

double FloatIdentity(Combine combine) { return ReferenceOf(combine).identity; }
std::int64_t IntIdentity(Combine combine, DType dtype) {
  return ReferenceOf(combine).integer_identity(dtype);
}

}  // namespace stoker
