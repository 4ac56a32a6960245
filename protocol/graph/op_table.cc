#include "protocol/graph/op_table.h"

namespace stoker {
namespace {

using enum AttrName;

constexpr std::array<OpRow, kNumOpKinds> kRows = {{
#define STOKER_OP(kind, name, operands, role, dtypes, result, cost, f32_in, ...) \
  {name,                                                                         \
   operands,                                                                     \
   OpRole::k##role,                                                              \
   DTypeSet::k##dtypes,                                                          \
   ResultRule::k##result,                                                        \
   OpCost::k##cost,                                                              \
   DType::k##f32_in,                                                             \
   {__VA_ARGS__}},
#include "protocol/graph/op_kind.def"
#undef STOKER_OP
}};

DTypeSet SetOf(DType dtype) {
  if (IsFloat(dtype)) return kFloats;
  if (dtype == DType::kBool) return kBools;
  return dtype == DType::kU8 ? kUnsigned : kSigned;
}

}  // namespace

const OpRow& RowOf(OpKind kind) { return kRows[static_cast<std::size_t>(kind)]; }

bool Contains(DTypeSet set, DType dtype) { return (set & SetOf(dtype)) != 0; }

std::string ToString(DTypeSet set) {
  std::string out;
  const auto add = [&](std::string_view word) {
    if (!out.empty()) out += " or ";
    out += word;
  };
  if (set & kFloats) add("float");
  if ((set & kIntegers) == kIntegers) {
    add("integer");
  } else if (set & kSigned) {
    add("signed integer");
  }
  if (set & kBools) add("bool");
  return out;
}

}  // namespace stoker
