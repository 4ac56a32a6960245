#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"
#include "protocol/base/check.h"
#include "protocol/graph/op_table.h"

namespace stoker {
namespace {

using Dims = std::vector<std::int64_t>;

// Nodes that are looked at for one value.
constexpr std::size_t kMaxLookedAt = 256;

class Neighbours {
 public:
  explicit Neighbours(const Graph& graph) : graph_(graph) {}

  // Nothing: it is no larger than what is broadcast to it, or was looked at before.
  std::optional<int> DimOf(ValueId value) {
    if (seen_.size() >= kMaxLookedAt || !seen_.insert(value).second) return std::nullopt;
    const int last = graph_.type(value).shape.rank() - 1;
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode) return last;
    const Node& node = graph_.node(producer);
    // Pooled images lie as those that they are made of.
    if (node.kind == OpKind::kReduceWindow) return DimOf(node.operands[0]);
    switch (RowOf(node.kind).role) {
      case OpRole::kPointwise:
      case OpRole::kAssemble:
        return OfOperands(node);
      case OpRole::kView:
        return ThroughView(node, last);
      case OpRole::kVirtual:
        return std::nullopt;
      case OpRole::kReduce:
      case OpRole::kOrdered:
      case OpRole::kContraction:
      case OpRole::kIndexed:
      case OpRole::kAttention:
      case OpRole::kComposite:
      case OpRole::kExtern:
      case OpRole::kRegion:
        return last;
    }
    CheckFailed("unknown role", __FILE__, __LINE__);
  }

 private:
  std::optional<int> OfOperands(const Node& node) {
    for (const ValueId operand : node.operands) {
      if (const std::optional<int> dim = DimOf(operand)) return dim;
    }
    return std::nullopt;
  }

  std::optional<int> ThroughView(const Node& node, int last) {
    if (node.kind == OpKind::kBroadcastInDim) return std::nullopt;
    const std::optional<int> dim = DimOf(node.operands[0]);
    if (dim && node.kind == OpKind::kReshape) return ThroughReshape(node, *dim).value_or(last);
    if (!dim || node.kind != OpKind::kTranspose) return dim;
    const std::vector<std::int64_t>& dims = node.attributes.Ints(AttrName::kDims);
    return static_cast<int>(std::ranges::find(dims, *dim) - dims.begin());
  }

  // The dim in which one step is one along `dim` of what is reshaped, or that has it among others.
  std::optional<int> ThroughReshape(const Node& node, int dim) const {
    const Shape& from = graph_.type(node.operands[0]).shape;
    const Shape& to = graph_.type(node.results[0]).shape;
    if (!from.IsStatic() || !to.IsStatic()) return std::nullopt;
    std::int64_t step = 1;
    for (int i = dim + 1; i < from.rank(); ++i) step *= from[i].constant();
    std::int64_t inner = 1;  // Elements of the dims behind.
    for (int i = to.rank(); i-- > 0; inner *= to[i].constant()) {
      if (inner * to[i].constant() > step) return i;
    }
    return std::nullopt;
  }

