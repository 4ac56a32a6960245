#include "compiler/transform/channel_vector.h"

namespace stoker {
std::optional<ValueId> ChannelVectorOf(Rewriter& r, ValueId value, int dim) {
  if (!r.IsParameterOnly(value)) return std::nullopt;
  const Shape shape = r.shape(value);
  if (dim >= shape.rank()) return std::nullopt;
  const Shape vector({shape[dim]});
  const DType dtype = r.type(value).dtype;
  if (r.IsSplat(value)) return r.Constant({dtype, vector}, r.Find(value)->constant);
  const auto* broadcast = r.Find(value, OpKind::kBroadcastInDim);
  if (broadcast == nullptr) {
    if (shape.NumElements() != shape[dim]) return std::nullopt;
    return r.Reshape(value, vector);
  }
  const ValueId operand = broadcast->operands[0];
  const std::vector<std::int64_t> dims = broadcast->attributes.Ints(AttrName::kDims);
  const Shape from = r.shape(operand);
  bool varies = false;
  for (int i = 0; i < from.rank(); ++i) {
    if (IsOne(from[i])) continue;
    if (dims[static_cast<std::size_t>(i)] != dim) return std::nullopt;
    varies = true;
  }
  if (varies) return r.Reshape(operand, vector);
  return r.Broadcast(r.Reshape(operand, Shape()), {}, vector);
}

}  // namespace stoker
