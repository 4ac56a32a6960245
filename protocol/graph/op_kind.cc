#include "protocol/graph/op_kind.h"

#include <unordered_map>

#include "protocol/graph/op_table.h"

namespace stoker {

std::string_view Name(OpKind kind) { return RowOf(kind).name; }
int NumOperands(OpKind kind) { return RowOf(kind).operands; }
bool IsPointwise(OpKind kind) { return RowOf(kind).role == OpRole::kPointwise; }
bool IsView(OpKind kind) { return RowOf(kind).role == OpRole::kView; }

std::optional<OpKind> ParseOpKind(std::string_view name) {
  static const auto* names = [] {
    auto* made = new std::unordered_map<std::string_view, OpKind>;
    for (std::uint16_t i = 0; i < kNumOpKinds; ++i) {
      made->emplace(Name(static_cast<OpKind>(i)), static_cast<OpKind>(i));
    }
    return made;
  }();
  const auto found = names->find(name);
  if (found == names->end()) return std::nullopt;
  return found->second;
}

std::optional<OpKind> OpKindFromCode(std::uint16_t code) {
  if (code >= kNumOpKinds) return std::nullopt;
  return static_cast<OpKind>(code);
}

}  // namespace stoker
