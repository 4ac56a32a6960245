#include <algorithm>
#include <map>
#include <utility>

#include "compiler/transform/passes.h"
#include "compiler/transform/rewriter.h"

namespace stoker {
namespace {

// Of one product: each is a branch wherever the concatenated operands are read.
constexpr std::size_t kMaxMerged = 32;

// Of a product of two matrices: one of them, without the transposes on its way, and the dim of its
// terms.
struct Factor {
  ValueId value = 0;  // Of the source graph.
  std::int64_t terms = 0;
};

struct Summand {
  Factor lhs, rhs;
};

class SummandMerger {
 public:
  explicit SummandMerger(Rewriter& rewriter) : r_(rewriter), graph_(rewriter.source()) {
    read_by_add_.resize(graph_.values().size(), false);
    for (const Node& node : graph_.nodes()) {
      if (node.kind != OpKind::kAdd) continue;
      for (const ValueId operand : node.operands) read_by_add_[operand] = true;
    }
  }

  std::optional<ValueId> operator()(const Node& node, std::span<const ValueId>) {
    if (node.kind != OpKind::kAdd || IsInner(node.results[0])) return std::nullopt;
    if (!IsFloat(graph_.type(node.results[0]).dtype)) return std::nullopt;
    // By which dims hold the terms, in the order of the sum.
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Summand>> products;
    std::vector<ValueId> others;
    bool is_worth_it = false;
    for (const ValueId leaf : LeavesOf(node)) {
      const std::optional<Summand> summand = SummandOf(leaf);
      if (!summand) {
        others.push_back(leaf);
        continue;
      }
      std::vector<Summand>& alike = products[{summand->lhs.terms, summand->rhs.terms}];
      alike.push_back(*summand);
      is_worth_it = is_worth_it || alike.size() > 1;
    }
    if (!is_worth_it) return std::nullopt;
    std::vector<ValueId> sums;
    for (const auto& [terms, alike] : products) {
      for (std::size_t i = 0; i < alike.size(); i += kMaxMerged) {
        sums.push_back(
            Merge(std::span(alike).subspan(i).first(std::min(kMaxMerged, alike.size() - i))));
      }
    }
    for (const ValueId other : others) sums.push_back(r_.Map(other));
    ValueId sum = sums[0];
    for (std::size_t i = 1; i < sums.size(); ++i) sum = r_.Add(OpKind::kAdd, {sum, sums[i]});
    return sum;
  }

 private:
  const Node* ProducerOf(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    return producer == kNoNode ? nullptr : &graph_.node(producer);
  }

  // Of a sum that is itself a summand, and nothing else.
  bool IsInner(ValueId value) const { return r_.UsesInSource(value) == 1 && read_by_add_[value]; }

  std::vector<ValueId> LeavesOf(const Node& root) const {
    std::vector<ValueId> leaves;
    std::vector<ValueId> open(root.operands.rbegin(), root.operands.rend());
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      const Node* node = ProducerOf(value);
      if (node != nullptr && node->kind == OpKind::kAdd && IsInner(value)) {
        open.insert(open.end(), node->operands.rbegin(), node->operands.rend());
      } else {
        leaves.push_back(value);
      }
    }
    return leaves;
  }

  Factor FactorOf(ValueId value, std::int64_t terms) const {
    const Node* node = ProducerOf(value);
    while (node != nullptr && node->kind == OpKind::kTranspose) {
      terms = node->attributes.Ints(AttrName::kDims)[static_cast<std::size_t>(terms)];
      value = node->operands[0];
      node = ProducerOf(value);
    }
    return {value, terms};
  }

  // A product of two matrices that are both computed, read by the sum alone, with so few terms that
  // its result is more to write and to read than its operands are to copy.
  std::optional<Summand> SummandOf(ValueId value) const {
    const Node* node = ProducerOf(value);
    if (node == nullptr || node->kind != OpKind::kDotGeneral || r_.UsesInSource(value) != 1) {
      return std::nullopt;
    }
    const Shape& lhs = graph_.type(node->operands[0]).shape;
    const Shape& rhs = graph_.type(node->operands[1]).shape;
    const Shape& result = graph_.type(value).shape;
    const std::vector<std::int64_t>& lhs_terms = node->attributes.Ints(AttrName::kLhsContract);
    const std::vector<std::int64_t>& rhs_terms = node->attributes.Ints(AttrName::kRhsContract);
    if (lhs.rank() != 2 || rhs.rank() != 2 || result.rank() != 2 || lhs_terms.size() != 1 ||
        !lhs.IsStatic() || !rhs.IsStatic()) {
      return std::nullopt;
    }
    const std::int64_t m = result[0].constant();
    const std::int64_t n = result[1].constant();
    const std::int64_t k = lhs[static_cast<int>(lhs_terms[0])].constant();
    if (k == 0 || k * (m + n) > 2 * m * n) return std::nullopt;
    Summand summand{FactorOf(node->operands[0], lhs_terms[0]),
                    FactorOf(node->operands[1], rhs_terms[0])};
    for (const Factor& factor : {summand.lhs, summand.rhs}) {
      if (r_.IsParameterOnly(r_.Map(factor.value))) return std::nullopt;  // Packed once.
    }
    return summand;
  }

  ValueId Concatenate(std::span<const Summand> summands, Factor Summand::*side) {
    std::vector<ValueId> values;
    for (const Summand& summand : summands) values.push_back(r_.Map((summand.*side).value));
    if (values.size() == 1) return values[0];
    const std::int64_t dim = (summands[0].*side).terms;
    return r_.Add(OpKind::kConcatenate, std::move(values), {{AttrName::kDim, dim}});
  }

  ValueId Merge(std::span<const Summand> summands) {
    const ValueId lhs = Concatenate(summands, &Summand::lhs);
    const ValueId rhs = Concatenate(summands, &Summand::rhs);
    const std::vector<std::int64_t> none;
    return r_.Add(OpKind::kDotGeneral, {lhs, rhs},
                  {{AttrName::kLhsBatch, none},
                   {AttrName::kLhsContract, std::vector<std::int64_t>{summands[0].lhs.terms}},
                   {AttrName::kRhsBatch, none},
                   {AttrName::kRhsContract, std::vector<std::int64_t>{summands[0].rhs.terms}}});
  }

  Rewriter& r_;
  const Graph& graph_;
  std::vector<bool> read_by_add_;
};

}  // namespace

Result<Graph> MergeSummands(const Graph& graph) {
  Rewriter rewriter(graph);
  SummandMerger merger(rewriter);
  return rewriter.Run(
      [&](const Node& node, std::span<const ValueId> operands) { return merger(node, operands); });
}

}  // namespace stoker
