#include "compiler/schedule/lowering/lowering.h"

namespace stoker {
namespace {

// Strides of an address over dims 0..3, when it is affine in them.
std::optional<AttentionOperand> OperandAt(const Address& address, DType dtype) {
  if (!address.index.IsAffine()) return std::nullopt;
  AttentionOperand operand;
  operand.dtype = dtype;
  operand.offset = address.index.offset;
  for (int dim = 0; dim < 4; ++dim) {
    operand.strides[static_cast<std::size_t>(dim)] = address.index.CoefficientOf(dim);
  }
  return operand;
}

}  // namespace

// Where q, k, v or a mask lies, after making a copy if there is no other way.
Result<AttentionOperand> Lowering::ReadHeads(ValueId value, bool lanes_are_contiguous,
                                             bool prepared, std::vector<StorageId>& buffers) {
  const TensorType& type = graph_.type(value);
  const IndexSpace space(type.shape.dims());
  ElementIndex index;
  for (int dim = 0; dim < 4; ++dim) index.push_back(space.Dim(dim));
  STOKER_TRY(Address address, AddressOrCopy(value, index, space, prepared));
  std::optional<AttentionOperand> found = OperandAt(address, type.dtype);
  const bool is_bad = !found || (lanes_are_contiguous && found->strides[3] != SymDim(1) &&
                                 type.shape[3] != SymDim(1));
  if (is_bad) {
    STOKER_TRY(address.storage, Copy(value, Layout::RowMajor(4), prepared));
    const Storage& storage = builder_.storage(address.storage);
    address.index = PhysicalIndex(space, storage.layout, storage.shape, index);
    found = OperandAt(address, type.dtype);
    STOKER_CHECK(found.has_value());
  }
  if (type.shape[3] == SymDim(1)) found->strides[3] = lanes_are_contiguous ? 1 : 0;
  buffers.push_back(address.storage);
  return *std::move(found);
}

// [B, S, H, D] in memory: the heads of a row side by side, as the next matrix product reads them.
// `fixed`: the storages that others ask for, of which the first is written.
StorageId Lowering::HeadsStorage(ValueId result, bool prepared,
                                 const std::vector<StorageId>& fixed) {
  if (!fixed.empty()) return fixed.front();
  Layout layout = Layout::RowMajor(4);
  layout.order = {0, 2, 1, 3};
  return builder_.Add(result, KindFor(result, prepared), 0, std::move(layout));
}

Result<AttentionFunc> Lowering::AttentionOf(const Node& node) const {
  AttentionFunc func;
  const Shape& q = graph_.type(node.operands[0]).shape;
  const Shape& k = graph_.type(node.operands[1]).shape;
  const Shape& v = graph_.type(node.operands[2]).shape;
  if (!q[3].IsConstant() || !v[3].IsConstant()) {
    return Unimplemented("attention needs constant head sizes, not those of " +
                         graph_.type(node.operands[0]).ToString() + " and " +
                         graph_.type(node.operands[2]).ToString() + ".");
  }
  func.batch = q[0];
  func.heads = q[1];
  func.kv_heads = k[1];
  func.queries = q[2];
  func.keys = k[2];
  func.head_dim = q[3].constant();
  func.value_dim = v[3].constant();
  func.scale = node.attributes.Float(AttrName::kScale);
  func.causal = node.attributes.Bool(AttrName::kCausal);
  func.has_mask = node.operands.size() > 3;
  return func;
}

Status Lowering::LowerAttention(const Group& group) {
  const Node& node = graph_.node(group.hero);
  const bool prepared = group.prepared;
  STOKER_TRY(AttentionFunc func, AttentionOf(node));
  Step step;
  STOKER_TRY(func.q, ReadHeads(node.operands[0], true, prepared, step.buffers));
  STOKER_TRY(func.k, ReadHeads(node.operands[1], true, prepared, step.buffers));
  STOKER_TRY(func.v, ReadHeads(node.operands[2], true, prepared, step.buffers));

  const ValueId result = node.results[0];
  const std::vector<StorageId> fixed = AddFixedStorages(result, prepared, true);
  const StorageId out = HeadsStorage(result, prepared, fixed);
  const Storage& storage = builder_.storage(out);
  const std::vector<SymDim> strides = StridesOf(storage.layout, storage.shape);
  func.out.dtype = storage.dtype;
  for (std::size_t i = 0; i < 4; ++i) {
    func.out.strides[i] = strides[i];
    func.out.offset = func.out.offset + strides[i] * storage.layout.low[i];
  }
  step.buffers.push_back(out);
  if (func.has_mask) {
    STOKER_TRY(func.mask, ReadHeads(node.operands[3], false, prepared, step.buffers));
  }

  step.prepared = prepared;
  step.flops =
      func.batch * func.heads * func.queries * func.keys * (2 * (func.head_dim + func.value_dim));
  for (const StorageId id : step.buffers) step.bytes = step.bytes + builder_.storage(id).bytes;
  step.label = "attention " + graph_.type(node.operands[0]).ToString();
  step.work = std::move(func);
  builder_.Append(std::move(step));
  // What is wanted elsewhere besides is a copy.
  for (std::size_t i = 1; i < fixed.size(); ++i) {
    STOKER_RETURN_IF_ERROR(CopyTo(result, fixed[i], prepared));
  }
  return Ok();
}

}  // namespace stoker
