// The part of BodyBuilder for ops whose operands are read elsewhere than at the point of the
// result.
#include <algorithm>
#include <cmath>

#include "compiler/analysis/index_instrs.h"
#include "compiler/ir/body_verifier.h"
#include "compiler/schedule/lowering/builder/body_builder.h"

namespace stoker {

IndexMap BodyBuilder::VirtualDim(std::uint32_t instr, const SymDim& extent) {
  for (std::size_t i = 0; i < virtual_instrs_.size(); ++i) {
    const int dim = num_dims_ + static_cast<int>(i);
    if (virtual_instrs_[i] == instr && space_.extent(dim) == extent) return space_.Dim(dim);
  }
  virtual_instrs_.push_back(instr);
  return space_.Dim(space_.AddDim(extent));
}

std::uint32_t BodyBuilder::EmitCompare(CompareDirection direction, const IndexMap& a,
                                       const SymDim& b) {
  const std::uint32_t compared =
      EmitPointwise(OpKind::kCompare, DType::kBool, {EmitIndex(a), AppendSize(body_, b)});
  body_.instrs[compared].direction = direction;
  return compared;
}

std::optional<std::uint32_t> BodyBuilder::Inside(const ElementIndex& index,
                                                 const std::vector<SymDim>& sizes) {
  std::optional<std::uint32_t> inside;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const std::optional<IndexSpace::Range> range = space_.RangeOf(index[i]);
    if (!range || !range->low.IsProvablyNonNegative()) {
      inside = EmitAnd(inside, EmitCompare(CompareDirection::kGe, index[i], 0));
    }
    if (!range || !(sizes[i] - range->high - 1).IsProvablyNonNegative()) {
      inside = EmitAnd(inside, EmitCompare(CompareDirection::kLt, index[i], sizes[i]));
    }
  }
  return inside;
}

Result<std::uint32_t> BodyBuilder::EvaluateIf(std::optional<std::uint32_t> predicate, ValueId value,
                                              const ElementIndex& index, std::uint32_t otherwise) {
  if (!predicate) return Evaluate(value, index);
  const std::optional<std::uint32_t> outer = predicate_;
  predicate_ = EmitAnd(outer, *predicate);
  Result<std::uint32_t> inside = Evaluate(value, index);
  predicate_ = outer;
  if (!inside.ok()) return inside;
  // A load that is not made gives 0 already.
  const BodyInstr& instr = body_.instrs[*inside];
  const BodyInstr& other = body_.instrs[otherwise];
  const bool is_zero = other.op == BodyOp::kConstant && other.int_constant == 0 &&
                       other.constant == 0 && !std::signbit(other.constant);
  if (instr.op == BodyOp::kLoad && instr.has_predicate && is_zero && !outer) return inside;
  return EmitPointwise(OpKind::kSelect, instr.dtype, {*predicate, *inside, otherwise});
}

Result<std::uint32_t> BodyBuilder::Pad(const Node& node, const ElementIndex& index) {
  const Shape& shape = graph_.type(node.operands[0]).shape;
  const std::vector<std::int64_t>& low = node.attributes.Ints(AttrName::kLow);
  const std::vector<std::int64_t>& interior = node.attributes.Ints(AttrName::kInterior);
  ElementIndex inner(index.size());
  std::optional<std::uint32_t> inside;
  for (std::size_t i = 0; i < index.size(); ++i) {
    inner[i] = space_.Add(index[i], IndexSpace::Constant(-low[i]));
    if (interior[i] == 0) continue;
    // Only every (interior + 1)-th position is an element of the operand.
    const std::int64_t step = interior[i] + 1;
    const std::uint32_t position = EmitIndex(inner[i]);
    const std::uint32_t divisor = EmitInt(step, DType::kI64);
    const std::uint32_t rest = EmitPointwise(OpKind::kRemainder, DType::kI64, {position, divisor});
    const std::uint32_t zero = EmitInt(0, DType::kI64);
    const std::uint32_t hits = EmitPointwise(OpKind::kCompare, DType::kBool, {rest, zero});
    body_.instrs[hits].direction = CompareDirection::kEq;
    const std::uint32_t reached = EmitPointwise(OpKind::kCompare, DType::kBool, {position, zero});
    body_.instrs[reached].direction = CompareDirection::kGe;
    const std::uint32_t element = EmitPointwise(OpKind::kDivide, DType::kI64, {position, divisor});
    inside = EmitAnd(EmitAnd(inside, hits), reached);
    // The upper bound is tested below: the virtual dim is allowed one value too many for that.
    inner[i] = VirtualDim(element, shape[static_cast<int>(i)] + 1);
    if (inner[i].terms.empty()) inner[i] = {};
  }
  const std::optional<std::uint32_t> bounds = Inside(inner, shape.dims());
  if (bounds) inside = EmitAnd(inside, *bounds);
  STOKER_TRY(const std::uint32_t padding, Evaluate(node.operands[1], {}));
  return EvaluateIf(inside, node.operands[0], inner, padding);
}

