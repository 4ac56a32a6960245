#include <algorithm>
#include <vector>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

using Dims = std::vector<std::int64_t>;
using Sizes = std::vector<SymDim>;

bool IsOne(const SymDim& size) { return size == SymDim(1); }

// Whether an element's place along these dims does not follow from its place along one that stands
// for them all: an inner one has a size that varies. None has one element.
bool AreInseparable(const Sizes& sizes) {
  return sizes.size() > 1 && std::any_of(sizes.begin() + 1, sizes.end(), [](const SymDim& size) {
           return !size.IsConstant();
         });
}

// Of each dim of `to` the dims of `from` that it stands for; nothing where one of these is parted.
std::optional<std::vector<Sizes>> MergedDims(const Shape& from, const Shape& to) {
  std::vector<Sizes> merged(to.dims().size());
  std::size_t f = from.dims().size();
  for (std::size_t t = merged.size(); t-- > 0;) {
    SymDim product = 1;
    while (product != to.dims()[t] && f > 0) {
      product = product * from.dims()[--f];
      merged[t].insert(merged[t].begin(), from.dims()[f]);
    }
    if (product != to.dims()[t]) return std::nullopt;
  }
  if (!std::all_of(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(f), IsOne)) {
    return std::nullopt;
  }
  return merged;
}

// An operand of a product: what it is a reshape of, and the sizes that each of its dims becomes.
class Operand {
 public:
  Operand(const Rewriter& r, ValueId value) : source_(value) {
    while (const auto* reshape = r.Find(source_, OpKind::kReshape)) source_ = reshape->operands[0];
    for (const SymDim& size : r.shape(value)) split_.push_back({size});
    auto merged = MergedDims(r.shape(source_), r.shape(value));
    if (!merged) return;
    for (std::size_t dim = 0; dim < split_.size(); ++dim) {
      Sizes& sizes = (*merged)[dim];
      std::erase_if(sizes, IsOne);
      if (AreInseparable(sizes)) split_[dim] = std::move(sizes);
    }
  }

  Sizes& split(std::int64_t dim) { return split_[static_cast<std::size_t>(dim)]; }
  bool IsSplit() const {
    return std::ranges::any_of(split_, [](const Sizes& sizes) { return sizes.size() > 1; });
  }

  std::size_t Rank() const {
    std::size_t rank = 0;
    for (const Sizes& sizes : split_) rank += sizes.size();
    return rank;
  }

  // Dims of the new operand that this one becomes.
  Dims Becomes(const Dims& dims) const {
    Dims becomes;
    for (const std::int64_t dim : dims) {
      std::int64_t first = 0;
      for (std::int64_t i = 0; i < dim; ++i) first += Count(i);
      for (std::int64_t i = 0; i < Count(dim); ++i) becomes.push_back(first + i);
    }
    return becomes;
  }

  ValueId Made(Rewriter& r) const {
    Sizes sizes;
    for (const Sizes& each : split_) sizes.insert(sizes.end(), each.begin(), each.end());
    return r.Reshape(source_, Shape(std::move(sizes)));
  }

 private:
  std::int64_t Count(std::int64_t dim) const {
    return static_cast<std::int64_t>(split_[static_cast<std::size_t>(dim)].size());
  }

  ValueId source_;
  std::vector<Sizes> split_;
};

// Dims that both operands have are split alike, or not at all.
void SplitAlike(Operand& lhs, const Dims& lhs_dims, Operand& rhs, const Dims& rhs_dims) {
  for (std::size_t i = 0; i < lhs_dims.size(); ++i) {
    Sizes& a = lhs.split(lhs_dims[i]);
    Sizes& b = rhs.split(rhs_dims[i]);
    if (a.size() == 1) {
      a = b;
    } else if (b.size() == 1) {
      b = a;
    } else if (a != b) {
      SymDim all = 1;
      for (const SymDim& size : a) all = all * size;
      a = b = {all};
    }
  }
}

std::optional<ValueId> Split(Rewriter& r, const Node& node, std::span<const ValueId> operands) {
  const Attributes& attributes = node.attributes;
  Operand lhs(r, operands[0]);
  Operand rhs(r, operands[1]);
  const auto dims_of = [&](AttrName name) -> const Dims& { return attributes.Ints(name); };
  SplitAlike(lhs, dims_of(AttrName::kLhsBatch), rhs, dims_of(AttrName::kRhsBatch));
  SplitAlike(lhs, dims_of(AttrName::kLhsContract), rhs, dims_of(AttrName::kRhsContract));
  if (!lhs.IsSplit() && !rhs.IsSplit()) return std::nullopt;
  Attributes split = attributes;
  for (const AttrName name : {AttrName::kLhsBatch, AttrName::kLhsContract}) {
    split.Set(name, lhs.Becomes(dims_of(name)));
  }
  for (const AttrName name : {AttrName::kRhsBatch, AttrName::kRhsContract}) {
    split.Set(name, rhs.Becomes(dims_of(name)));
  }
  const std::size_t shared = split.Ints(AttrName::kLhsBatch).size();
  const std::size_t gone = split.Ints(AttrName::kLhsContract).size();
  const std::size_t rank = lhs.Rank() + rhs.Rank() - shared - 2 * gone;
  if (std::max({lhs.Rank(), rhs.Rank(), rank}) > kMaxRank) return std::nullopt;
  const TensorType& type = r.source().type(node.results[0]);
  const ValueId product = r.Add(OpKind::kDotGeneral, {lhs.Made(r), rhs.Made(r)}, std::move(split));
  return r.Reshape(product, type.shape);
}

}  // namespace

Result<Graph> SplitProductDims(const Graph& graph) {
  const auto varies = [&](const Node& node) {
    return node.kind == OpKind::kDotGeneral &&
           std::ranges::any_of(node.operands, [&](ValueId operand) {
             return !graph.type(operand).shape.NumElements().IsConstant();
           });
  };
  if (!std::ranges::any_of(graph.nodes(), varies)) return graph;
  Rewriter rewriter(graph);
  return rewriter.Run(
      [&](const Node& node, std::span<const ValueId> operands) -> std::optional<ValueId> {
        if (node.kind != OpKind::kDotGeneral) return std::nullopt;
        return Split(rewriter, node, operands);
      });
}

}  // namespace stoker
