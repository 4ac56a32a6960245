// OpKind: the operations of a Graph, generated from op_kind.def. What else a row says: op_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

enum class OpKind : std::uint16_t {
#define STOKER_OP(kind, ...) k##kind,
#include "protocol/graph/op_kind.def"
#undef STOKER_OP
};

inline constexpr int kNumOpKinds = 0
#define STOKER_OP(...) +1
#include "protocol/graph/op_kind.def"
#undef STOKER_OP
    ;

std::string_view Name(OpKind kind);
std::optional<OpKind> ParseOpKind(std::string_view name);
std::optional<OpKind> OpKindFromCode(std::uint16_t code);
int NumOperands(OpKind kind);  // -1: variadic.
bool IsPointwise(OpKind kind);
bool IsView(OpKind kind);  // Every element is one element of the operand.

}  // namespace stoker
