#include "protocol/graph/op_kind.h"

#include <array>
#include <string>
#include <unordered_map>

namespace stoker {
namespace {

struct Row {
  std::string_view name;
  int operands;
  OpCategory category;
};

constexpr std::array<Row, kNumOpKinds> kRows = {{
#define STOKER_OP(kind, name, operands, category) {name, operands, OpCategory::k##category},
#include "protocol/graph/op_kind.def"
#undef STOKER_OP
}};

const Row& RowOf(OpKind kind) { return kRows[static_cast<std::size_t>(kind)]; }

std::unordered_map<std::string_view, OpKind> MakeNames() {
  std::unordered_map<std::string_view, OpKind> names;
  for (std::uint16_t i = 0; i < kNumOpKinds; ++i) {
    names.emplace(kRows[i].name, static_cast<OpKind>(i));
  }
  return names;
}

}  // namespace

std::string_view Name(OpKind kind) { return RowOf(kind).name; }
OpCategory CategoryOf(OpKind kind) { return RowOf(kind).category; }
int NumOperands(OpKind kind) { return RowOf(kind).operands; }

std::optional<OpKind> ParseOpKind(std::string_view name) {
  static const std::unordered_map<std::string_view, OpKind> names = MakeNames();
  const auto found = names.find(name);
  if (found == names.end()) return std::nullopt;
  return found->second;
}

std::optional<OpKind> OpKindFromCode(std::uint16_t code) {
  if (code >= kNumOpKinds) return std::nullopt;
  return static_cast<OpKind>(code);
}

bool IsPointwise(OpKind kind) {
  const OpCategory category = CategoryOf(kind);
  return category == OpCategory::kUnary || category == OpCategory::kBinary ||
         category == OpCategory::kTernary;
}

}  // namespace stoker
