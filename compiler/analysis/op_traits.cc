#include "compiler/analysis/op_traits.h"

#include "compiler/analysis/view_index.h"

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
  if (IsView(node.kind)) return OpRole::kView;
  if (IsPointwise(node.kind)) return OpRole::kPointwise;
  switch (CategoryOf(node.kind)) {
    case OpCategory::kNullary:
      return OpRole::kVirtual;
    case OpCategory::kUnary:
    case OpCategory::kBinary:
    case OpCategory::kTernary:
      return OpRole::kPointwise;
    case OpCategory::kShape:
      return OpRole::kAssemble;
    case OpCategory::kReduce:
      return node.kind == OpKind::kCumulative ? OpRole::kOrdered : OpRole::kReduce;
    case OpCategory::kContraction:
      return node.kind == OpKind::kConvolution && IsLoopConvolution(graph, node)
                 ? OpRole::kReduce
                 : OpRole::kContraction;
    case OpCategory::kIndex:
      return node.kind == OpKind::kScatter || node.kind == OpKind::kSort ||
                     node.kind == OpKind::kTopK
                 ? OpRole::kOrdered
                 : OpRole::kIndexed;
    case OpCategory::kComposite:
      return OpRole::kAttention;
    case OpCategory::kExtern:
      return OpRole::kExtern;
  }
  CheckFailed("unknown category", __FILE__, __LINE__);
}

bool ReadsThroughAddress(const Graph& graph, const Node& node, int operand) {
  switch (RoleOf(graph, node)) {
    case OpRole::kContraction:
    case OpRole::kAttention:
    case OpRole::kOrdered:
      return true;
    case OpRole::kIndexed:
      // The other operands are index values, or read where the result is.
      return operand == (node.kind == OpKind::kDynamicUpdateSlice ? 1 : 0);
    case OpRole::kView:
    case OpRole::kVirtual:
    case OpRole::kAssemble:
    case OpRole::kReduce:
    case OpRole::kExtern:
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

int CostOf(const Node& node) {
  constexpr int kCheap = 1;
  constexpr int kDivision = 4;
  constexpr int kTranscendental = 12;
  switch (CategoryOf(node.kind)) {
    case OpCategory::kNullary:
    case OpCategory::kShape:
      return 0;
    case OpCategory::kReduce:
    case OpCategory::kContraction:
    case OpCategory::kIndex:
    case OpCategory::kComposite:
    case OpCategory::kExtern:
      return kTranscendental;
    case OpCategory::kUnary:
    case OpCategory::kBinary:
    case OpCategory::kTernary:
      break;
  }
  const OpKind kind = node.kind;
  if (kind == OpKind::kDivide || kind == OpKind::kRemainder || kind == OpKind::kSqrt ||
      kind == OpKind::kRsqrt) {
    return kDivision;
  }
  if ((kind >= OpKind::kExponential && kind <= OpKind::kLogistic) ||
      (kind >= OpKind::kSine && kind <= OpKind::kErf) || kind == OpKind::kPower ||
      kind == OpKind::kAtan2) {
    return kTranscendental;
  }
  return kCheap;
}

}  // namespace stoker