std::optional<BodyBuilder::Slices> BodyBuilder::SlicesOfOne(const Node& node, std::size_t dim) {
  Slices found;
  for (const ValueId operand : node.operands) {
    const NodeId producer = graph_.value(operand).producer;
    if (producer == kNoNode || given_.contains(operand)) return std::nullopt;
    const Node& slice = graph_.node(producer);
    if (slice.kind != OpKind::kSlice || program_.Find(operand, prepared_) != kNoStorage) {
      return std::nullopt;
    }
    if (found.sizes.empty()) found.value = slice.operands[0];
    if (slice.operands[0] != found.value) return std::nullopt;
    const std::vector<std::int64_t>& strides = slice.attributes.Ints(AttrName::kStride);
    const std::vector<SymDim>& starts = slice.attributes.Dims(AttrName::kStart);
    if (std::ranges::any_of(strides, [](std::int64_t stride) { return stride != 1; })) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (i != dim && starts[i] != SymDim(0)) return std::nullopt;
    }
    found.starts.push_back(starts[dim]);
    found.sizes.push_back(graph_.type(operand).shape.dims()[dim]);
  }
  if (found.sizes.size() < 2) return std::nullopt;
  return found;
}

// Is the index in one of the parts of these sizes, whatever it is?
bool BodyBuilder::IsInOne(const std::vector<SymDim>& sizes, const IndexMap& index) const {
  const std::optional<IndexSpace::Range> range = space_.RangeOf(index);
  SymDim begin = 0;
  for (const SymDim& size : sizes) {
    const SymDim end = begin + size;
    if (range && (range->low - begin).IsProvablyNonNegative() &&
        (end - range->high - 1).IsProvablyNonNegative()) {
      return true;
    }
    begin = end;
  }
  return false;
}

// The instruction that has the index of the value of which the concatenation has element `index`.
std::uint32_t BodyBuilder::IndexIn(const Slices& slices, const IndexMap& index) {
  for (const ChosenIndex& known : chosen_) {
    if (known.index == index && known.slices.starts == slices.starts &&
        known.slices.sizes == slices.sizes) {
      return known.instr;
    }
  }
  std::vector<SymDim> ends;
  for (const SymDim& size : slices.sizes) ends.push_back(ends.empty() ? size : ends.back() + size);
  const auto within = [&](std::size_t i) {
    const SymDim begin = i == 0 ? SymDim(0) : ends[i - 1];
    return EmitIndex(space_.Add(index, IndexSpace::Constant(slices.starts[i] + begin * -1)));
  };
  std::uint32_t chosen = within(ends.size() - 1);
  for (std::size_t i = ends.size() - 1; i-- > 0;) {
    const std::uint32_t is_before = EmitCompare(CompareDirection::kLt, index, ends[i]);
    chosen = EmitPointwise(OpKind::kSelect, DType::kI64, {is_before, within(i), chosen});
  }
  chosen_.push_back({index, slices, chosen});
  return chosen;
}

Result<std::uint32_t> BodyBuilder::Concatenate(const Node& node, const ElementIndex& index) {
  const auto dim = static_cast<std::size_t>(node.attributes.Int(AttrName::kDim));
  if (reads_at_chosen_index_) {
    const std::optional<Slices> slices = SlicesOfOne(node, dim);
    if (slices && !IsInOne(slices->sizes, index[dim])) {
      ElementIndex element = index;
      element[dim] =
          VirtualDim(IndexIn(*slices, index[dim]), graph_.type(slices->value).shape.dims()[dim]);
      return Evaluate(slices->value, element);
    }
  }
  // Parts the index cannot be in, because it is a slice of the result, are not evaluated.
  const std::optional<IndexSpace::Range> range = space_.RangeOf(index[dim]);
  SymDim begin = 0;
  std::optional<std::uint32_t> result;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const SymDim& size = graph_.type(node.operands[i]).shape[static_cast<int>(dim)];
    const SymDim end = begin + size;
    const bool is_before = range && (begin - range->high - 1).IsProvablyNonNegative();
    const bool is_after = range && (range->low - end).IsProvablyNonNegative();
    const bool is_empty = size.IsConstant() && size.constant() == 0;
    if (is_before || is_after || is_empty) {
      begin = end;
      continue;
    }
    ElementIndex inner = index;
    inner[dim] = space_.Add(index[dim], IndexSpace::Constant(begin * -1));
    const std::optional<std::uint32_t> inside = Inside({inner[dim]}, {size});
    if (!result) {
      const std::uint32_t zero = EmitZero(graph_.type(node.results[0]).dtype);
      STOKER_TRY(result, EvaluateIf(inside, node.operands[i], inner, zero));
    } else {
      STOKER_TRY(result, EvaluateIf(inside, node.operands[i], inner, *result));
    }
    begin = end;
  }
  if (!result) return EmitZero(graph_.type(node.results[0]).dtype);
  return *result;
}

