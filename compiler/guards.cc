#include "compiler/guards.h"

#include <set>
#include <string>

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

}  // namespace

Result<GuardSet> GuardsOf(const Graph& graph, const ShapeSignature& signature) {
  std::vector<Guard> guards;
  std::set<std::uint32_t> bound;
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
      if (!symbol || bound.contains(*symbol)) {
        Guard guard = MakeGuard(GuardKind::kSizeExpr, i, dim);
        guard.expr = size;
        expressions.push_back(std::move(guard));
        continue;
      }
      bound.insert(*symbol);
      guards.push_back(MakeGuard(GuardKind::kBindSymbol, i, dim, *symbol));
      for (const SymbolFact& fact : signature.symbols) {
        if (fact.symbol != *symbol) continue;
        if (fact.min > 0 || fact.max < INT64_MAX) {
          guards.push_back(MakeGuard(GuardKind::kSizeRange, i, dim, fact.min));
          guards.back().limit = fact.max;
        }
        if (fact.divisible_by > 1) {
          guards.push_back(MakeGuard(GuardKind::kDivisible, i, dim, fact.divisible_by));
        }
      }
    }
    guards.push_back(MakeGuard(GuardKind::kContiguous, i));
    if (i < signature.inputs.size() && signature.inputs[i].alignment_bytes > 1) {
      guards.push_back(MakeGuard(GuardKind::kAligned, i, -1, signature.inputs[i].alignment_bytes));
    }
  }
  for (std::uint32_t symbol = 0; symbol < graph.num_symbols(); ++symbol) {
    if (!bound.contains(symbol)) {
      return Unimplemented("Symbol s" + std::to_string(symbol) +
                           " is not the size of any dim of an input.");
    }
  }
  guards.insert(guards.end(), expressions.begin(), expressions.end());
  return GuardSet(std::move(guards));
}

}  // namespace stoker
