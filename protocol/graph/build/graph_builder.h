// GraphBuilder: the one way to make a Graph. Every Add verifies the node and infers its result
// types; the first error is kept and returned by Build, so that calls can be chained without
// checking each: after an error every call gives kNoValue.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/graph/graph.h"

namespace stoker {

inline constexpr ValueId kNoValue = 0xffffffffU;

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);

  // Inputs take positions in the order of the calls.
  ValueId Input(TensorType type, InputRole role = InputRole::kActivation);
  // `elements`: row-major little-endian, or one element for a splat (any shape).
  ValueId Constant(TensorType type, std::string elements);
  // A splat of `value` converted to type.dtype.
  ValueId Scalar(TensorType type, double value);

  // `result_hint`: needed where the result type does not follow from operands and attributes
  // (reshape, broadcast_in_dim, iota, convert, bitcast_convert, extern_call); elsewhere, when
  // given, it is checked against the inferred one.
  ValueId Add(OpKind kind, std::span<const ValueId> operands, Attributes attributes = {},
              std::optional<TensorType> result_hint = std::nullopt);
  // For nodes with several results (sort, top_k, extern_call).
  std::vector<ValueId> AddMulti(OpKind kind, std::span<const ValueId> operands,
                                Attributes attributes = {},
                                std::vector<TensorType> result_hints = {});

  const TensorType& type(ValueId id) const;  // kNoValue: some type.
  std::size_t num_values() const { return graph_.values_.size(); }
  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }  // Requires !ok().

  // Canonicalizes, computes the digest. The builder is spent afterwards.
  Result<Graph> Build(std::span<const ValueId> outputs, std::span<const InputUpdate> updates = {});

 private:
  // Verifies and appends a node; its id, or kNoNode after an error.
  NodeId Append(OpKind kind, std::span<const ValueId> operands, Attributes attributes,
                std::span<const TensorType> hints, std::string constant);
  ValueId AppendValue(TensorType type, NodeId producer, std::uint32_t index);
  // Verifies them against the graph's inputs and outputs, and brings them into canonical form.
  Status TakeUpdates(std::span<const InputUpdate> updates);
  // The limits of what regions hold.
  Status CountRegions(const Attributes& attributes);
  // What the graph's nodes say of it as a whole.
  void SumUp();
  void Fail(Error error);

  Graph graph_;
  std::size_t region_nodes_ = 0;
  std::size_t constant_bytes_ = 0;
  std::vector<TensorType> operand_types_;  // Of the node being added.
  std::optional<Error> error_;
};

// The verifier and shape function of every op: result types of a node, or an error that names the
// operand or attribute, its value and what is expected.
Result<std::vector<TensorType>> InferTypes(OpKind kind, std::span<const TensorType> operands,
                                           const Attributes& attributes,
                                           std::span<const TensorType> result_hints);

}  // namespace stoker
