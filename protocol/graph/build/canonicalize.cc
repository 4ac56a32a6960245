#include "protocol/graph/build/canonicalize.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace stoker {
namespace {

std::vector<bool> FindLiveNodes(const GraphParts& parts) {
  std::vector<bool> live(parts.nodes.size());
  const auto mark = [&](ValueId id) {
    if (parts.values[id].producer != kNoNode) live[parts.values[id].producer] = true;
  };
  for (const ValueId id : parts.outputs) mark(id);
  for (std::size_t i = parts.nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const ValueId id : parts.nodes[i].operands) mark(id);
  }
  return live;
}

std::uint64_t Mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15U;
  return h ^ (h >> 32);
}

std::uint64_t HashBytes(std::uint64_t h, std::string_view bytes) {
  return Mix(h, std::hash<std::string_view>()(bytes));
}

struct AttrHash {
  std::uint64_t h;

  void operator()(std::int64_t v) { h = Mix(h, static_cast<std::uint64_t>(v)); }
  void operator()(bool v) { h = Mix(h, v ? 1 : 0); }
  void operator()(double v) { h = Mix(h, std::bit_cast<std::uint64_t>(v)); }
  void operator()(const std::string& v) { h = HashBytes(h, v); }
  void operator()(const SymDim& v) { h = Mix(h, v.Hash()); }
  void operator()(const Region& v) { h = HashBytes(h, v.graph().digest().AsBytes()); }
  template <typename T>
  void operator()(const std::vector<T>& list) {
    h = Mix(h, list.size());
    for (const T& v : list) (*this)(v);
  }
};

// Doubles compare by their bits: 0.0 and -0.0 differ, a NaN equals itself.
bool SameValue(const AttrValue& a, const AttrValue& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
}

bool SameAttributes(const Attributes& a, const Attributes& b) {
  return std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(), b.entries().end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && SameValue(x.second, y.second);
                    });
}

// Merges equal nodes: the first of them stands for all. An open-addressing table of node ids.
class NodeMerger {
 public:
  NodeMerger(GraphParts& parts, std::size_t capacity)
      : parts_(parts), table_(std::bit_ceil(capacity * 2 + 1), kNoNode) {}

  // The first node equal to this one, which may be itself.
  NodeId FirstEqual(NodeId id) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t slot = Hash(parts_.nodes[id]) & mask;; slot = (slot + 1) & mask) {
      if (table_[slot] == kNoNode) return table_[slot] = id;
      if (Equal(parts_.nodes[table_[slot]], parts_.nodes[id])) return table_[slot];
    }
  }

 private:
  const TensorType& type(ValueId id) const { return parts_.values[id].type; }

  std::uint64_t Hash(const Node& node) const {
    AttrHash hash{static_cast<std::uint64_t>(node.kind)};
    for (const ValueId id : node.operands) hash.h = Mix(hash.h, id);
    for (const auto& [name, value] : node.attributes.entries()) {
      hash.h = Mix(hash.h, static_cast<std::uint64_t>(name));
      std::visit(hash, value);
    }
    for (const ValueId id : node.results) {
      hash.h = Mix(hash.h, static_cast<std::uint64_t>(type(id).dtype));
      hash(type(id).shape.dims());
    }
    return HashBytes(hash.h, node.constant);
  }

  bool Equal(const Node& a, const Node& b) const {
    if (a.kind != b.kind || a.operands != b.operands || a.constant != b.constant) return false;
    if (!SameAttributes(a.attributes, b.attributes)) return false;
    return std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(),
                      [&](ValueId x, ValueId y) { return type(x) == type(y); });
  }

  GraphParts& parts_;
  std::vector<NodeId> table_;
};

// Rewrites operands and outputs to the results of the first of equal nodes.
void MergeEqualNodes(GraphParts& parts) {
  const std::vector<bool> live = FindLiveNodes(parts);
  std::vector<ValueId> replacement(parts.values.size());
  std::iota(replacement.begin(), replacement.end(), 0U);
  NodeMerger merger(parts, static_cast<std::size_t>(std::count(live.begin(), live.end(), true)));
  for (NodeId id = 0; id < parts.nodes.size(); ++id) {
    if (!live[id]) continue;
    Node& node = parts.nodes[id];
    for (ValueId& operand : node.operands) operand = replacement[operand];
    if (CallsHost(node)) continue;
    const NodeId first = merger.FirstEqual(id);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      replacement[node.results[i]] = parts.nodes[first].results[i];
    }
  }
  for (ValueId& output : parts.outputs) output = replacement[output];
}

