#include "protocol/graph/build/infer.h"

#include <algorithm>
#include <utility>

#include "protocol/graph/combine.h"

namespace stoker {
namespace {

// True only when it holds for every choice of sizes.
bool ProvablyLess(const SymDim& a, const SymDim& b) {
  if (a.IsConstant() && b.IsConstant()) return a.constant() < b.constant();
  return (b - a - 1).IsProvablyNonNegative();
}

constexpr std::string_view kTypeNames[] = {
    "integer",          "boolean",      "float",          "string",
    "list of integers", "list of dims", "list of floats", "graph"};

Status CheckOperandCount(const NodeTypes& node) {
  const auto expected = NumOperands(node.kind);
  if (expected < 0 || node.operands.size() == static_cast<std::size_t>(expected)) return Ok();
  return InvalidArgument("It has " + std::to_string(node.operands.size()) + " operands; expected " +
                         std::to_string(expected) + ".");
}

Status CheckAttributeNames(const NodeTypes& node) {
  const std::span<const AttrName> expected = RowOf(node.kind).attributes.names();
  const auto& entries = node.attributes.entries();
  for (const AttrName name : expected) {
    const AttrValue* value = node.attributes.Find(name);
    if (value == nullptr) {
      return InvalidArgument("Attribute '" + std::string(Name(name)) + "' is missing.");
    }
    const auto type = static_cast<std::size_t>(TypeOf(name));
    if (value->index() != type) {
      return AttributeError(name, *value, "a " + std::string(kTypeNames[type]));
    }
  }
  if (entries.size() == expected.size()) return Ok();
  for (const auto& [name, value] : entries) {
    if (std::find(expected.begin(), expected.end(), name) == expected.end()) {
      return AttributeError(name, value, "no such attribute");
    }
  }
  return Ok();
}

Result<std::vector<TensorType>> InferExternCall(const NodeTypes& node) {
  const std::string& target = node.attributes.String(AttrName::kTarget);
  if (target.empty() || target.size() > kMaxTargetBytes) {
    return InvalidArgument("Attribute 'target' has " + std::to_string(target.size()) +
                           " bytes; expected 1 to " + std::to_string(kMaxTargetBytes) + ".");
  }
  if (node.hints.empty()) return InvalidArgument("It needs the types of its results.");
  return std::vector<TensorType>(node.hints.begin(), node.hints.end());
}

Result<std::vector<TensorType>> InferCreation(const NodeTypes& node) {
  STOKER_TRY(TensorType type, ExpectHint(node));
  const DTypeSet dtypes = RowOf(node.kind).dtypes;
  if (!Contains(dtypes, type.dtype)) {
    return InvalidArgument("The result is " + std::string(Name(type.dtype)) + "; expected " +
                           ToString(dtypes) + ".");
  }
  if (node.kind == OpKind::kIota) {
    STOKER_RETURN_IF_ERROR(ExpectDim(node, AttrName::kDim, type.shape.rank()));
  }
  return std::vector<TensorType>{std::move(type)};
}

Result<std::vector<TensorType>> InferByRule(const NodeTypes& node) {
  switch (RowOf(node.kind).result) {
    case ResultRule::kSame:
    case ResultRule::kBool:
    case ResultRule::kHinted:
      return InferPointwise(node);
    case ResultRule::kCreation:
      return InferCreation(node);
    case ResultRule::kShape:
      return InferShapeOp(node);
    case ResultRule::kReduction:
      return InferReduction(node);
    case ResultRule::kContraction:
      return InferContraction(node);
    case ResultRule::kIndexing:
      return InferIndexing(node);
    case ResultRule::kRandom:
      return InferRandom(node);
    case ResultRule::kExtern:
      return InferExternCall(node);
    case ResultRule::kRegion:
      return InferRegionOp(node);
  }
  return Internal("Op without a rule.");
}

}  // namespace

Result<std::vector<TensorType>> InferTypes(OpKind kind, std::span<const TensorType> operands,
                                           const Attributes& attributes,
                                           std::span<const TensorType> result_hints) {
  return InferNode({kind, operands, attributes, result_hints});
}

Result<std::vector<TensorType>> InferNode(const NodeTypes& node) {
  STOKER_RETURN_IF_ERROR(CheckOperandCount(node));
  STOKER_RETURN_IF_ERROR(CheckAttributeNames(node));
  if (!node.operands.empty() && node.kind != OpKind::kSelect) {  // Its first is the predicate.
    STOKER_RETURN_IF_ERROR(ExpectDType(node, 0, RowOf(node.kind).dtypes));
  }
  STOKER_TRY(std::vector<TensorType> types, InferByRule(node));
  if (!node.hints.empty()) {
    if (node.hints.size() != types.size()) {
      return InvalidArgument("It is given " + std::to_string(node.hints.size()) +
                             " result types; expected " + std::to_string(types.size()) + ".");
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i] == node.hints[i]) continue;
      return InvalidArgument("Result " + std::to_string(i) + " is given as " +
                             node.hints[i].ToString() + "; expected " + types[i].ToString() + ".");
    }
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (Status status = CheckType(types[i]); !status.ok()) {
      return status.error().WithContext("Result " + std::to_string(i));
    }
  }
  return types;
}

