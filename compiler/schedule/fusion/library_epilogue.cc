#include "compiler/schedule/fusion/library_epilogue.h"

#include <algorithm>
#include <optional>

#include "compiler/analysis/op_traits.h"
#include "compiler/analysis/view_index.h"
#include "protocol/graph/interpret/interpreter.h"

namespace stoker {
namespace {

enum class Addend : std::uint8_t { kBias, kMatrix, kNeither };

class Chain {
 public:
  Chain(const Graph& graph, const Reads& reads, const Group& group)
      : graph_(graph), reads_(reads), group_(group) {}

  const char* Refusal(NodeId node_id, const ElementIndex& placement) const {
    const ValueId last = graph_.node(group_.nodes.back()).results[0];
    if (const char* why = LastIsReadOnce(node_id, last)) return why;
    const Node& node = graph_.node(node_id);
    if (Has(OpKind::kMaximum) && node.kind != OpKind::kConvert) {
      return "comes after what the library ends with";
    }
    const bool is_f64 = graph_.type(graph_.node(group_.hero).results[0]).dtype == DType::kF64;
    const char* why = kNotTaken;
    if (node.kind == OpKind::kConvert) {
      if (IsFloat(graph_.type(node.results[0]).dtype)) why = nullptr;
    } else if (node.kind == OpKind::kMultiply) {
      const bool is_first = !Has(OpKind::kAdd) && !Has(OpKind::kMultiply);
      if (is_first && SplatBeside(node, last)) why = nullptr;
    } else if (node.kind == OpKind::kMaximum) {
      if (!is_f64 && SplatBeside(node, last) == 0.0) why = nullptr;
    } else if (node.kind == OpKind::kAdd) {
      why = RefusalOfAddend(node_id, placement, is_f64);
    }
    return why;
  }

  const char* RefusalOfLast() const {
    const Node& last = graph_.node(group_.nodes.back());
    const DType result = graph_.type(last.results[0]).dtype;
    for (const NodeId id : group_.nodes) {
      if (graph_.node(id).kind == OpKind::kAdd && !AddsOf(id, result)) {
        return "the library adds operands of the result's type alone";
      }
    }
    if (last.kind != OpKind::kConvert) return nullptr;
    const DType from = graph_.type(last.operands[0]).dtype;
    const bool widens = SizeInBytes(from) < SizeInBytes(result);
    return widens && IsReadByLoops(last.results[0])
               ? "is cheap where it is read, and wider in memory"
               : nullptr;
  }

 private:
  static constexpr const char* kNotTaken = "is nothing that the library computes along";

  bool Has(OpKind kind) const {
    return std::ranges::any_of(group_.nodes,
                               [&](NodeId id) { return graph_.node(id).kind == kind; });
  }

  const char* LastIsReadOnce(NodeId node_id, ValueId last) const {
    const std::vector<std::uint32_t>& readers = reads_.OfSource(last);
    const bool is_read_once = readers.size() == 1 && reads_.read(readers[0]).reader == node_id;
    if (!is_read_once) return "is not all that reads the neighbour";
    for (const ValueId output : graph_.outputs()) {
      if (Reads::OriginOf(graph_, output).source == last) return "the neighbour is an output";
    }
    return nullptr;
  }

  // Whether what an Add of the chain adds is in memory as elements of this type.
  bool AddsOf(NodeId add, DType dtype) const {
    for (const Read& read : reads_.OfReader(add)) {
      const NodeId producer = graph_.value(read.source).producer;
      if (producer != kNoNode && group_.Contains(producer)) continue;
      const bool is_converted =
          producer != kNoNode && graph_.node(producer).kind == OpKind::kConvert;
      const bool fits =
          graph_.type(read.source).dtype == dtype ||
          (is_converted && graph_.type(graph_.node(producer).operands[0]).dtype == dtype);
      if (!fits) return false;
    }
    return true;
  }

