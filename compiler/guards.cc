#include "compiler/guards.h"

#include <algorithm>
#include <map>
#include <string>

#include "protocol/graph/build/conditions.h"

namespace stoker {
namespace {

Guard MakeGuard(GuardKind kind, std::uint32_t input, std::int32_t dim = -1,
                std::int64_t value = 0) {
  Guard guard;
  guard.kind = kind;
  guard.input = input;
  guard.dim = dim;
  guard.value = value;
  return guard;
}

// What a symbol may be, at the dim that binds it.
struct Range {
  std::uint32_t input;
  std::int32_t dim;
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
};
using Ranges = std::map<std::uint32_t, Range>;  // By symbol.

// Makes a range say that `condition` is not negative; false where that is no range of one symbol,
// or one with nothing in it.
bool Narrow(const SymDim& condition, Ranges& ranges) {
  const std::set<std::uint32_t> symbols = condition.Symbols();
  if (symbols.size() != 1) return false;
  const std::uint32_t symbol = *symbols.begin();
  const SymDim start = condition.Substitute({{symbol, 0}});
  const SymDim slope = condition.Substitute({{symbol, 1}}) - start;
  const bool is_line = start.IsConstant() && slope.IsConstant() && slope != SymDim(0) &&
                       SymDim::Symbol(symbol) * slope + start == condition;
  if (!is_line) return false;
  Range& range = ranges.at(symbol);
  Range narrowed = range;
  if (slope.constant() > 0) {
    const SymDim least = SymDim::CeilDiv(start * -1, slope);
    if (!least.IsConstant()) return false;
    narrowed.least = std::max(range.least, least.constant());
  } else {
    const SymDim most = SymDim::FloorDiv(start, slope * -1);
    if (!most.IsConstant()) return false;
    narrowed.most = std::min(range.most, most.constant());
  }
  if (narrowed.least > narrowed.most) return false;
  range = narrowed;
  return true;
}

Status AddConditions(const Graph& graph, Ranges ranges, std::vector<Guard>& guards) {
  std::vector<Guard> others;
  for (const SymDim& condition : ConditionsOf(graph)) {
    if (condition.IsOverflow()) {
      return Unimplemented("A condition of the graph's sizes has more than " +
                           std::to_string(kMaxSymDimSize) + " terms.");
    }
    if (Narrow(condition, ranges)) continue;
    others.push_back(MakeGuard(GuardKind::kNotNegative, 0));
    others.back().expr = condition;
  }
  for (const auto& [symbol, range] : ranges) {
    if (range.least == 0 && range.most == INT64_MAX) continue;
    guards.push_back(MakeGuard(GuardKind::kSizeRange, range.input, range.dim, range.least));
    guards.back().limit = range.most;
  }
  guards.insert(guards.end(), others.begin(), others.end());
  return Ok();
}

}  // namespace

Result<GuardSet> GuardsOf(const Graph& graph) {
  std::vector<Guard> guards;
  Ranges ranges;
  // An expression is checked once all of its symbols are bound.
  std::vector<Guard> expressions;
  for (std::uint32_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i].value);
    guards.push_back(MakeGuard(GuardKind::kDType, i, -1, static_cast<std::int64_t>(type.dtype)));
    guards.push_back(MakeGuard(GuardKind::kRank, i, -1, type.shape.rank()));
    for (int dim = 0; dim < type.shape.rank(); ++dim) {
      const SymDim& size = type.shape[dim];
      if (size.IsConstant()) {
        guards.push_back(MakeGuard(GuardKind::kSizeEquals, i, dim, size.constant()));
        continue;
      }
      const std::optional<std::uint32_t> symbol = size.AsSymbol();
      if (!symbol || ranges.contains(*symbol)) {
        Guard guard = MakeGuard(GuardKind::kSizeExpr, i, dim);
        guard.expr = size;
        expressions.push_back(std::move(guard));
        continue;
      }
      ranges.emplace(*symbol, Range{i, dim});
      guards.push_back(MakeGuard(GuardKind::kBindSymbol, i, dim, *symbol));
    }
    guards.push_back(MakeGuard(GuardKind::kContiguous, i));
  }
  STOKER_CHECK(ranges.size() == graph.num_symbols());  // Each is a dim of some input.
  guards.insert(guards.end(), expressions.begin(), expressions.end());
  STOKER_RETURN_IF_ERROR(AddConditions(graph, std::move(ranges), guards));
  return GuardSet(std::move(guards));
}

}  // namespace stoker
