// The left operand of a matrix product, and which elements both have at a point.
#include <algorithm>

#include "compiler/schedule/lowering/loop_order.h"
#include "compiler/schedule/lowering/lower_contraction.h"

namespace stoker {
namespace {

using Dims = std::vector<std::int64_t>;

// Index of each contracted dim over the k dims of the space.
struct Contracted {
  std::vector<IndexMap> index;
  std::vector<std::pair<int, std::size_t>> dim_of;  // k dim -> which contracted dim.
};

// Adds the k dims of contracted dims of these sizes, each split as `splits` says.
Contracted AddContracted(IndexSpace& space, const std::vector<SymDim>& extents,
                         const std::vector<Dims>& splits) {
  Contracted contracted;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    SymDim rest = extents[i];
    for (const std::int64_t inner : splits[i]) rest = SymDim::FloorDiv(rest, inner);
    std::vector<SymDim> sizes = {rest};
    sizes.insert(sizes.end(), splits[i].begin(), splits[i].end());
    ElementIndex digits;
    for (const SymDim& size : sizes) {
      const int dim = space.AddDim(size);
      contracted.dim_of.emplace_back(dim, i);
      digits.push_back(space.Dim(dim));
    }
    contracted.index.push_back(Linearize(space, digits, sizes));
  }
  return contracted;
}

// Of an operand: batch and free dims as in the result, free ones from result dim `free` on.
ElementIndex OperandIndexOf(const Shape& shape, const Dims& batch, const Dims& over,
                            const ElementIndex& result, const Contracted& contracted,
                            std::size_t free) {
  ElementIndex index(shape.dims().size());
  std::vector<bool> is_free(index.size(), true);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    index[static_cast<std::size_t>(batch[i])] = result[i];
    is_free[static_cast<std::size_t>(batch[i])] = false;
  }
  for (std::size_t i = 0; i < over.size(); ++i) {
    index[static_cast<std::size_t>(over[i])] = contracted.index[i];
    is_free[static_cast<std::size_t>(over[i])] = false;
  }
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (is_free[i]) index[i] = result[free++];
  }
  return index;
}

}  // namespace

Layout LayoutOfRows(int rank, const Dims& batch, const Dims& contract) {
  Layout layout = Layout::RowMajor(rank);
  layout.order.clear();
  const auto is_in = [](const Dims& dims, int dim) {
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  };
  for (const std::int64_t dim : batch) layout.order.push_back(static_cast<int>(dim));
  for (int dim = 0; dim < rank; ++dim) {
    if (!is_in(batch, dim) && !is_in(contract, dim)) layout.order.push_back(dim);
  }
  for (const std::int64_t dim : contract) layout.order.push_back(static_cast<int>(dim));
  return layout;
}

ElementIndex ContractionLowering::SetContracted(const Group& group, ContractionParts& parts) const {
  const Attributes& attributes = parts.node.attributes;
  const Shape& lhs = graph_.type(parts.node.operands[0]).shape;
  const Dims& batch = attributes.Ints(AttrName::kLhsBatch);
  const Dims& over = attributes.Ints(AttrName::kLhsContract);
  std::vector<SymDim> extents;
  for (const std::int64_t dim : over) extents.push_back(lhs[static_cast<int>(dim)]);
  parts.space = group.space;
  const Contracted contracted =
      AddContracted(parts.space, extents, std::vector<Dims>(extents.size()));
  parts.k.clear();
  for (const auto& [dim, which] : contracted.dim_of) parts.k.push_back(dim);
  const ElementIndex& result = group.placement.at(group.hero);
  parts.rhs_index = OperandIndexOf(
      graph_.type(parts.node.operands[1]).shape, attributes.Ints(AttrName::kRhsBatch),
      attributes.Ints(AttrName::kRhsContract), result, contracted, lhs.dims().size() - over.size());
  return OperandIndexOf(lhs, batch, over, result, contracted, batch.size());
}

Status ContractionLowering::LowerDot(Group& group, ContractionParts& parts) {
  const Attributes& attributes = parts.node.attributes;
  const ValueId lhs = parts.node.operands[0];
  const Shape& shape = graph_.type(lhs).shape;
  const Dims& batch = attributes.Ints(AttrName::kLhsBatch);
  const Dims& over = attributes.Ints(AttrName::kLhsContract);
  std::vector<SymDim> extents;
  for (const std::int64_t dim : over) extents.push_back(shape[static_cast<int>(dim)]);
  const std::size_t first_n = shape.dims().size() - over.size();  // Of the result.
  // Contracted dims are split where the left operand is a reshape of several.
  std::vector<Dims> splits(over.size());
  StorageId copy = kNoStorage;
  for (int attempt = 0; attempt < kMaxContractionAttempts; ++attempt) {
    parts.space = group.space;
    const Contracted contracted = AddContracted(parts.space, extents, splits);
    parts.k.clear();
    for (const auto& [dim, which] : contracted.dim_of) parts.k.push_back(dim);
    const ElementIndex& result = group.placement.at(group.hero);
    const ElementIndex index = OperandIndexOf(shape, batch, over, result, contracted, batch.size());
    parts.rhs_index = OperandIndexOf(
        graph_.type(parts.node.operands[1]).shape, attributes.Ints(AttrName::kRhsBatch),
        attributes.Ints(AttrName::kRhsContract), result, contracted, first_n);
    if (copy != kNoStorage) {
      const Storage& storage = builder_.storage(copy);
      parts.lhs = {copy, PhysicalIndex(parts.space, storage.layout, storage.shape, index)};
    } else {
      STOKER_TRY(parts.lhs, lowering_.AddressOrCopy(lhs, index, parts.space, group.prepared));
    }
    if (const auto split = FindDimSplit(parts.space, parts.lhs.index);
        split && copy == kNoStorage) {
      const auto k = std::find_if(contracted.dim_of.begin(), contracted.dim_of.end(),
                                  [&](const auto& entry) { return entry.first == split->dim; });
      const bool is_k = k != contracted.dim_of.end();
      if (!is_k && SplitRows(group, parts, *split)) continue;
      if (is_k && splits[k->second].empty()) {
        splits[k->second].push_back(split->inner);
        continue;
      }
      if (is_k) splits[k->second].clear();
      STOKER_TRY(copy, lowering_.Copy(lhs, Layout::RowMajor(shape.rank()), group.prepared));
      continue;
    }
    std::erase_if(parts.k, [&](int dim) { return parts.IsUnit(dim); });
    SortByStride(parts.k, parts.lhs.index);
    const bool is_contiguous =
        parts.k.empty() || parts.lhs.index.CoefficientOf(parts.k.back()) == SymDim(1);
    if (parts.lhs.index.IsAffine() && is_contiguous) return Ok();
    if (copy != kNoStorage) return Internal("A row-major copy does not have contiguous rows.");
    for (Dims& split : splits) split.clear();
    STOKER_TRY(copy, lowering_.Copy(lhs, LayoutOfRows(shape.rank(), batch, over), group.prepared));
  }
  return Internal("The left operand's accesses do not become affine.");
}

}  // namespace stoker