Result<std::uint32_t> BodyBuilder::EvaluateScalarIndex(ValueId value, const ElementIndex& index) {
  STOKER_TRY(const std::uint32_t instr, Evaluate(value, index));
  return EmitConvert(instr, graph_.type(value).dtype, DType::kI64);
}

Result<std::uint32_t> BodyBuilder::ClampedStart(ValueId value, const ElementIndex& index,
                                                const SymDim& limit) {
  STOKER_TRY(const std::uint32_t start, EvaluateScalarIndex(value, index));
  const std::uint32_t at_most =
      EmitPointwise(OpKind::kMinimum, DType::kI64, {start, AppendSize(body_, limit)});
  return EmitPointwise(OpKind::kMaximum, DType::kI64, {at_most, EmitInt(0, DType::kI64)});
}

Result<std::uint32_t> BodyBuilder::Gather(const Node& node, const ElementIndex& index) {
  const Attributes& attributes = node.attributes;
  const Shape& operand = graph_.type(node.operands[0]).shape;
  const Shape& indices = graph_.type(node.operands[1]).shape;
  const std::vector<std::int64_t>& offset_dims = attributes.Ints(AttrName::kOffsetDims);
  const std::vector<std::int64_t>& collapsed = attributes.Ints(AttrName::kCollapsedDims);
  const std::vector<std::int64_t>& start_map = attributes.Ints(AttrName::kStartIndexMap);
  const std::vector<SymDim>& slice_sizes = attributes.Dims(AttrName::kSliceSizes);
  const auto vector_dim = static_cast<std::size_t>(attributes.Int(AttrName::kIndexVectorDim));
  const auto contains = [](const std::vector<std::int64_t>& dims, std::size_t dim) {
    return std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(dim)) != dims.end();
  };

  ElementIndex batch;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (!contains(offset_dims, i)) batch.push_back(index[i]);
  }
  ElementIndex element(operand.dims().size());
  std::size_t offset = 0;
  for (std::size_t i = 0; i < element.size(); ++i) {
    if (!contains(collapsed, i)) {
      element[i] = index[static_cast<std::size_t>(offset_dims[offset++])];
    }
  }
  for (std::size_t k = 0; k < start_map.size(); ++k) {
    const auto dim = static_cast<std::size_t>(start_map[k]);
    ElementIndex at = batch;
    if (vector_dim < indices.dims().size()) {
      at.insert(at.begin() + static_cast<std::ptrdiff_t>(vector_dim),
                IndexSpace::Constant(static_cast<std::int64_t>(k)));
    }
    const SymDim limit = operand.dims()[dim] - slice_sizes[dim];
    STOKER_TRY(const std::uint32_t start, ClampedStart(node.operands[1], at, limit));
    element[dim] = space_.Add(element[dim], VirtualDim(start, limit + 1));
  }
  return Evaluate(node.operands[0], element);
}

Result<std::uint32_t> BodyBuilder::DynamicSlice(const Node& node, const ElementIndex& index) {
  const Shape& operand = graph_.type(node.operands[0]).shape;
  const std::vector<SymDim>& sizes = node.attributes.Dims(AttrName::kSliceSizes);
  ElementIndex element = index;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const SymDim limit = operand.dims()[i] - sizes[i];
    if (limit == SymDim(0)) continue;
    STOKER_TRY(const std::uint32_t start, ClampedStart(node.operands[i + 1], {}, limit));
    element[i] = space_.Add(element[i], VirtualDim(start, limit + 1));
  }
  return Evaluate(node.operands[0], element);
}