Status CheckType(const TensorType& type) {
  const auto refuse = [&](const std::string& what) {
    return InvalidArgument("Type " + type.ToString() + " " + what + ".");
  };
  if (type.shape.rank() > kMaxRank) {
    return refuse("has more than " + std::to_string(kMaxRank) + " dimensions");
  }
  // Symbols alone neither are negative nor overflow: only expressions need the product itself.
  SymDim elements = 1;
  for (const SymDim& dim : type.shape) {
    if (dim.IsSymbol()) continue;
    if (dim.IsOverflow()) return refuse("has a dimension that overflows");
    if (!dim.IsProvablyNonNegative() && ProvablyLess(dim, 0)) {
      return refuse("has a negative dimension");
    }
    elements = elements * dim;
  }
  if (elements.IsOverflow() || (elements.IsConstant() && elements.constant() > kMaxElements)) {
    return refuse("has more than " + std::to_string(kMaxElements) + " elements");
  }
  return Ok();
}

Error OperandError(std::size_t operand, const TensorType& type, std::string_view expected) {
  return InvalidArgument("Operand " + std::to_string(operand) + " is " + type.ToString() +
                         "; expected " + std::string(expected) + ".");
}

Error AttributeError(AttrName name, const AttrValue& value, std::string_view expected) {
  return InvalidArgument("Attribute '" + std::string(Name(name)) + "' is " + ToString(value) +
                         "; expected " + std::string(expected) + ".");
}

Status ExpectDType(const NodeTypes& node, std::size_t operand, DTypeSet set) {
  const TensorType& type = node.operands[operand];
  if (Contains(set, type.dtype)) return Ok();
  return OperandError(operand, type, ToString(set));
}

Status ExpectSameType(const NodeTypes& node, std::size_t operand, std::size_t as_operand) {
  if (node.operands[operand] == node.operands[as_operand]) return Ok();
  return OperandError(
      operand, node.operands[operand],
      node.operands[as_operand].ToString() + " as operand " + std::to_string(as_operand));
}

Result<TensorType> ExpectHint(const NodeTypes& node) {
  if (node.hints.size() == 1) return node.hints[0];
  return InvalidArgument("It is given " + std::to_string(node.hints.size()) +
                         " result types; expected 1.");
}

Status ExpectInts(const NodeTypes& node, AttrName name, int count, std::int64_t minimum) {
  const std::vector<std::int64_t>& values = node.attributes.Ints(name);
  const bool in_range = std::all_of(values.begin(), values.end(),
                                    [&](std::int64_t value) { return value >= minimum; });
  if (values.size() == static_cast<std::size_t>(count) && in_range) return Ok();
  std::string expected = std::to_string(count) + " integers";
  if (minimum != INT64_MIN) expected += ", each at least " + std::to_string(minimum);
  return AttributeError(name, values, expected);
}

Status ExpectDims(const NodeTypes& node, AttrName name, int rank) {
  const std::vector<std::int64_t>& dims = node.attributes.Ints(name);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool repeated = std::find(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i),
                                    dims[i]) != dims.begin() + static_cast<std::ptrdiff_t>(i);
    if (dims[i] < 0 || dims[i] >= rank || repeated) {
      return AttributeError(name, dims,
                            "distinct dimensions of a tensor of rank " + std::to_string(rank));
    }
  }
  return Ok();
}

Status ExpectIncreasingDims(const NodeTypes& node, AttrName name, int rank) {
  STOKER_RETURN_IF_ERROR(ExpectDims(node, name, rank));
  const std::vector<std::int64_t>& dims = node.attributes.Ints(name);
  if (std::is_sorted(dims.begin(), dims.end())) return Ok();
  return AttributeError(name, dims, "increasing dimensions");
}

Status ExpectDim(const NodeTypes& node, AttrName name, int rank) {
  const std::int64_t dim = node.attributes.Int(name);
  if (dim >= 0 && dim < rank) return Ok();
  return AttributeError(name, dim, "a dimension of a tensor of rank " + std::to_string(rank));
}

Status ExpectCombine(const NodeTypes& node) {
  const std::vector<Combine> combines = CombinesOf(node.kind);
  std::vector<std::string_view> names;
  for (const Combine combine : combines) names.push_back(Name(combine));
  STOKER_RETURN_IF_ERROR(ExpectOneOf(node, AttrName::kKind, names));
  return ExpectDType(node, 0, DTypesOf(CombineOf(node.attributes)));
}

Status ExpectOneOf(const NodeTypes& node, AttrName name,
                   std::span<const std::string_view> allowed) {
  const std::string& value = node.attributes.String(name);
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return Ok();
  std::string expected = "one of";
  for (const std::string_view choice : allowed) {
    expected += ' ';
    expected += choice;
  }
  return AttributeError(name, value, expected);
}

bool MayBeAtMost(const NodeTypes& node, const SymDim& a, const SymDim& b) {
  if (ProvablyLess(b, a)) return false;
  if (node.conditions != nullptr && !(b - a).IsProvablyNonNegative()) {
    node.conditions->push_back(b - a);
  }
  return true;
}

bool Contains(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace stoker
