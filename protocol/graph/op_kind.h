// OpKind: the operations of a Graph, generated from op_kind.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

enum class OpKind : std::uint16_t {
#define STOKER_OP(kind, name, operands, category) k##kind,
#include "protocol/graph/op_kind.def"
#undef STOKER_OP
};

enum class OpCategory {
  kNullary,
  kUnary,
  kBinary,
  kTernary,
  kShape,
  kReduce,
  kContraction,
  kIndex,
  kComposite,
  kExtern,
};

inline constexpr int kNumOpKinds = 0
#define STOKER_OP(kind, name, operands, category) +1
#include "protocol/graph/op_kind.def"
#undef STOKER_OP
    ;

std::string_view Name(OpKind kind);
std::optional<OpKind> ParseOpKind(std::string_view name);
std::optional<OpKind> OpKindFromCode(std::uint16_t code);
OpCategory CategoryOf(OpKind kind);
int NumOperands(OpKind kind);   // -1: variadic.
bool IsPointwise(OpKind kind);  // Unary, Binary or Ternary.

}  // namespace stoker
