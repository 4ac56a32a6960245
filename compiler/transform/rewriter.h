// Rewriter: makes a graph from another, node by node, in topological order.
//
// A pass is a rule that sees each node with its operands already rewritten, and gives other values
// for its results or lets it be copied. What a rule adds goes through GraphBuilder, so that every
// pass is verified; dead nodes vanish when the new graph is built.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/graph/build/graph_builder.h"

namespace stoker {

class Rewriter {
 public:
  // What the rules may know of a value of the new graph.
  struct Definition {
    OpKind kind = OpKind::kConstant;
    std::vector<ValueId> operands;
    Attributes attributes;
    std::string constant;
  };

  explicit Rewriter(const Graph& source);

  // Results for `node`, or nothing: it is copied.
  using Rule =
      std::function<std::optional<ValueId>(const Node& node, std::span<const ValueId> operands)>;
  // The same for nodes with several results: a value for each, or none.
  using RuleOfSeveral =
      std::function<std::vector<ValueId>(const Node& node, std::span<const ValueId> operands)>;
  Result<Graph> Run(const Rule& rule, const RuleOfSeveral& several = nullptr);

  const Graph& source() const { return source_; }
  // What a value of the source graph became; rewrites what leads to it first, if need be.
  ValueId Map(ValueId source_value);
  // Readers of a value of the source graph, outputs included.
  int UsesInSource(ValueId value) const { return uses_[value]; }

  const TensorType& type(ValueId value) const { return builder_.type(value); }
  const Shape& shape(ValueId value) const { return type(value).shape; }
  // nullptr for an input, and for a result of a node that has several.
  const Definition* Find(ValueId value) const;
  const Definition* Find(ValueId value, OpKind kind) const;  // nullptr unless of that kind.
  bool IsConstant(ValueId value) const { return Find(value, OpKind::kConstant) != nullptr; }
  bool IsSplat(ValueId value) const;
  // The value of a splat of a float dtype (or of another, as a double).
  std::optional<double> SplatOf(ValueId value) const;
  // Whether it follows from parameters and constants alone.
  bool IsParameterOnly(ValueId value) const { return parameter_only_[value]; }

  ValueId Add(OpKind kind, std::vector<ValueId> operands, Attributes attributes = {},
              std::optional<TensorType> hint = std::nullopt);
  ValueId Constant(TensorType type, std::string elements);
  ValueId Scalar(TensorType type, double value);
  ValueId Reshape(ValueId value, Shape shape);
  ValueId Broadcast(ValueId value, std::vector<std::int64_t> dims, Shape shape);
  ValueId Transpose(ValueId value, std::vector<std::int64_t> dims);

 private:
  void Visit(const Node& node);
  void VisitSeveral(const Node& node, std::span<const ValueId> operands);
  void Note(ValueId value, Definition definition, bool parameter_only);

  const Graph& source_;
  GraphBuilder builder_;
  std::vector<int> uses_;
  const Rule* rule_ = nullptr;
  const RuleOfSeveral* several_ = nullptr;
  std::vector<ValueId> mapped_;  // Per value of the source graph; kNoValue: not yet.
  // A deque: what Find() gives stays where it is while nodes are added.
  std::deque<std::optional<Definition>> definitions_;
  std::vector<bool> parameter_only_;
};

std::int64_t ElementCount(const Shape& shape);  // Requires a static shape.

}  // namespace stoker
