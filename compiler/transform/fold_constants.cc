#include <algorithm>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"
#include "protocol/graph/interpret/interpreter.h"
#include "protocol/graph/op_table.h"

namespace stoker {
namespace {

// The elements of a node whose operands are constants of the given types.
std::optional<std::string> Compute(const Rewriter& rewriter, const Node& node,
                                   std::span<const ValueId> operands,
                                   std::span<const TensorType> types, const TensorType& result) {
  GraphBuilder builder("fold");
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values.push_back(builder.Constant(types[i], rewriter.Find(operands[i])->constant));
  }
  const ValueId output = builder.Add(node.kind, values, node.attributes, result);
  const Result<Graph> graph = builder.Build(std::span(&output, 1));
  if (!graph.ok()) return std::nullopt;
  const Result<std::vector<InterpreterTensor>> tensors = Interpret(*graph, {}, {true});
  if (!tensors.ok()) return std::nullopt;
  return tensors->front().ToBytes();
}

}  // namespace

Result<Graph> FoldConstants(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter.Run([&](const Node& node,
                          std::span<const ValueId> operands) -> std::optional<ValueId> {
    const TensorType& type = graph.type(node.results[0]);
    if (operands.empty() || node.kind == OpKind::kExternCall) return std::nullopt;
    if (RowOf(node.kind).role == OpRole::kRegion) return std::nullopt;  // It may take any time.
    if (!std::all_of(operands.begin(), operands.end(),
                     [&](ValueId operand) { return rewriter.IsConstant(operand); })) {
      return std::nullopt;
    }
    const bool all_splats = std::all_of(operands.begin(), operands.end(),
                                        [&](ValueId operand) { return rewriter.IsSplat(operand); });
    if (all_splats && IsView(node.kind)) {
      return rewriter.Constant(type, rewriter.Find(operands[0])->constant);
    }
    std::vector<TensorType> types;
    TensorType result = type;
    if (all_splats && IsPointwise(node.kind)) {
      for (const ValueId operand : operands) types.push_back({rewriter.type(operand).dtype, {}});
      result.shape = {};
    } else {
      for (const ValueId operand : operands) types.push_back(rewriter.type(operand));
      const auto is_small = [](const TensorType& t) {
        return t.shape.IsStatic() && ElementCount(t.shape) <= kMaxFoldedElements;
      };
      if (!is_small(type) || !std::all_of(types.begin(), types.end(), is_small)) {
        return std::nullopt;
      }
    }
    std::optional<std::string> bytes = Compute(rewriter, node, operands, types, result);
    if (!bytes) return std::nullopt;
    return rewriter.Constant(type, *std::move(bytes));
  });
}

}  // namespace stoker
