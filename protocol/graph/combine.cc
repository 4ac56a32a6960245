#include "protocol/graph/combine.h"

#include <limits>

#include "protocol/base/check.h"

namespace stoker {
namespace {

struct Range {
  std::int64_t lowest;
  std::int64_t highest;
};

Range RangeOf(DType dtype) {
  if (dtype == DType::kU8) return {0, 255};
  if (dtype == DType::kBool) return {0, 1};
  const int bits = SizeInBytes(dtype) * 8;
  const std::int64_t highest = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return {-highest - 1, highest};
}

}  // namespace

Combine ParseCombine(std::string_view kind) {
  if (kind == "assign") return Combine::kAssign;
  if (kind == "add") return Combine::kAdd;
  if (kind == "multiply") return Combine::kMultiply;
  if (kind == "maximum") return Combine::kMaximum;
  if (kind == "minimum") return Combine::kMinimum;
  if (kind == "and") return Combine::kAnd;
  STOKER_CHECK(kind == "or");
  return Combine::kOr;
}

double FloatIdentity(Combine combine) {
  switch (combine) {
    case Combine::kMultiply:
      return 1;
    case Combine::kMaximum:
      return -std::numeric_limits<double>::infinity();
    case Combine::kMinimum:
      return std::numeric_limits<double>::infinity();
    case Combine::kAssign:
    case Combine::kAdd:
    case Combine::kAnd:
    case Combine::kOr:
      break;
  }
  return 0;
}

std::int64_t IntIdentity(Combine combine, DType dtype) {
  switch (combine) {
    case Combine::kMultiply:
    case Combine::kAnd:
      return 1;
    case Combine::kMaximum:
      return RangeOf(dtype).lowest;
    case Combine::kMinimum:
      return RangeOf(dtype).highest;
    case Combine::kAssign:
    case Combine::kAdd:
    case Combine::kOr:
      break;
  }
  return 0;
}

}  // namespace stoker
