#include "protocol/key/compile_options.h"

#include <algorithm>
#include <array>

namespace stoker {
namespace {

constexpr std::array<std::string_view, 3> kNumericsNames = {"highest", "high", "medium"};

bool MultipliesF32(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return node.kind == OpKind::kDotGeneral && graph.type(node.results[0]).dtype == DType::kF32;
  });
}

}  // namespace

std::string_view Name(Numerics numerics) {
  return kNumericsNames.at(static_cast<std::size_t>(numerics));
}

std::optional<Numerics> ParseNumerics(std::string_view name) {
  const auto at = std::ranges::find(kNumericsNames, name);
  if (at == kNumericsNames.end()) return std::nullopt;
  return static_cast<Numerics>(at - kNumericsNames.begin());
}

std::optional<Numerics> NumericsFromCode(std::uint32_t code) {
  if (code >= kNumericsNames.size()) return std::nullopt;
  return static_cast<Numerics>(code);
}

bool ReadsNumerics(const Graph& graph, const Target& target) {
  const bool may_lose = target.kind() == TargetKind::kCuda || target.Has("amx_bf16");
  return may_lose && MultipliesF32(graph);
}

CompileOptions Canonical(CompileOptions options, const Graph& graph, const Target& target) {
  if (!ReadsNumerics(graph, target)) options.numerics = Numerics::kHighest;
  return options;
}

}  // namespace stoker
