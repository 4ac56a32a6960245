#include <algorithm>
#include <vector>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

using Dims = std::vector<std::int64_t>;

bool Contains(const Dims& dims, std::int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// Of an operand's dims, those of the product's points: batch dims first, contracted ones last, and
// in between its own from `free` on.
Dims PointDims(int rank, const Dims& batch, const Dims& contract, std::int64_t free,
               std::int64_t contracted) {
  Dims dims(static_cast<std::size_t>(rank));
  for (std::int64_t i = 0; i < rank; ++i) {
    if (!Contains(batch, i) && !Contains(contract, i)) dims[static_cast<std::size_t>(i)] = free++;
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    dims[static_cast<std::size_t>(batch[i])] = static_cast<std::int64_t>(i);
  }
  for (std::size_t i = 0; i < contract.size(); ++i) {
    dims[static_cast<std::size_t>(contract[i])] = contracted + static_cast<std::int64_t>(i);
  }
  return dims;
}

ValueId Expand(Rewriter& r, const Node& node, std::span<const ValueId> operands) {
  const Attributes& attributes = node.attributes;
  const Dims& batch = attributes.Ints(AttrName::kLhsBatch);
  const Dims& contract = attributes.Ints(AttrName::kLhsContract);
  const Shape lhs = r.shape(operands[0]);
  const Shape rhs = r.shape(operands[1]);
  Shape points = r.source().type(node.results[0]).shape;
  const std::int64_t rank = points.rank();
  std::vector<SymDim> sizes = points.dims();
  for (const std::int64_t dim : contract) sizes.push_back(lhs[static_cast<int>(dim)]);
  points = Shape(std::move(sizes));
  const auto batches = static_cast<std::int64_t>(batch.size());
  const std::int64_t lhs_free = lhs.rank() - batches - static_cast<std::int64_t>(contract.size());
  // A broadcast's dims ascend: what lies otherwise is transposed first.
  const auto spread = [&](ValueId value, const Dims& dims) {
    Dims order(dims.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::ranges::sort(order, {}, [&](std::int64_t i) { return dims[static_cast<std::size_t>(i)]; });
    Dims sorted = dims;
    std::ranges::sort(sorted);
    return r.Broadcast(r.Transpose(value, order), sorted, points);
  };
  const ValueId a = spread(operands[0], PointDims(lhs.rank(), batch, contract, batches, rank));
  const ValueId b = spread(
      operands[1], PointDims(rhs.rank(), attributes.Ints(AttrName::kRhsBatch),
                             attributes.Ints(AttrName::kRhsContract), batches + lhs_free, rank));
  Dims reduced;
  for (std::int64_t dim = rank; dim < points.rank(); ++dim) reduced.push_back(dim);
  const ValueId product = r.Add(OpKind::kMultiply, {a, b});
  if (reduced.empty()) return product;
  return r.Add(OpKind::kReduce, {product},
               {{AttrName::kDims, std::move(reduced)}, {AttrName::kKind, std::string("add")}});
}

}  // namespace

Result<Graph> ExpandProducts(const Graph& graph, const FusionLimits& limits) {
  if (!limits.products_are_calls) return graph;
  Rewriter rewriter(graph);
  return rewriter.Run(
      [&](const Node& node, std::span<const ValueId> operands) -> std::optional<ValueId> {
        const bool is_product = node.kind == OpKind::kDotGeneral;
        if (!is_product || IsFloat(graph.type(node.results[0]).dtype)) return std::nullopt;
        return Expand(rewriter, node, operands);
      });
}

}  // namespace stoker
