#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

std::int64_t PartsOf(std::int64_t count, const FusionLimits& limits) {
  for (std::int64_t parts = limits.max_reduction_parts; parts >= limits.min_reduction_parts;
       --parts) {
    if (count % parts == 0) return parts;
  }
  return 1;
}

}  // namespace

Result<Graph> SplitReductions(const Graph& graph, const FusionLimits& limits) {
  Rewriter rewriter(graph);
  return rewriter.Run(
      [&](const Node& node, std::span<const ValueId> operands) -> std::optional<ValueId> {
        if (node.kind != OpKind::kReduce) return std::nullopt;
        const TensorType& type = graph.type(node.results[0]);
        const Shape shape = rewriter.shape(operands[0]);
        if (!shape.IsStatic() || ElementCount(type.shape) != 1) return std::nullopt;
        const std::int64_t count = ElementCount(shape);
        const std::int64_t parts = PartsOf(count, limits);
        if (count < limits.min_split_reduction || parts == 1) return std::nullopt;
        const std::string kind = node.attributes.String(AttrName::kKind);
        // Partial sums of 16-bit floats are kept in f32.
        const bool is_narrow = type.dtype == DType::kF16 || type.dtype == DType::kBF16;
        const DType wide = is_narrow ? DType::kF32 : type.dtype;
        const auto convert = [&](ValueId value, DType dtype) {
          if (rewriter.type(value).dtype == dtype) return value;
          const Shape same = rewriter.shape(value);
          return rewriter.Add(OpKind::kConvert, {value}, {}, TensorType{dtype, same});
        };
        const auto reduce = [&](ValueId value, std::vector<std::int64_t> dims) {
          return rewriter.Add(OpKind::kReduce, {value},
                              {{AttrName::kDims, std::move(dims)}, {AttrName::kKind, kind}});
        };
        const ValueId rows =
            rewriter.Reshape(convert(operands[0], wide), Shape({parts, count / parts}));
        const ValueId total = reduce(reduce(rows, {1}), {0});
        return rewriter.Reshape(convert(total, type.dtype), type.shape);
      });
}

}  // namespace stoker