// Depth first from the outputs, operands left to right, a node after its operands.
std::vector<NodeId> PostOrder(const GraphParts& parts) {
  struct Visit {
    NodeId node;
    std::size_t next_operand;
  };
  std::vector<NodeId> order;
  std::vector<bool> seen(parts.nodes.size());
  std::vector<Visit> stack;
  const auto enter = [&](ValueId id) {
    const NodeId node = parts.values[id].producer;
    if (node == kNoNode || seen[node]) return;
    seen[node] = true;
    stack.push_back({node, 0});
  };
  for (const ValueId output : parts.outputs) {
    enter(output);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const std::vector<ValueId>& operands = parts.nodes[visit.node].operands;
      if (visit.next_operand < operands.size()) {
        enter(operands[visit.next_operand++]);
      } else {
        order.push_back(visit.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

void Reorder(GraphParts& parts, const std::vector<NodeId>& order) {
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ValueId> new_ids(parts.values.size(), 0);
  nodes.reserve(order.size());
  values.reserve(parts.inputs.size() + order.size());
  const auto take = [&](ValueId id, NodeId producer) {
    const auto new_id = static_cast<ValueId>(values.size());
    values.push_back(std::move(parts.values[id]));
    values.back().producer = producer;
    return new_ids[id] = new_id;
  };
  for (GraphInput& input : parts.inputs) input.value = take(input.value, kNoNode);
  for (const NodeId old : order) {
    const auto id = static_cast<NodeId>(nodes.size());
    Node& node = nodes.emplace_back(std::move(parts.nodes[old]));
    for (ValueId& operand : node.operands) operand = new_ids[operand];
    for (ValueId& result : node.results) result = take(result, id);
  }
  for (ValueId& output : parts.outputs) output = new_ids[output];
  parts.nodes = std::move(nodes);
  parts.values = std::move(values);
}

class SymbolNumbering {
 public:
  explicit SymbolNumbering(const GraphParts& parts) {
    for (const GraphInput& input : parts.inputs) {
      for (const SymDim& dim : parts.values[input.value].type.shape) {
        const std::optional<std::uint32_t> symbol = dim.AsSymbol();
        if (!symbol || numbers_.contains(*symbol)) continue;
        const auto number = static_cast<std::uint32_t>(numbers_.size());
        numbers_.emplace(*symbol, SymDim::Symbol(number));
        identity_ = identity_ && *symbol == number;
      }
    }
  }

  std::uint32_t count() const { return static_cast<std::uint32_t>(numbers_.size()); }

  // The dims with the new numbers, when they differ.
  Result<std::optional<std::vector<SymDim>>> Apply(const std::vector<SymDim>& dims) const {
    bool symbolic = false;
    for (const SymDim& dim : dims) {
      if (dim.IsConstant()) continue;
      symbolic = true;
      STOKER_RETURN_IF_ERROR(CheckNumbered(dim));
    }
    if (!symbolic || identity_) return std::optional<std::vector<SymDim>>();
    std::vector<SymDim> numbered;
    numbered.reserve(dims.size());
    for (const SymDim& dim : dims) numbered.push_back(dim.Substitute(numbers_));
    return std::optional<std::vector<SymDim>>(std::move(numbered));
  }

 private:
  Status CheckNumbered(const SymDim& dim) const {
    if (const std::optional<std::uint32_t> symbol = dim.AsSymbol()) return CheckNumbered(*symbol);
    for (const std::uint32_t symbol : dim.Symbols()) {
      STOKER_RETURN_IF_ERROR(CheckNumbered(symbol));
    }
    return Ok();
  }

  Status CheckNumbered(std::uint32_t symbol) const {
    if (numbers_.contains(symbol)) return Ok();
    return InvalidArgument("Symbol s" + std::to_string(symbol) +
                           " is not the size of any input dimension.");
  }

  std::map<std::uint32_t, SymDim> numbers_;
  bool identity_ = true;
};

Status NumberSymbols(const SymbolNumbering& numbering, GraphParts& parts) {
  for (Value& value : parts.values) {
    STOKER_TRY(auto dims, numbering.Apply(value.type.shape.dims()));
    if (dims) value.type.shape = Shape(*std::move(dims));
  }
  for (Node& node : parts.nodes) {
    const auto entries = node.attributes.entries().size();
    for (std::size_t i = 0; i < entries; ++i) {
      const auto& [name, value] = node.attributes.entries()[i];
      const auto* list = std::get_if<std::vector<SymDim>>(&value);
      if (list == nullptr) continue;
      STOKER_TRY(auto dims, numbering.Apply(*list));
      if (dims) node.attributes.Set(name, *std::move(dims));
    }
  }
  return Ok();
}

}  // namespace

Result<std::uint32_t> Canonicalize(GraphParts& parts) {
  MergeEqualNodes(parts);
  Reorder(parts, PostOrder(parts));
  const SymbolNumbering numbering(parts);
  STOKER_RETURN_IF_ERROR(NumberSymbols(numbering, parts));
  return numbering.count();
}

}  // namespace stoker
