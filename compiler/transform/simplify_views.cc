#include "compiler/transform/simplify_views.h"

#include <algorithm>
#include <numeric>

namespace stoker {
namespace {

std::optional<ValueId> Reshape(Rewriter& r, const TensorType& type, ValueId x) {
  if (r.shape(x) == type.shape) return x;
  if (const auto* inner = r.Find(x, OpKind::kReshape)) {
    return r.Reshape(inner->operands[0], type.shape);
  }
  if (r.IsSplat(x)) return r.Constant(type, r.Find(x)->constant);
  return std::nullopt;
}

std::optional<ValueId> Transpose(Rewriter& r, const TensorType& type, const Node& node, ValueId x) {
  std::vector<std::int64_t> dims = node.attributes.Ints(AttrName::kDims);
  if (const auto* inner = r.Find(x, OpKind::kTranspose)) {
    const std::vector<std::int64_t>& first = inner->attributes.Ints(AttrName::kDims);
    for (std::int64_t& dim : dims) dim = first[static_cast<std::size_t>(dim)];
    const ValueId source = inner->operands[0];
    const Node composed{OpKind::kTranspose, {}, {}, {{AttrName::kDims, dims}}, {}};
    const std::optional<ValueId> simpler = Transpose(r, type, composed, source);
    return simpler ? *simpler : r.Transpose(source, dims);
  }
  if (r.IsSplat(x)) return r.Constant(type, r.Find(x)->constant);
  // Where only dims of one element move, nothing moves.
  std::int64_t last = -1;
  for (const std::int64_t dim : dims) {
    if (IsOne(r.shape(x)[static_cast<int>(dim)])) continue;
    if (dim < last) return std::nullopt;
    last = dim;
  }
  return r.Reshape(x, type.shape);
}

std::optional<ValueId> Broadcast(Rewriter& r, const TensorType& type, const Node& node, ValueId x) {
  std::vector<std::int64_t> dims = node.attributes.Ints(AttrName::kDims);
  if (r.IsSplat(x)) return r.Constant(type, r.Find(x)->constant);
  if (type.shape.NumElements() == r.shape(x).NumElements()) return r.Reshape(x, type.shape);
  if (const auto* inner = r.Find(x, OpKind::kBroadcastInDim)) {
    std::vector<std::int64_t> composed;
    for (const std::int64_t dim : inner->attributes.Ints(AttrName::kDims)) {
      composed.push_back(dims[static_cast<std::size_t>(dim)]);
    }
    return r.Broadcast(inner->operands[0], std::move(composed), type.shape);
  }
  // A reshape that only adds or drops dims of one element is part of the broadcast.
  const auto* reshape = r.Find(x, OpKind::kReshape);
  if (reshape == nullptr) return std::nullopt;
  const Shape& from = r.shape(reshape->operands[0]);
  const Shape& to = r.shape(x);
  std::vector<std::int64_t> mapped;
  std::vector<SymDim> kept;
  int next = 0;
  for (const SymDim& size : from) {
    if (IsOne(size)) continue;
    while (next < to.rank() && IsOne(to[next])) ++next;
    if (next == to.rank() || to[next] != size) return std::nullopt;
    mapped.push_back(dims[static_cast<std::size_t>(next++)]);
    kept.push_back(size);
  }
  const ValueId squeezed = r.Reshape(reshape->operands[0], Shape(kept));
  return r.Broadcast(squeezed, std::move(mapped), type.shape);
}

std::optional<ValueId> Slice(Rewriter& r, const TensorType& type, const Node& node, ValueId x) {
  const Attributes& attributes = node.attributes;
  const std::vector<std::int64_t>& stride = attributes.Ints(AttrName::kStride);
  std::vector<SymDim> start = attributes.Dims(AttrName::kStart);
  if (r.shape(x) == type.shape) return x;
  if (r.IsSplat(x)) return r.Constant(type, r.Find(x)->constant);
  if (const auto* inner = r.Find(x, OpKind::kSlice)) {
    const std::vector<SymDim>& first = inner->attributes.Dims(AttrName::kStart);
    std::vector<std::int64_t> steps = inner->attributes.Ints(AttrName::kStride);
    std::vector<SymDim> limit;
    for (std::size_t i = 0; i < start.size(); ++i) {
      start[i] = first[i] + start[i] * steps[i];
      steps[i] *= stride[i];
      limit.push_back(start[i] + (type.shape.dims()[i] - 1) * steps[i] + 1);
    }
    return r.Add(
        OpKind::kSlice, {inner->operands[0]},
        {{AttrName::kStart, start}, {AttrName::kLimit, limit}, {AttrName::kStride, steps}});
  }
  const auto* concatenate = r.Find(x, OpKind::kConcatenate);
  if (concatenate == nullptr) return std::nullopt;
  const auto dim = static_cast<std::size_t>(concatenate->attributes.Int(AttrName::kDim));
  std::vector<SymDim> limit = attributes.Dims(AttrName::kLimit);
  if (!start[dim].IsConstant() || !limit[dim].IsConstant()) return std::nullopt;
  std::int64_t begin = 0;
  for (const ValueId part : concatenate->operands) {
    const SymDim& size = r.shape(part)[static_cast<int>(dim)];
    if (!size.IsConstant()) return std::nullopt;
    const std::int64_t end = begin + size.constant();
    if (start[dim].constant() >= begin && limit[dim].constant() <= end) {
      start[dim] = start[dim] - begin;
      limit[dim] = limit[dim] - begin;
      if (r.shape(part) == type.shape) return part;
      return r.Add(
          OpKind::kSlice, {part},
          {{AttrName::kStart, start}, {AttrName::kLimit, limit}, {AttrName::kStride, stride}});
    }
    begin = end;
  }
  return std::nullopt;
}

// Slices that are neighbours along `dim` and stride 1, put together again.
std::optional<ValueId> JoinSlices(Rewriter& r, const TensorType& type, std::size_t dim,
                                  std::span<const ValueId> operands) {
  const auto* first = r.Find(operands[0], OpKind::kSlice);
  if (first == nullptr) return std::nullopt;
  const std::vector<SymDim> start = first->attributes.Dims(AttrName::kStart);
  std::vector<SymDim> limit = first->attributes.Dims(AttrName::kLimit);
  for (std::size_t part = 0; part < operands.size(); ++part) {
    const auto* slice = r.Find(operands[part], OpKind::kSlice);
    if (slice == nullptr || slice->operands != first->operands) return std::nullopt;
    const std::vector<std::int64_t>& stride = slice->attributes.Ints(AttrName::kStride);
    if (!std::all_of(stride.begin(), stride.end(), [](std::int64_t s) { return s == 1; })) {
      return std::nullopt;
    }
    const std::vector<SymDim>& next_start = slice->attributes.Dims(AttrName::kStart);
    const std::vector<SymDim>& next_limit = slice->attributes.Dims(AttrName::kLimit);
    for (std::size_t i = 0; i < start.size(); ++i) {
      if (i == dim) {
        if (part > 0 && next_start[i] != limit[i]) return std::nullopt;
      } else if (next_start[i] != start[i] || next_limit[i] != limit[i]) {
        return std::nullopt;
      }
    }
    limit[dim] = next_limit[dim];
  }
  const ValueId source = first->operands[0];
  if (r.shape(source) == type.shape) return source;
  return r.Add(OpKind::kSlice, {source},
               {{AttrName::kStart, start},
                {AttrName::kLimit, limit},
                {AttrName::kStride, std::vector<std::int64_t>(start.size(), 1)}});
}

std::optional<ValueId> Concatenate(Rewriter& r, const TensorType& type, const Node& node,
                                   std::span<const ValueId> operands) {
  if (operands.size() == 1) return operands[0];
  const auto dim = static_cast<std::size_t>(node.attributes.Int(AttrName::kDim));
  if (std::all_of(operands.begin(), operands.end(), [&](ValueId operand) {
        return r.IsSplat(operand) && r.Find(operand)->constant == r.Find(operands[0])->constant;
      })) {
    return r.Constant(type, r.Find(operands[0])->constant);
  }
  return JoinSlices(r, type, dim, operands);
}

// Starts that are all constants make a slice.
std::optional<ValueId> DynamicSlice(Rewriter& r, const TensorType& type,
                                    std::span<const ValueId> operands) {
  std::vector<SymDim> start;
  std::vector<SymDim> limit;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const SymDim& size = r.shape(operands[0]).dims()[i - 1];
    const SymDim& kept = type.shape.dims()[i - 1];
    if (size == kept) {
      start.emplace_back(0);
      limit.push_back(size);
      continue;
    }
    const std::optional<double> at = r.SplatOf(operands[i]);
    if (!at || !size.IsConstant() || !kept.IsConstant()) return std::nullopt;
    const std::int64_t last = size.constant() - kept.constant();
    const double clamped = std::clamp(*at, 0.0, static_cast<double>(last));
    start.emplace_back(static_cast<std::int64_t>(clamped));
    limit.push_back(start.back() + kept);
  }
  if (r.shape(operands[0]) == type.shape) return operands[0];
  return r.Add(OpKind::kSlice, {operands[0]},
               {{AttrName::kStart, start},
                {AttrName::kLimit, limit},
                {AttrName::kStride, std::vector<std::int64_t>(start.size(), 1)}});
}

bool IsAllZero(const std::vector<std::int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; });
}

}  // namespace

