#include "compiler/analysis/op_traits.h"

#include <array>

namespace stoker {
namespace {

// Convolutions whose contracted dim is that short are loops: a register tile over it would idle.
constexpr std::int64_t kMaxLoopConvolutionChannels = 3;

bool IsLoopConvolution(const Graph& graph, const Node& node) {
  const SymDim& channels = graph.type(node.operands[1]).shape[1];
  if (!channels.IsConstant() || channels.constant() > kMaxLoopConvolutionChannels) return false;
  if (node.attributes.Int(AttrName::kGroups) > 1) return true;
  // One channel whose kernel elements are no neighbours: nothing to contract contiguously.
  return channels.constant() == 1 && node.attributes.Ints(AttrName::kDilation).back() != 1;
}

}  // namespace

OpRole RoleOf(const Graph& graph, const Node& node) {
  if (node.kind == OpKind::kConvolution && IsLoopConvolution(graph, node)) return OpRole::kReduce;
  return RowOf(node.kind).role;
}

bool ReadsThroughAddress(const Graph& graph, const Node& node, int operand) {
  switch (RoleOf(graph, node)) {
    case OpRole::kContraction:
    case OpRole::kAttention:
    case OpRole::kOrdered:
    case OpRole::kExtern:
    case OpRole::kRegion:
      return true;
    case OpRole::kIndexed:
      // The other operands are index values, or read where the result is.
      return operand == (node.kind == OpKind::kDynamicUpdateSlice ? 1 : 0);
    case OpRole::kView:
    case OpRole::kVirtual:
    case OpRole::kAssemble:
    case OpRole::kReduce:
    case OpRole::kComposite:
      return false;
    case OpRole::kPointwise: {
      // Kernels compute 16-bit floats in f32: their bits exist in memory only.
      if (node.kind != OpKind::kBitcastConvert) return false;
      const auto is_16_bit = [&](ValueId value) {
        const DType dtype = graph.type(value).dtype;
        return dtype == DType::kF16 || dtype == DType::kBF16;
      };
      return is_16_bit(node.operands[0]) || is_16_bit(node.results[0]);
    }
  }
  CheckFailed("unknown role", __FILE__, __LINE__);
}

int CostOf(OpKind kind) {
  constexpr std::array<int, kNumOpCosts> kCosts = {0,  1,  4, 12,
                                                   12, 12, 12};  // In the order of OpCost.
  return kCosts[static_cast<std::size_t>(RowOf(kind).cost)];
}

}  // namespace stoker
