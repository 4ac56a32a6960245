#include <algorithm>

#include "protocol/graph/build/infer.h"

namespace stoker {
namespace {

std::int64_t Size(const std::vector<std::int64_t>& list) {
  return static_cast<std::int64_t>(list.size());
}

// The dims of `indices` without the one that holds the index vector, whose size is checked: a
// missing last dimension counts as 1.
Result<std::vector<SymDim>> IndexBatchDims(const NodeTypes& node, AttrName index_map) {
  const TensorType& indices = node.operands[1];
  STOKER_RETURN_IF_ERROR(ExpectDType(node, 1, kIntegers));
  const int rank = indices.shape.rank();
  STOKER_RETURN_IF_ERROR(ExpectDim(node, AttrName::kIndexVectorDim, rank + 1));
  const auto vector_dim = static_cast<int>(node.attributes.Int(AttrName::kIndexVectorDim));
  const SymDim vector_size = vector_dim == rank ? SymDim(1) : indices.shape[vector_dim];
  STOKER_RETURN_IF_ERROR(ExpectDims(node, index_map, node.operands[0].shape.rank()));
  const std::vector<std::int64_t>& map = node.attributes.Ints(index_map);
  if (vector_size != SymDim(Size(map))) {
    return AttributeError(
        index_map, map,
        "one entry for each of the " + vector_size.ToString() + " elements of an index vector");
  }
  std::vector<SymDim> batch;
  for (int i = 0; i < rank; ++i) {
    if (i != vector_dim) batch.push_back(indices.shape[i]);
  }
  return batch;
}

Status CheckSliceSizes(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const std::vector<SymDim>& sizes = node.attributes.Dims(AttrName::kSliceSizes);
  if (sizes.size() != operand.shape.dims().size()) {
    return AttributeError(AttrName::kSliceSizes, sizes,
                          std::to_string(operand.shape.rank()) + " dims");
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const SymDim& size = operand.shape.dims()[i];
    if (!MayBeAtMost(node, 0, sizes[i]) || !MayBeAtMost(node, sizes[i], size)) {
      return AttributeError(AttrName::kSliceSizes, sizes,
                            "0 to " + size.ToString() + " in dimension " + std::to_string(i));
    }
  }
  return Ok();
}

Result<TensorType> InferGather(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const std::vector<std::int64_t>& offset = node.attributes.Ints(AttrName::kOffsetDims);
  const std::vector<std::int64_t>& collapsed = node.attributes.Ints(AttrName::kCollapsedDims);
  STOKER_TRY(const std::vector<SymDim> batch, IndexBatchDims(node, AttrName::kStartIndexMap));
  STOKER_RETURN_IF_ERROR(CheckSliceSizes(node));
  STOKER_RETURN_IF_ERROR(
      ExpectIncreasingDims(node, AttrName::kCollapsedDims, operand.shape.rank()));
  const std::int64_t rank = static_cast<std::int64_t>(batch.size()) + Size(offset);
  if (rank > kMaxRank) {
    return AttributeError(AttrName::kOffsetDims, offset,
                          "a result of rank at most " + std::to_string(kMaxRank));
  }
  STOKER_RETURN_IF_ERROR(ExpectIncreasingDims(node, AttrName::kOffsetDims, static_cast<int>(rank)));
  if (Size(offset) + Size(collapsed) != operand.shape.rank()) {
    return AttributeError(AttrName::kOffsetDims, offset,
                          "one for each dimension of operand 0 that is not collapsed, " +
                              std::to_string(operand.shape.rank() - Size(collapsed)));
  }
  const std::vector<SymDim>& sizes = node.attributes.Dims(AttrName::kSliceSizes);
  std::vector<SymDim> offset_sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!Contains(collapsed, static_cast<std::int64_t>(i))) {
      offset_sizes.push_back(sizes[i]);
    } else if (sizes[i] != SymDim(1)) {
      return AttributeError(AttrName::kSliceSizes, sizes,
                            "1 in the collapsed dimension " + std::to_string(i));
    }
  }
  std::vector<SymDim> shape;
  auto next_batch = batch.begin();
  auto next_offset = offset_sizes.begin();
  for (std::int64_t i = 0; i < rank; ++i) {
    shape.push_back(Contains(offset, i) ? *next_offset++ : *next_batch++);
  }
  return TensorType{operand.dtype, std::move(shape)};
}

Status CheckScatterWindow(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const TensorType& updates = node.operands[2];
  const std::vector<std::int64_t>& window = node.attributes.Ints(AttrName::kUpdateWindowDims);
  const std::vector<std::int64_t>& inserted = node.attributes.Ints(AttrName::kInsertedWindowDims);
  STOKER_RETURN_IF_ERROR(
      ExpectIncreasingDims(node, AttrName::kUpdateWindowDims, updates.shape.rank()));
  STOKER_RETURN_IF_ERROR(
      ExpectIncreasingDims(node, AttrName::kInsertedWindowDims, operand.shape.rank()));
  if (Size(window) + Size(inserted) != operand.shape.rank()) {
    return AttributeError(AttrName::kUpdateWindowDims, window,
                          "one for each dimension of operand 0 that is not inserted, " +
                              std::to_string(operand.shape.rank() - Size(inserted)));
  }
  auto next = window.begin();
  for (int i = 0; i < operand.shape.rank(); ++i) {
    if (Contains(inserted, i)) continue;
    const auto dim = static_cast<int>(*next++);
    if (!MayBeAtMost(node, updates.shape[dim], operand.shape[i])) {
      return OperandError(2, updates,
                          "dimension " + std::to_string(dim) + " to be at most " +
                              operand.shape[i].ToString() + ", dimension " + std::to_string(i) +
                              " of operand 0");
    }
  }
  return Ok();
}