  const Graph& graph_;
  std::set<ValueId> seen_;
};

// The dim of a value along which what it is computed from has its neighbours in memory: images with
// their channels last are given row-major, and transposed to where the graph has their channels. Of
// several the first that is as large as the value counts; the last dim where none says otherwise.
int DimOfNeighbours(const Graph& graph, ValueId value) {
  return Neighbours(graph).DimOf(value).value_or(graph.type(value).shape.rank() - 1);
}

// Elements into parts that divide them; 1 where none do.
std::int64_t PartsOf(std::int64_t count, std::int64_t results, const FusionLimits& limits) {
  const std::int64_t most =
      std::min(limits.max_reduction_parts, limits.max_partial_results / results);
  for (std::int64_t parts = most; parts >= limits.min_reduction_parts; --parts) {
    if (count % parts == 0) return parts;
  }
  return 1;
}

// A reduction in two phases: of `split` over `first`, and of what that gives over dim `second`.
struct Phases {
  Dims split;
  Dims first;
  std::int64_t second = 0;
};

std::optional<Phases> PhasesOf(const Dims& sizes, const Dims& reduced, std::int64_t results,
                               const FusionLimits& limits) {
  if (results == 1) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    const std::int64_t parts = PartsOf(count, results, limits);
    if (parts == 1) return std::nullopt;
    return Phases{{parts, count / parts}, {1}, 0};
  }
  // The dim that can be cut into the most parts is cut; of several the longest.
  std::int64_t cut = 0;
  std::int64_t parts = 1;
  for (const std::int64_t dim : reduced) {
    const std::int64_t length = sizes[static_cast<std::size_t>(dim)];
    const std::int64_t of_dim = PartsOf(length, results, limits);
    const bool is_longer = length > sizes[static_cast<std::size_t>(cut)];
    if (of_dim == 1 || of_dim < parts || (of_dim == parts && !is_longer)) continue;
    cut = dim;
    parts = of_dim;
  }
  if (parts == 1) return std::nullopt;
  const std::int64_t length = sizes[static_cast<std::size_t>(cut)];
  Phases phases;
  for (std::int64_t dim = 0; dim < static_cast<std::int64_t>(sizes.size()); ++dim) {
    const bool is_reduced = std::ranges::find(reduced, dim) != reduced.end();
    if (dim == cut) {
      phases.split.push_back(parts);
      phases.split.push_back(length / parts);
    } else {
      phases.split.push_back(sizes[static_cast<std::size_t>(dim)]);
    }
    if (is_reduced) phases.first.push_back(static_cast<std::int64_t>(phases.split.size()) - 1);
    if (!is_reduced && dim < cut) ++phases.second;
  }
  return phases;
}

}  // namespace

Result<Graph> SplitReductions(const Graph& graph, const FusionLimits& limits) {
  Rewriter rewriter(graph);
  return rewriter.Run([&](const Node& node,
                          std::span<const ValueId> operands) -> std::optional<ValueId> {
    if (node.kind != OpKind::kReduce) return std::nullopt;
    const TensorType& type = graph.type(node.results[0]);
    const Shape shape = rewriter.shape(operands[0]);
    if (!shape.IsStatic()) return std::nullopt;
    const std::int64_t count = ElementCount(shape);
    const std::int64_t results = ElementCount(type.shape);
    const Dims reduced = node.attributes.Ints(AttrName::kDims);
    const bool is_rows = std::ranges::count(reduced, DimOfNeighbours(graph, node.operands[0])) != 0;
    const std::int64_t most = is_rows ? limits.max_split_rows : limits.max_split_columns;
    if (results == 0 || results > most) return std::nullopt;
    const std::int64_t columns = limits.block_columns;
    const bool keeps_a_block =
        !is_rows && columns > 0 &&
        count / ((results + columns - 1) / columns) >= limits.min_split_block;
    if (count < limits.min_split_reduction && !keeps_a_block) return std::nullopt;
    Dims sizes;
    for (const SymDim& size : shape) sizes.push_back(size.constant());
    const std::optional<Phases> phases = PhasesOf(sizes, reduced, results, limits);
    if (!phases) return std::nullopt;
    const std::string kind = node.attributes.String(AttrName::kKind);
    // Partial sums of 16-bit floats are kept in f32.
    const bool is_narrow = type.dtype == DType::kF16 || type.dtype == DType::kBF16;
    const DType wide = is_narrow ? DType::kF32 : type.dtype;
    const auto convert = [&](ValueId value, DType dtype) {
      if (rewriter.type(value).dtype == dtype) return value;
      const Shape same = rewriter.shape(value);
      return rewriter.Add(OpKind::kConvert, {value}, {}, TensorType{dtype, same});
    };
    const auto reduce = [&](ValueId value, Dims dims) {
      return rewriter.Add(OpKind::kReduce, {value},
                          {{AttrName::kDims, std::move(dims)}, {AttrName::kKind, kind}});
    };
    std::vector<SymDim> split(phases->split.begin(), phases->split.end());
    const ValueId parts = rewriter.Reshape(convert(operands[0], wide), Shape(split));
    const ValueId total = reduce(reduce(parts, phases->first), {phases->second});
    return rewriter.Reshape(convert(total, type.dtype), type.shape);
  });
}

}  // namespace stoker
