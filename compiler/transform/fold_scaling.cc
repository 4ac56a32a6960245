#include <cmath>
#include <map>

#include "compiler/transform/channel_vector.h"
#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

// base * scale + shift, with vectors over the channels.
struct Affine {
  ValueId base = kNoValue;  // A contraction, or a conversion of one.
  int channel = 0;          // Which dim of it.
  std::optional<ValueId> scale;
  std::optional<ValueId> shift;
  int scalings = 0;  // How many make up the scale.
};

// So many factors of at most so many powers of two neither overflow nor vanish in weights.
constexpr int kMaxScalings = 4;
constexpr double kLargestScale = 1 << 24;

bool IsModerate(double scale) {
  const double size = std::abs(scale);
  return size >= 1 / kLargestScale && size <= kLargestScale;  // Not NaN.
}

class ScalingFolder {
 public:
  explicit ScalingFolder(Rewriter& rewriter) : r_(rewriter) {}

  std::optional<ValueId> operator()(const Node& node, std::span<const ValueId> operands) {
    if (node.kind == OpKind::kDotGeneral || node.kind == OpKind::kConvolution) {
      return Start(node, operands);
    }
    if (node.kind == OpKind::kConvert) return Convert(node, operands);
    if (node.kind == OpKind::kAdd || node.kind == OpKind::kMultiply ||
        node.kind == OpKind::kSubtract || node.kind == OpKind::kDivide) {
      return Extend(node, operands);
    }
    return std::nullopt;
  }

 private:
  std::optional<ValueId> Start(const Node& node, std::span<const ValueId> operands) {
    const ValueId result = r_.Add(node.kind, {operands[0], operands[1]}, node.attributes);
    const DType dtype = r_.type(result).dtype;
    if (!IsFloat(dtype) || !r_.IsParameterOnly(operands[1])) return result;
    int channel = 1;
    if (node.kind == OpKind::kDotGeneral) {
      const std::size_t bound = node.attributes.Ints(AttrName::kRhsBatch).size() +
                                node.attributes.Ints(AttrName::kRhsContract).size();
      if (r_.shape(operands[1]).dims().size() != bound + 1) return result;
      channel = r_.shape(result).rank() - 1;
    }
    affine_[result] = {result, channel, {}, {}};
    return result;
  }

  std::optional<ValueId> Convert(const Node& node, std::span<const ValueId> operands) {
    const auto found = affine_.find(operands[0]);
    const TensorType& type = r_.source().type(node.results[0]);
    if (found == affine_.end() || found->second.scale || found->second.shift ||
        !IsFloat(type.dtype) || r_.UsesInSource(node.operands[0]) != 1) {
      return std::nullopt;
    }
    const int channel = found->second.channel;
    const ValueId result = r_.Add(OpKind::kConvert, {operands[0]}, {}, type);
    affine_[result] = {result, channel, {}, {}};
    return result;
  }

  std::optional<ValueId> Extend(const Node& node, std::span<const ValueId> operands) {
    for (const std::size_t side : {0U, 1U}) {
      const auto found = affine_.find(operands[side]);
      if (found == affine_.end() || r_.UsesInSource(node.operands[side]) != 1) continue;
      const bool is_ordered = node.kind == OpKind::kSubtract || node.kind == OpKind::kDivide;
      if (is_ordered && side == 1) continue;
      Affine affine = found->second;
      const std::optional<ValueId> vector = ChannelVectorOf(r_, operands[1 - side], affine.channel);
      if (!vector) continue;
      const bool is_scaling = node.kind == OpKind::kMultiply || node.kind == OpKind::kDivide;
      if (is_scaling && !MayFold(*vector, affine.scalings++)) continue;
      if (!is_scaling) {
        affine.shift = affine.shift                ? r_.Add(node.kind, {*affine.shift, *vector})
                       : node.kind == OpKind::kAdd ? *vector
                                                   : r_.Add(OpKind::kNegate, {*vector});
      } else {
        if (affine.shift) affine.shift = r_.Add(node.kind, {*affine.shift, *vector});
        if (affine.scale) {
          affine.scale = r_.Add(node.kind, {*affine.scale, *vector});
        } else if (node.kind == OpKind::kMultiply) {
          affine.scale = *vector;
        } else {
          const ValueId one = r_.Scalar(r_.type(*vector), 1);
          affine.scale = r_.Add(OpKind::kDivide, {one, *vector});
        }
      }
      const ValueId result = Emit(affine);
      affine_[result] = affine;
      return result;
    }
    return std::nullopt;
  }

  // What parameters hold is not known here: compiler/NUMERICS.md says what follows.
  bool MayFold(ValueId vector, int before) const {
    const std::optional<double> scale = r_.SplatOf(vector);
    return before < kMaxScalings && (!scale || IsModerate(*scale));
  }

  ValueId Emit(const Affine& affine) {
    const Shape shape = r_.shape(affine.base);
    const auto spread = [&](ValueId vector) {
      return r_.Broadcast(vector, {affine.channel}, shape);
    };
    ValueId value = affine.base;
    if (affine.scale) {
      const std::optional<ValueId> scaled = ScaleWeights(affine);
      value = scaled ? *scaled : r_.Add(OpKind::kMultiply, {value, spread(*affine.scale)});
    }
    if (affine.shift) value = r_.Add(OpKind::kAdd, {value, spread(*affine.shift)});
    return value;
  }

  // The contraction with its weights multiplied by the scale. Weights of 16 bits would be rounded
  // once more: their scale stays in the epilogue.
  std::optional<ValueId> ScaleWeights(const Affine& affine) {
    const Rewriter::Definition* found = r_.Find(affine.base);
    if (found == nullptr || found->kind == OpKind::kConvert) return std::nullopt;
    const Rewriter::Definition contraction = *found;
    const DType dtype = r_.type(affine.base).dtype;
    if (dtype != DType::kF32 && dtype != DType::kF64) return std::nullopt;
    const ValueId weights = contraction.operands[1];
    const Shape shape = r_.shape(weights);
    std::int64_t dim = 0;
    if (contraction.kind == OpKind::kDotGeneral) {
      const auto is_bound = [&](std::int64_t d) {
        for (const AttrName name : {AttrName::kRhsBatch, AttrName::kRhsContract}) {
          for (const std::int64_t bound : contraction.attributes.Ints(name)) {
            if (bound == d) return true;
          }
        }
        return false;
      };
      while (is_bound(dim)) ++dim;
    }
    const ValueId scale = r_.Broadcast(*affine.scale, {dim}, shape);
    const ValueId scaled = r_.Add(OpKind::kMultiply, {weights, scale});
    return r_.Add(contraction.kind, {contraction.operands[0], scaled}, contraction.attributes);
  }

  Rewriter& r_;
  std::map<ValueId, Affine> affine_;
};

}  // namespace

Result<Graph> FoldScaling(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter.Run(ScalingFolder(rewriter));
}

}  // namespace stoker