Result<TensorType> InferScatter(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  const TensorType& updates = node.operands[2];
  STOKER_RETURN_IF_ERROR(ExpectCombine(node));
  if (updates.dtype != operand.dtype) {
    return OperandError(2, updates, std::string(Name(operand.dtype)) + " as operand 0");
  }
  STOKER_TRY(const std::vector<SymDim> batch, IndexBatchDims(node, AttrName::kScatterDims));
  STOKER_RETURN_IF_ERROR(CheckScatterWindow(node));
  const std::vector<std::int64_t>& window = node.attributes.Ints(AttrName::kUpdateWindowDims);
  std::vector<SymDim> update_batch;
  for (int i = 0; i < updates.shape.rank(); ++i) {
    if (!Contains(window, i)) update_batch.push_back(updates.shape[i]);
  }
  if (update_batch != batch) {
    return OperandError(2, updates,
                        "the dimensions outside 'update_window_dims' to be " +
                            Shape(batch).ToString() + " as the indices");
  }
  return operand;
}

Status CheckStarts(const NodeTypes& node, std::size_t first) {
  const auto rank = static_cast<std::size_t>(node.operands[0].shape.rank());
  if (node.operands.size() != first + rank) {
    return InvalidArgument("It has " + std::to_string(node.operands.size()) +
                           " operands; expected " + std::to_string(first + rank) + ".");
  }
  const TensorType start{DType::kI64, {}};
  for (std::size_t i = first; i < node.operands.size(); ++i) {
    if (node.operands[i] != start) return OperandError(i, node.operands[i], start.ToString());
  }
  return Ok();
}

Result<TensorType> InferDynamicSlice(const NodeTypes& node) {
  if (node.operands.empty()) return InvalidArgument("It has no operands; expected at least 1.");
  STOKER_RETURN_IF_ERROR(CheckStarts(node, 1));
  STOKER_RETURN_IF_ERROR(CheckSliceSizes(node));
  return TensorType{node.operands[0].dtype, node.attributes.Dims(AttrName::kSliceSizes)};
}

Result<TensorType> InferDynamicUpdateSlice(const NodeTypes& node) {
  if (node.operands.size() < 2) return InvalidArgument("It needs at least 2 operands.");
  const TensorType& operand = node.operands[0];
  const TensorType& update = node.operands[1];
  bool fits = update.dtype == operand.dtype && update.shape.rank() == operand.shape.rank();
  for (int i = 0; fits && i < operand.shape.rank(); ++i) {
    fits = MayBeAtMost(node, update.shape[i], operand.shape[i]);
  }
  if (!fits) return OperandError(1, update, "at most " + operand.ToString() + " as operand 0");
  STOKER_RETURN_IF_ERROR(CheckStarts(node, 2));
  return operand;
}

Result<std::vector<TensorType>> InferSort(const NodeTypes& node) {
  if (node.operands.empty()) return InvalidArgument("It has no operands; expected at least 1.");
  STOKER_RETURN_IF_ERROR(ExpectDim(node, AttrName::kDim, node.operands[0].shape.rank()));
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    if (node.operands[i].shape == node.operands[0].shape) continue;
    return OperandError(i, node.operands[i],
                        "the shape of operand 0, " + node.operands[0].ToString());
  }
  return std::vector<TensorType>(node.operands.begin(), node.operands.end());
}

Result<std::vector<TensorType>> InferTopK(const NodeTypes& node) {
  const TensorType& operand = node.operands[0];
  if (operand.shape.rank() == 0) return OperandError(0, operand, "a rank of at least 1");
  const std::int64_t k = node.attributes.Int(AttrName::kK);
  const SymDim& size = operand.shape[operand.shape.rank() - 1];
  if (k < 0 || !MayBeAtMost(node, k, size)) {
    return AttributeError(AttrName::kK, k,
                          "0 to the size of the last dimension, " + size.ToString());
  }
  std::vector<SymDim> shape = operand.shape.dims();
  shape.back() = k;
  return std::vector<TensorType>{{operand.dtype, shape}, {DType::kI64, shape}};
}

Result<std::vector<TensorType>> Single(Result<TensorType> type) {
  if (!type.ok()) return type.error();
  return std::vector<TensorType>{*std::move(type)};
}

}  // namespace

Result<std::vector<TensorType>> InferIndexing(const NodeTypes& node) {
  if (node.kind == OpKind::kGather) return Single(InferGather(node));
  if (node.kind == OpKind::kScatter) return Single(InferScatter(node));
  if (node.kind == OpKind::kDynamicSlice) return Single(InferDynamicSlice(node));
  if (node.kind == OpKind::kDynamicUpdateSlice) return Single(InferDynamicUpdateSlice(node));
  if (node.kind == OpKind::kSort) return InferSort(node);
  STOKER_CHECK(node.kind == OpKind::kTopK);
  return InferTopK(node);
}

}  // namespace stoker
