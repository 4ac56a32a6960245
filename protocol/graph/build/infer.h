// The pieces of InferTypes, one function per group of ops. Private to protocol/graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/graph/build/graph_builder.h"
#include "protocol/graph/op_table.h"

namespace stoker {

// A node to verify: the number of operands, the names and types of the attributes and the dtype of
// operand 0 are right.
struct NodeTypes {
  OpKind kind;
  std::span<const TensorType> operands;
  const Attributes& attributes;
  std::span<const TensorType> hints;
  // Takes dims that must not be negative in a call, as far as that cannot be decided; may be null.
  std::vector<SymDim>* conditions = nullptr;
};

// InferTypes of one node.
Result<std::vector<TensorType>> InferNode(const NodeTypes& node);

Result<std::vector<TensorType>> InferPointwise(const NodeTypes& node);
Result<std::vector<TensorType>> InferShapeOp(const NodeTypes& node);
Result<std::vector<TensorType>> InferReduction(const NodeTypes& node);
Result<std::vector<TensorType>> InferContraction(const NodeTypes& node);  // And attention.
Result<std::vector<TensorType>> InferIndexing(const NodeTypes& node);
Result<std::vector<TensorType>> InferRandom(const NodeTypes& node);
Result<std::vector<TensorType>> InferRegionOp(const NodeTypes& node);

// A type that a Value may have: rank and size within limits, no dim that is negative or overflow.
Status CheckType(const TensorType& type);

// "Operand 1 is f32[3]; expected <expected>."
Error OperandError(std::size_t operand, const TensorType& type, std::string_view expected);
// "Attribute 'dim' is 5; expected <expected>."
Error AttributeError(AttrName name, const AttrValue& value, std::string_view expected);
std::string ToString(const AttrValue& value);

Status ExpectDType(const NodeTypes& node, std::size_t operand, DTypeSet set);
Status ExpectSameType(const NodeTypes& node, std::size_t operand, std::size_t as_operand);
// Exactly one hint; it is returned.
Result<TensorType> ExpectHint(const NodeTypes& node);
// The Ints attribute has `count` elements, each at least `minimum`.
Status ExpectInts(const NodeTypes& node, AttrName name, int count, std::int64_t minimum);
// The Ints attribute lists distinct dimensions of a tensor of this rank.
Status ExpectDims(const NodeTypes& node, AttrName name, int rank);
// As ExpectDims, and increasing.
Status ExpectIncreasingDims(const NodeTypes& node, AttrName name, int rank);
// The Int attribute is a dimension of a tensor of this rank.
Status ExpectDim(const NodeTypes& node, AttrName name, int rank);
// The String attribute is one of these.
Status ExpectOneOf(const NodeTypes& node, AttrName name, std::span<const std::string_view> allowed);
// The attribute `kind` is one of the op's, and takes the dtype of operand 0.
Status ExpectCombine(const NodeTypes& node);

// Whether `a` is at most `b` for any choice of sizes. Unless it is for all, that is a condition.
bool MayBeAtMost(const NodeTypes& node, const SymDim& a, const SymDim& b);
bool Contains(const std::vector<std::int64_t>& list, std::int64_t value);

}  // namespace stoker