std::optional<ValueId> SimplifyView(Rewriter& r, const Node& node,
                                    std::span<const ValueId> operands) {
  const TensorType& type = r.source().type(node.results[0]);
  const Attributes& attributes = node.attributes;
  if (node.kind == OpKind::kReshape) return Reshape(r, type, operands[0]);
  if (node.kind == OpKind::kTranspose) return Transpose(r, type, node, operands[0]);
  if (node.kind == OpKind::kBroadcastInDim) return Broadcast(r, type, node, operands[0]);
  if (node.kind == OpKind::kSlice) return Slice(r, type, node, operands[0]);
  if (node.kind == OpKind::kConcatenate) return Concatenate(r, type, node, operands);
  if (node.kind == OpKind::kDynamicSlice) return DynamicSlice(r, type, operands);
  if (node.kind == OpKind::kDynamicUpdateSlice && r.shape(operands[1]) == r.shape(operands[0])) {
    return operands[1];
  }
  if (node.kind == OpKind::kReverse) {
    for (const std::int64_t dim : attributes.Ints(AttrName::kDims)) {
      if (!IsOne(type.shape[static_cast<int>(dim)])) return std::nullopt;
    }
    return operands[0];
  }
  if (node.kind == OpKind::kPad && IsAllZero(attributes.Ints(AttrName::kLow)) &&
      IsAllZero(attributes.Ints(AttrName::kHigh)) &&
      IsAllZero(attributes.Ints(AttrName::kInterior))) {
    return operands[0];
  }
  if (node.kind == OpKind::kIota &&
      IsOne(type.shape[static_cast<int>(attributes.Int(AttrName::kDim))])) {
    return r.Scalar(type, 0);
  }
  return std::nullopt;
}

}  // namespace stoker
