// GraphBuilder: the one way to make a Graph. Every Add verifies the node and infers its result
// types; the first error is kept and returned by Build, so that calls can be chained without
// checking each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/graph/graph.h"

namespace stoker {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);

  // Inputs take positions in the order of the calls.
  ValueId Input(TensorType type, InputRole role = InputRole::kActivation);
  // `elements`: row-major little-endian, or one element for a splat.
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

  const TensorType& type(ValueId id) const;
  bool ok() const { return !error_.has_value(); }

  // Canonicalizes, computes the digest. The builder is spent afterwards.
  Result<Graph> Build(std::span<const ValueId> outputs);

 private:
  Graph graph_;
  std::optional<Error> error_;
};

// The verifier and shape function of every op: result types of a node, or an error that names the
// operand or attribute, its value and what is expected.
Result<std::vector<TensorType>> InferTypes(OpKind kind, std::span<const TensorType> operands,
                                           const Attributes& attributes,
                                           std::span<const TensorType> result_hints);

}  // namespace stoker
