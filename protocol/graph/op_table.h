// What op_kind.def says of each op. Code asks a row; nothing lists kinds of ops again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/dtype.h"
#include "protocol/graph/attribute.h"
#include "protocol/graph/op_kind.h"

namespace stoker {

// How an op can take part in a kernel.
enum class OpRole : std::uint8_t {
  kView,         // Costs nothing: an index map.
  kVirtual,      // Has no memory unless somebody needs its address.
  kPointwise,    // Operands are read at the point of the result.
  kAssemble,     // Operands are read at other points, some not at all.
  kIndexed,      // Reads at data-dependent points.
  kReduce,       // Reads many points for one.
  kContraction,  // The same of products of two operands.
  kAttention,
  kOrdered,    // A kernel of its own, whose work along one dim is ordered.
  kComposite,  // None: it is written in terms of others before there are kernels.
  kExtern,
  kRegion,  // Runs graphs of its own, which are kernels of their own.
};

// What an op gives. The rules of pointwise ops say it all; the others name the function that says
// it (infer.h) and interprets it (interpret.h).
enum class ResultRule : std::uint8_t {
  kSame,    // The type of the last operand.
  kBool,    // The same of bool.
  kHinted,  // The same of the dtype that is asked for.
  kCreation,
  kShape,
  kReduction,
  kContraction,
  kIndexing,
  kRandom,
  kExtern,
  kRegion,
};

// What one element costs: about as much as this operation on it. Who weighs costs says how much
// that is.
enum class OpCost : std::uint8_t {
  kNone,
  kAddition,
  kDivision,
  kExponential,
  kSine,
  kPower,
  kLoop,  // More than one operation.
};
inline constexpr std::size_t kNumOpCosts = 7;

// Sets of dtypes.
enum DTypeSet : std::uint8_t {
  kFloats = 1,
  kSigned = 2,
  kUnsigned = 4,
  kBools = 8,
  kIntegers = kSigned | kUnsigned,
  kSignedNumbers = kFloats | kSigned,
  kNumbers = kFloats | kIntegers,
  kBits = kIntegers | kBools,
  kAnyDType = kNumbers | kBools,
};
bool Contains(DTypeSet set, DType dtype);
std::string ToString(DTypeSet set);  // "float or signed integer".

inline constexpr std::size_t kMaxAttributes = 6;

class AttributeNames {
 public:
  constexpr AttributeNames(std::initializer_list<AttrName> names) {
    for (const AttrName name : names) names_[count_++] = name;
  }
  std::span<const AttrName> names() const { return std::span(names_).first(count_); }

 private:
  std::array<AttrName, kMaxAttributes> names_{};
  std::size_t count_ = 0;
};

struct OpRow {
  std::string_view name;
  int operands;  // -1: variadic.
  OpRole role;
  DTypeSet dtypes;  // Of the operands, those that are data; or of the result of what has none.
  ResultRule result;
  OpCost cost;
  DType f32_in;               // What code computes f32 in: f32, or f64 and rounded once.
  AttributeNames attributes;  // All of them and no others.
};

const OpRow& RowOf(OpKind kind);

inline constexpr std::array<OpRole, kNumOpKinds> kOpRoles = {
#define STOKER_OP(kind, name, operands, role, ...) OpRole::k##role,
#include "protocol/graph/op_kind.def"
#undef STOKER_OP
};

// Whether a table, of rows with an OpKind `kind`, has one row for each pointwise op.
template <typename Table>
constexpr bool HasEveryPointwiseOp(const Table& table) {
  for (int i = 0; i < kNumOpKinds; ++i) {
    int rows = 0;
    for (const auto& row : table) rows += row.kind == static_cast<OpKind>(i) ? 1 : 0;
    const bool is_pointwise = kOpRoles[static_cast<std::size_t>(i)] == OpRole::kPointwise;
    if (rows != (is_pointwise ? 1 : 0)) return false;
  }
  return true;
}

}  // namespace stoker