  // Whether all that reads it computes with it.
  bool IsReadByLoops(ValueId value) const {
    for (const ValueId output : graph_.outputs()) {
      if (Reads::OriginOf(graph_, output).source == value) return false;
    }
    return std::ranges::all_of(reads_.OfSource(value), [&](std::uint32_t index) {
      const OpRole role = RoleOf(graph_, graph_.node(reads_.read(index).reader));
      return role == OpRole::kPointwise || role == OpRole::kReduce;
    });
  }

  // The number that all elements of the node's operand beside `last` are.
  std::optional<double> SplatBeside(const Node& node, ValueId last) const {
    for (const ValueId operand : node.operands) {
      const ValueId source = Reads::OriginOf(graph_, operand).source;
      const NodeId producer = graph_.value(source).producer;
      if (source == last || producer == kNoNode) continue;
      const Node& constant = graph_.node(producer);
      if (constant.kind != OpKind::kConstant) continue;
      return SplatOf(constant, graph_.type(source).dtype);
    }
    return std::nullopt;
  }

  static std::optional<double> SplatOf(const Node& constant, DType dtype) {
    if (constant.constant.size() != static_cast<std::size_t>(SizeInBytes(dtype))) {
      return std::nullopt;
    }
    const InterpreterTensor tensor = InterpreterTensor::FromBytes(dtype, {}, constant.constant);
    const auto* numbers = std::get_if<std::vector<double>>(&tensor.elements);
    return numbers == nullptr ? std::nullopt : std::optional(numbers->front());
  }

  const char* RefusalOfAddend(NodeId node_id, const ElementIndex& placement, bool is_f64) const {
    const Addend addend = AddendOf(node_id, placement);
    if (addend == Addend::kNeither || (addend == Addend::kBias && is_f64)) return kNotTaken;
    for (const NodeId other : group_.nodes) {
      if (graph_.node(other).kind != OpKind::kAdd) continue;
      if (AddendOf(other, group_.placement.at(other)) == addend) {
        return "the library adds one such operand alone";
      }
    }
    return nullptr;
  }

  // One element for each column, or for each element of the product.
  Addend AddendOf(NodeId node_id, const ElementIndex& placement) const {
    for (const Read& read : reads_.OfReader(node_id)) {
      const NodeId producer = graph_.value(read.source).producer;
      if (producer != kNoNode && group_.Contains(producer)) continue;
      std::optional<ElementIndex> index =
          OperandIndex(graph_, group_, graph_.node(node_id), read.operand, placement);
      for (const NodeId view : read.views) {
        if (index) index = PullThroughView(graph_, graph_.node(view), *index, group_.space);
      }
      if (!index) return Addend::kNeither;
      const std::vector<int> used = DimsOf(*index);
      const int n = group_.space.rank() - 1;
      int unused = 0;
      for (int dim = 0; dim < n; ++dim) {
        const bool is_used = std::binary_search(used.begin(), used.end(), dim);
        unused += !is_used && group_.space.extent(dim) != SymDim(1) ? 1 : 0;
      }
      const bool has_columns =
          std::binary_search(used.begin(), used.end(), n) || group_.space.extent(n) == SymDim(1);
      if (!has_columns) return Addend::kNeither;
      if (unused == 0) return Addend::kMatrix;
      return used.size() <= 1 ? Addend::kBias : Addend::kNeither;
    }
    return Addend::kNeither;  // It adds the product to itself.
  }

  const Graph& graph_;
  const Reads& reads_;
  const Group& group_;
};

}  // namespace

const char* RefusalOfLibrary(const Graph& graph, const Reads& reads, const Group& group,
                             NodeId node, const ElementIndex& placement) {
  return Chain(graph, reads, group).Refusal(node, placement);
}

const char* RefusalOfLast(const Graph& graph, const Reads& reads, const Group& group) {
  return Chain(graph, reads, group).RefusalOfLast();
}

}  // namespace stoker
