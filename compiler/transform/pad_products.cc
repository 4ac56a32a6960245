#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

using Dims = std::vector<std::int64_t>;

// Of what has no known size.
constexpr double kTypicalExtent = 512;

double Elements(const Shape& shape) {
  double elements = 1;
  for (const SymDim& size : shape) {
    elements *= size.IsConstant() ? static_cast<double>(size.constant()) : kTypicalExtent;
  }
  return elements;
}

std::optional<std::int64_t> PlaceIn(const Dims& dims, std::int64_t dim) {
  const auto found = std::ranges::find(dims, dim);
  if (found == dims.end()) return std::nullopt;
  return found - dims.begin();
}

// A factor of a product, without a transpose before it.
class Factor {
 public:
  Factor(Rewriter& r, ValueId value) : r_(r), source_(value), shape_(r.shape(value)) {
    for (std::int64_t dim = 0; dim < shape_.rank(); ++dim) order_.push_back(dim);
    if (const auto* transpose = r.Find(value, OpKind::kTranspose)) {
      source_ = transpose->operands[0];
      order_ = transpose->attributes.Ints(AttrName::kDims);
    }
    high_.resize(order_.size(), 0);
  }

  const Shape& shape() const { return shape_; }
  // Along which neighbours lie.
  std::int64_t LyingDim() const { return *PlaceIn(order_, shape_.rank() - 1); }

  void Pad(std::int64_t dim, std::int64_t high) { high_[static_cast<std::size_t>(dim)] = high; }
  bool IsPadded() const {
    return std::ranges::any_of(high_, [](std::int64_t high) { return high != 0; });
  }

  ValueId Made() const {
    Dims high(order_.size());
    for (std::size_t dim = 0; dim < order_.size(); ++dim) {
      high[static_cast<std::size_t>(order_[dim])] = high_[dim];
    }
    const Dims none(order_.size(), 0);
    const ValueId zero = r_.Scalar({r_.type(source_).dtype, Shape()}, 0);
    const ValueId padded =
        r_.Add(OpKind::kPad, {source_, zero},
               {{AttrName::kLow, none}, {AttrName::kHigh, high}, {AttrName::kInterior, none}});
    return std::ranges::is_sorted(order_) ? padded : r_.Transpose(padded, order_);
  }

 private:
  Rewriter& r_;
  ValueId source_;
  Shape shape_;
  Dims order_;  // Dims of the source.
  Dims high_;
};

class ProductPadder {
 public:
  ProductPadder(Rewriter& rewriter, const FusionLimits& limits) : r_(rewriter), limits_(limits) {}

  std::optional<ValueId> operator()(const Node& node, std::span<const ValueId> operands) {
    if (node.kind != OpKind::kDotGeneral) return std::nullopt;
    const TensorType& type = r_.source().type(node.results[0]);
    if (!IsFloat(type.dtype) || SizeInBytes(type.dtype) != 2) return std::nullopt;
    const Attributes& attributes = node.attributes;
    Factor lhs(r_, operands[0]);
    Factor rhs(r_, operands[1]);
    const auto& lhs_contract = attributes.Ints(AttrName::kLhsContract);
    const auto& rhs_contract = attributes.Ints(AttrName::kRhsContract);
    PadLying(lhs, attributes.Ints(AttrName::kLhsBatch), lhs_contract, rhs, rhs_contract);
    PadLying(rhs, attributes.Ints(AttrName::kRhsBatch), rhs_contract, lhs, lhs_contract);
    if (!Pays(lhs, rhs, lhs_contract, type.shape)) return std::nullopt;
    const ValueId product = r_.Add(
        OpKind::kDotGeneral,
        {lhs.IsPadded() ? lhs.Made() : operands[0], rhs.IsPadded() ? rhs.Made() : operands[1]},
        attributes);
    if (r_.shape(product) == type.shape) return product;
    const Dims ones(static_cast<std::size_t>(type.shape.rank()), 1);
    return r_.Add(OpKind::kSlice, {product},
                  {{AttrName::kStart, std::vector<SymDim>(ones.size(), 0)},
                   {AttrName::kLimit, type.shape.dims()},
                   {AttrName::kStride, ones}});
  }

 private:
  // Along the dim along which neighbours lie, in both factors where they have it.
  void PadLying(Factor& factor, const Dims& batch, const Dims& contract, Factor& other,
                const Dims& other_contract) const {
    const std::int64_t dim = factor.LyingDim();
    const SymDim& size = factor.shape()[static_cast<int>(dim)];
    if (!size.IsConstant() || PlaceIn(batch, dim)) return;
    const std::int64_t multiple = limits_.product_row_bytes / 2;
    const std::int64_t high = (multiple - size.constant() % multiple) % multiple;
    if (high == 0) return;
    factor.Pad(dim, high);
    if (const auto place = PlaceIn(contract, dim)) {
      other.Pad(other_contract[static_cast<std::size_t>(*place)], high);
    }
  }

  // Whether the library gains more than what is copied takes.
  bool Pays(const Factor& lhs, const Factor& rhs, const Dims& lhs_contract,
            const Shape& result) const {
    if (!lhs.IsPadded() && !rhs.IsPadded()) return false;
    double copied = Elements(result);
    for (const Factor* factor : {&lhs, &rhs}) {
      if (factor->IsPadded()) copied += Elements(factor->shape());
    }
    double operations = 2 * Elements(result);
    for (const std::int64_t dim : lhs_contract) {
      operations *= Elements(Shape({lhs.shape()[static_cast<int>(dim)]}));
    }
    return operations >= limits_.min_padded_product &&
           operations >= limits_.min_padded_product_intensity * 2 * copied;
  }

  Rewriter& r_;
  const FusionLimits& limits_;
};

}  // namespace

Result<Graph> PadProducts(const Graph& graph, const FusionLimits& limits) {
  if (limits.product_row_bytes == 1) return graph;
  Rewriter rewriter(graph);
  return rewriter.Run(ProductPadder(rewriter, limits));
}

}  // namespace stoker
