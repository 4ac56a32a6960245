#include <algorithm>
#include <map>
#include <vector>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

using Dims = std::vector<std::int64_t>;
using Sizes = std::vector<SymDim>;

Shape ShapeOf(const std::vector<Sizes>& split) {
  Sizes sizes;
  for (const Sizes& each : split) sizes.insert(sizes.end(), each.begin(), each.end());
  return Shape(std::move(sizes));
}

// Whether an element's place along these dims does not follow from its place along one that stands
// for them all: an inner one has a size that varies. None has one element.
bool AreInseparable(const Sizes& sizes) {
  return sizes.size() > 1 && std::any_of(sizes.begin() + 1, sizes.end(),
                                         [](const SymDim& size) { return !size.IsConstant(); });
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
  // `calls`: products are a library's, which reads rows in the order in which they lie.
  Operand(const Rewriter& r, ValueId value, bool calls) : source_(value) {
    while (const auto* reshape = r.Find(source_, OpKind::kReshape)) source_ = reshape->operands[0];
    for (const SymDim& size : r.shape(value)) split_.push_back({size});
    auto merged = MergedDims(r.shape(source_), r.shape(value));
    if (!merged) return;
    const bool all = calls && r.Find(source_, OpKind::kTranspose) != nullptr;
    for (std::size_t dim = 0; dim < split_.size(); ++dim) {
      Sizes& sizes = (*merged)[dim];
      std::erase_if(sizes, IsOne);
      if (sizes.size() > 1 && (all || AreInseparable(sizes))) split_[dim] = std::move(sizes);
    }
  }

  Sizes& split(std::int64_t dim) { return split_[static_cast<std::size_t>(dim)]; }
  bool IsSplit() const {
    return std::ranges::any_of(split_, [](const Sizes& sizes) { return sizes.size() > 1; });
  }

  // Of the right operand, whose own dims are the columns: lowering knows one dim of these.
  void KeepTogether(std::int64_t dim, const SymDim& size) { split(dim) = {size}; }
  std::int64_t dims() const { return static_cast<std::int64_t>(split_.size()); }
  Shape shape() const { return ShapeOf(split_); }

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

  ValueId Made(Rewriter& r) const { return r.Reshape(source_, shape()); }

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

class DimSplitter {
 public:
  DimSplitter(Rewriter& rewriter, bool calls) : r_(rewriter), calls_(calls) {}

  std::optional<ValueId> operator()(const Node& node, std::span<const ValueId> operands) {
    if (node.kind == OpKind::kDotGeneral) return Product(node, operands);
    return IsPointwise(node.kind) ? Pointwise(node, operands) : std::nullopt;
  }

 private:
  std::optional<ValueId> Product(const Node& node, std::span<const ValueId> operands);
  std::optional<ValueId> Pointwise(const Node& node, std::span<const ValueId> operands);
  ValueId Split(ValueId value, const std::vector<Sizes>& split);
  ValueId Merged(ValueId value, std::vector<Sizes> split, const TensorType& type);

  Rewriter& r_;
  bool calls_;
  std::map<ValueId, std::vector<Sizes>> merged_;  // What each dim of a result stands for.
};

std::optional<ValueId> DimSplitter::Product(const Node& node, std::span<const ValueId> operands) {
  const Attributes& attributes = node.attributes;
  Operand lhs(r_, operands[0], calls_);
  Operand rhs(r_, operands[1], calls_);
  const auto dims_of = [&](AttrName name) -> const Dims& { return attributes.Ints(name); };
  SplitAlike(lhs, dims_of(AttrName::kLhsBatch), rhs, dims_of(AttrName::kRhsBatch));
  SplitAlike(lhs, dims_of(AttrName::kLhsContract), rhs, dims_of(AttrName::kRhsContract));
  const auto free_dims = [&](const Operand& operand, AttrName batch, AttrName contract) {
    Dims free;
    for (std::int64_t dim = 0; dim < operand.dims(); ++dim) {
      const auto is_in = [&](AttrName name) { return std::ranges::count(dims_of(name), dim) != 0; };
      if (!is_in(batch) && !is_in(contract)) free.push_back(dim);
    }
    return free;
  };
  for (const std::int64_t dim : free_dims(rhs, AttrName::kRhsBatch, AttrName::kRhsContract)) {
    rhs.KeepTogether(dim, r_.shape(operands[1])[static_cast<int>(dim)]);
  }
  if (!lhs.IsSplit() && !rhs.IsSplit()) return std::nullopt;
  Attributes split = attributes;
  std::vector<Sizes> result;
  for (const std::int64_t dim : dims_of(AttrName::kLhsBatch)) result.push_back(lhs.split(dim));
  const auto take = [&](Operand& operand, AttrName batch, AttrName contract) {
    for (const AttrName name : {batch, contract}) split.Set(name, operand.Becomes(dims_of(name)));
    for (const std::int64_t dim : free_dims(operand, batch, contract)) {
      result.push_back(operand.split(dim));
    }
  };
  take(lhs, AttrName::kLhsBatch, AttrName::kLhsContract);
  take(rhs, AttrName::kRhsBatch, AttrName::kRhsContract);
  if (std::max({ShapeOf(result).rank(), lhs.shape().rank(), rhs.shape().rank()}) > kMaxRank) {
    return std::nullopt;
  }
  const ValueId product =
      r_.Add(OpKind::kDotGeneral, {lhs.Made(r_), rhs.Made(r_)}, std::move(split));
  return Merged(product, std::move(result), r_.source().type(node.results[0]));
}

// What follows a product at each of its points has its dims: a bias, an activation.
std::optional<ValueId> DimSplitter::Pointwise(const Node& node, std::span<const ValueId> operands) {
  const TensorType& type = r_.source().type(node.results[0]);
  const auto first =
      std::ranges::find_if(operands, [&](ValueId operand) { return merged_.contains(operand); });
  if (first == operands.end()) return std::nullopt;
  const std::vector<Sizes> split = merged_[*first];
  std::vector<ValueId> parts;
  for (const ValueId operand : operands) {
    if (r_.shape(operand) != type.shape) return std::nullopt;
    parts.push_back(Split(operand, split));
  }
  const ValueId result =
      r_.Add(node.kind, std::move(parts), node.attributes, TensorType{type.dtype, ShapeOf(split)});
  return Merged(result, split, type);
}

ValueId DimSplitter::Split(ValueId value, const std::vector<Sizes>& split) {
  Shape shape = ShapeOf(split);
  if (const auto known = merged_.find(value); known != merged_.end() && known->second == split) {
    return r_.Find(value, OpKind::kReshape)->operands[0];
  }
  if (r_.IsSplat(value)) {
    return r_.Constant({r_.type(value).dtype, std::move(shape)}, r_.Find(value)->constant);
  }
  const auto* broadcast = r_.Find(value, OpKind::kBroadcastInDim);
  if (broadcast == nullptr) return r_.Reshape(value, std::move(shape));
  Dims dims;
  for (const std::int64_t dim : broadcast->attributes.Ints(AttrName::kDims)) {
    const auto place = static_cast<std::size_t>(dim);
    if (split[place].size() != 1) return r_.Reshape(value, std::move(shape));
    std::size_t before = 0;
    for (std::size_t i = 0; i < place; ++i) before += split[i].size();
    dims.push_back(static_cast<std::int64_t>(before));
  }
  return r_.Broadcast(broadcast->operands[0], std::move(dims), std::move(shape));
}

ValueId DimSplitter::Merged(ValueId value, std::vector<Sizes> split, const TensorType& type) {
  const ValueId merged = r_.Reshape(value, type.shape);
  if (merged != value) merged_[merged] = std::move(split);
  return merged;
}

}  // namespace

Result<Graph> SplitProductDims(const Graph& graph, const FusionLimits& limits) {
  const bool calls = limits.products_are_calls;
  const auto may_split = [&](const Node& node) {
    return node.kind == OpKind::kDotGeneral &&
           (calls || std::ranges::any_of(node.operands, [&](ValueId operand) {
              return !graph.type(operand).shape.NumElements().IsConstant();
            }));
  };
  if (std::ranges::none_of(graph.nodes(), may_split)) return graph;
  Rewriter rewriter(graph);
  return rewriter.Run(DimSplitter(rewriter, calls));
}

}  // namespace stoker
