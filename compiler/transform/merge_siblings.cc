#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/transform/channel_vector.h"
#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

// One matrix product that could be part of a larger one.
struct Sibling {
  const Node* dot = nullptr;
  const Node* bias = nullptr;  // The addition of its bias, or nullptr.
  ValueId bias_operand = 0;    // Of the source graph.
  SymDim begin;                // Its columns in the merged product.
};

struct Family {
  std::vector<Sibling> siblings;
  ValueId merged = kNoValue;
};

class SiblingMerger {
 public:
  explicit SiblingMerger(Rewriter& rewriter) : r_(rewriter), graph_(rewriter.source()) {
    readers_.resize(graph_.values().size());
    parameter_only_.resize(graph_.values().size(), false);
    for (const GraphInput& input : graph_.inputs()) {
      parameter_only_[input.value] = input.role == InputRole::kParameter;
    }
    for (const Node& node : graph_.nodes()) {
      bool all = true;
      for (const ValueId operand : node.operands) {
        readers_[operand].push_back(&node);
        all = all && parameter_only_[operand];
      }
      for (const ValueId result : node.results) parameter_only_[result] = all;
    }
    FindFamilies();
  }

  std::optional<ValueId> operator()(const Node& node, std::span<const ValueId>) {
    const auto place = places_.find(node.results[0]);
    if (place == places_.end()) return std::nullopt;
    Family& family = families_[place->second.first];
    if (family.merged == kNoValue) family.merged = Merge(family);
    const Sibling& sibling = family.siblings[place->second.second];
    const Shape shape = r_.shape(family.merged);
    std::vector<SymDim> start(shape.dims().size(), 0);
    std::vector<SymDim> limit = shape.dims();
    start.back() = sibling.begin;
    limit.back() = sibling.begin + graph_.type(sibling.dot->results[0]).shape.dims().back();
    const std::vector<std::int64_t> stride(start.size(), 1);
    return r_.Add(
        OpKind::kSlice, {family.merged},
        {{AttrName::kStart, start}, {AttrName::kLimit, limit}, {AttrName::kStride, stride}});
  }

 private:
  using FamilyKey = std::tuple<ValueId, std::vector<std::int64_t>, std::vector<std::int64_t>>;

  void FindFamilies() {
    std::map<FamilyKey, std::vector<Sibling>> candidates;
    for (const Node& node : graph_.nodes()) {
      if (node.kind != OpKind::kDotGeneral) continue;
      const Attributes& attributes = node.attributes;
      if (!attributes.Ints(AttrName::kLhsBatch).empty() ||
          attributes.Ints(AttrName::kRhsContract).size() != 1 ||
          graph_.type(node.operands[1]).shape.rank() != 2 || !parameter_only_[node.operands[1]] ||
          parameter_only_[node.operands[0]]) {
        continue;
      }
      Sibling sibling{&node, nullptr, 0, 0};
      FindBias(sibling);
      const ValueId end = (sibling.bias != nullptr ? sibling.bias : &node)->results[0];
      if (!FeedsAttentionAlone(end, 0)) continue;
      candidates[{node.operands[0], attributes.Ints(AttrName::kLhsContract),
                  attributes.Ints(AttrName::kRhsContract)}]
          .push_back(sibling);
    }
    for (auto& [key, siblings] : candidates) {
      if (siblings.size() < 2) continue;
      SymDim columns = 0;
      for (std::size_t i = 0; i < siblings.size(); ++i) {
        Sibling& sibling = siblings[i];
        sibling.begin = columns;
        columns = columns + graph_.type(sibling.dot->results[0]).shape.dims().back();
        const Node* end = sibling.bias != nullptr ? sibling.bias : sibling.dot;
        places_[end->results[0]] = {families_.size(), i};
      }
      families_.push_back({std::move(siblings), kNoValue});
    }
  }

  void FindBias(Sibling& sibling) const {
    const std::vector<const Node*>& readers = readers_[sibling.dot->results[0]];
    if (readers.size() != 1 || readers[0]->kind != OpKind::kAdd || IsOutput(sibling.dot)) return;
    const Node& add = *readers[0];
    const ValueId other =
        add.operands[0] == sibling.dot->results[0] ? add.operands[1] : add.operands[0];
    const NodeId producer = graph_.value(other).producer;
    if (!parameter_only_[other] || producer == kNoNode) return;
    const Node& broadcast = graph_.node(producer);
    const std::vector<std::int64_t> last = {graph_.type(other).shape.rank() - 1};
    if (broadcast.kind != OpKind::kBroadcastInDim ||
        broadcast.attributes.Ints(AttrName::kDims) != last) {
      return;
    }
    sibling.bias = &add;
    sibling.bias_operand = other;
  }

  bool IsOutput(const Node* node) const {
    const std::vector<ValueId>& outputs = graph_.outputs();
    return std::find(outputs.begin(), outputs.end(), node->results[0]) != outputs.end();
  }

  // A pointwise reader would have been the epilogue of a product of its own.
  bool FeedsAttentionAlone(ValueId value, int depth) const {
    constexpr int kMaxDepth = 16;
    if (depth == kMaxDepth || readers_[value].empty()) return false;
    const std::vector<ValueId>& outputs = graph_.outputs();
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return false;
    return std::all_of(readers_[value].begin(), readers_[value].end(), [&](const Node* reader) {
      if (reader->kind == OpKind::kAttention) return true;
      return IsView(reader->kind) && FeedsAttentionAlone(reader->results[0], depth + 1);
    });
  }

  ValueId Merge(const Family& family) {
    const Node& first = *family.siblings[0].dot;
    const std::int64_t contract = first.attributes.Ints(AttrName::kRhsContract)[0];
    std::vector<ValueId> weights;
    for (const Sibling& sibling : family.siblings) {
      weights.push_back(r_.Map(sibling.dot->operands[1]));
    }
    const ValueId weight = r_.Add(OpKind::kConcatenate, weights, {{AttrName::kDim, 1 - contract}});
    const ValueId product =
        r_.Add(OpKind::kDotGeneral, {r_.Map(first.operands[0]), weight}, first.attributes);
    const int channel = r_.shape(product).rank() - 1;
    const DType dtype = r_.type(product).dtype;
    std::vector<ValueId> biases;
    bool has_bias = false;
    for (const Sibling& sibling : family.siblings) {
      const Shape columns({graph_.type(sibling.dot->results[0]).shape.dims().back()});
      has_bias = has_bias || sibling.bias != nullptr;
      biases.push_back(sibling.bias == nullptr
                           ? r_.Scalar({dtype, columns}, 0)
                           : *ChannelVectorOf(r_, r_.Map(sibling.bias_operand), channel));
    }
    if (!has_bias) return product;
    const ValueId bias = r_.Add(OpKind::kConcatenate, biases, {{AttrName::kDim, std::int64_t{0}}});
    return r_.Add(OpKind::kAdd, {product, r_.Broadcast(bias, {channel}, r_.shape(product))});
  }

  Rewriter& r_;
  const Graph& graph_;
  std::vector<std::vector<const Node*>> readers_;
  std::vector<bool> parameter_only_;
  std::vector<Family> families_;
  std::map<ValueId, std::pair<std::size_t, std::size_t>> places_;  // -> family, sibling.
};

}  // namespace

Result<Graph> MergeSiblings(const Graph& graph) {
  Rewriter rewriter(graph);
  return rewriter.Run(SiblingMerger(rewriter));
}

}  // namespace stoker