Result<std::uint32_t> BodyBuilder::DynamicUpdateSlice(const Node& node, const ElementIndex& index) {
  const Shape& operand = graph_.type(node.operands[0]).shape;
  const Shape& update = graph_.type(node.operands[1]).shape;
  ElementIndex element = index;
  for (std::size_t i = 0; i < element.size(); ++i) {
    const SymDim limit = operand.dims()[i] - update.dims()[i];
    if (limit == SymDim(0)) continue;
    STOKER_TRY(const std::uint32_t start, ClampedStart(node.operands[i + 2], {}, limit));
    element[i] = space_.Add(element[i], space_.Scale(VirtualDim(start, limit + 1), -1));
  }
  const std::optional<std::uint32_t> inside = Inside(element, update.dims());
  STOKER_TRY(const std::uint32_t old, Evaluate(node.operands[0], index));
  return EvaluateIf(inside, node.operands[1], element, old);
}

Result<std::uint32_t> BodyBuilder::EvaluateReduced(const Node& node, const ElementIndex& kept,
                                                   const std::vector<IndexMap>& over) {
  if (node.kind == OpKind::kReduceWindow) return Window(node, kept, over);
  if (node.kind == OpKind::kConvolution) return ConvolutionProduct(node, kept, over);
  Group rows;
  rows.reduced_index = over;
  const std::optional<ElementIndex> index = OperandIndex(graph_, rows, node, 0, kept);
  STOKER_CHECK(index.has_value());
  return Evaluate(node.operands[0], *index);
}

Result<std::uint32_t> BodyBuilder::Window(const Node& node, const ElementIndex& kept,
                                          const std::vector<IndexMap>& over) {
  const Attributes& attributes = node.attributes;
  const TensorType& type = graph_.type(node.operands[0]);
  const std::vector<std::int64_t>& window = attributes.Ints(AttrName::kWindow);
  ElementIndex element(kept.size());
  std::size_t loop = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const IndexMap start = space_.Add(space_.Scale(kept[i], attributes.Ints(AttrName::kStrides)[i]),
                                      IndexSpace::Constant(-attributes.Ints(AttrName::kPadLow)[i]));
    element[i] = start;
    if (window[i] != 1) {
      const std::int64_t dilation = attributes.Ints(AttrName::kDilation)[i];
      element[i] = space_.Add(start, space_.Scale(over[loop++], dilation));
    }
  }
  const std::optional<std::uint32_t> inside = Inside(element, type.shape.dims());
  const std::uint32_t identity = EmitIdentity(CombineOf(attributes), type.dtype);
  return EvaluateIf(inside, node.operands[0], element, identity);
}

Result<std::uint32_t> BodyBuilder::ConvolutionProduct(const Node& node, const ElementIndex& kept,
                                                      const std::vector<IndexMap>& over) {
  const Attributes& attributes = node.attributes;
  const TensorType& input = graph_.type(node.operands[0]);
  const Shape& kernel = graph_.type(node.operands[1]).shape;
  const SymDim features =
      SymDim::FloorDiv(kernel[0], attributes.Int(AttrName::kGroups));  // Per group.
  const std::size_t spatial = kept.size() - 2;
  std::size_t loop = 0;
  const auto next_loop = [&](const SymDim& size) {
    return size == SymDim(1) ? IndexMap() : over[loop++];
  };
  ElementIndex weight(kept.size());
  ElementIndex element(kept.size());
  weight[0] = kept[1];
  element[0] = kept[0];
  for (std::size_t i = 0; i < spatial; ++i) {
    weight[i + 2] = next_loop(kernel.dims()[i + 2]);
    const IndexMap start =
        space_.Add(space_.Scale(kept[i + 2], attributes.Ints(AttrName::kStrides)[i]),
                   IndexSpace::Constant(-attributes.Ints(AttrName::kPadLow)[i]));
    element[i + 2] =
        space_.Add(start, space_.Scale(weight[i + 2], attributes.Ints(AttrName::kDilation)[i]));
  }
  weight[1] = next_loop(kernel[1]);
  const std::optional<IndexSpace::Parts> group = space_.DivMod(kept[1], features);
  if (!group) return Symbolic(node, "number of features");
  element[1] = space_.Add(space_.Scale(group->quotient, kernel[1]), weight[1]);

  const std::optional<std::uint32_t> inside = Inside(element, input.shape.dims());
  STOKER_TRY(const std::uint32_t factor, Evaluate(node.operands[1], weight));
  const DType dtype = ComputeType(input.dtype);
  const std::uint32_t zero = EmitZero(input.dtype);
  STOKER_TRY(const std::uint32_t x, EvaluateIf(inside, node.operands[0], element, zero));
  const std::uint32_t product = EmitPointwise(OpKind::kMultiply, dtype, {x, factor});
  if (!inside) return product;
  // 0 times an infinite weight is no contribution either.
  return EmitPointwise(OpKind::kSelect, dtype, {*inside, product, zero});
}

}  // namespace stoker
