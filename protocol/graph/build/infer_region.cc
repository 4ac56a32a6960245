// Verifiers of ops that run graphs of their own.
#include "protocol/graph/build/infer.h"
#include "protocol/graph/region.h"

namespace stoker {
namespace {

using Symbols = std::map<std::uint32_t, SymDim>;

Error InRegion(const Error& error, AttrName name) {
  return error.WithContext("Attribute '" + std::string(Name(name)) + "'");
}

// `given`: types of what the region is given.
Result<Symbols> CheckRegion(const NodeTypes& node, AttrName name,
                            std::span<const TensorType> given) {
  const Graph& region = node.attributes.GraphOf(name);
  if (region.region_depth() >= kMaxRegionDepth) {
    return InRegion(
        ResourceExhausted("Graphs nest deeper than " + std::to_string(kMaxRegionDepth) + "."),
        name);
  }
  Result<Symbols> symbols = BindRegion(region, given);
  if (!symbols.ok()) return InRegion(symbols.error(), name);
  return symbols;
}

Status CheckOutput(const Graph& region, AttrName name, std::size_t output, const Symbols& symbols,
                   const TensorType& expected) {
  const TensorType& type = region.type(region.outputs()[output]);
  if (TypeOutside(type, symbols) == expected) return Ok();
  return InRegion(InvalidArgument("Its output " + std::to_string(output) + " is " +
                                  type.ToString() + "; expected " + expected.ToString() + "."),
                  name);
}

Error OutputCountError(const Graph& region, AttrName name, const std::string& expected) {
  return InRegion(InvalidArgument("It has " + std::to_string(region.outputs().size()) +
                                  " outputs; expected " + expected + "."),
                  name);
}

Result<std::vector<TensorType>> InferWhile(const NodeTypes& node) {
  STOKER_TRY(const Symbols condition_symbols,
             CheckRegion(node, AttrName::kCondition, node.operands));
  STOKER_TRY(const Symbols body_symbols, CheckRegion(node, AttrName::kBody, node.operands));
  const Graph& condition = node.attributes.GraphOf(AttrName::kCondition);
  if (condition.outputs().size() != 1) {
    return OutputCountError(condition, AttrName::kCondition, "1");
  }
  STOKER_RETURN_IF_ERROR(
      CheckOutput(condition, AttrName::kCondition, 0, condition_symbols, {DType::kBool, {}}));
  const Graph& body = node.attributes.GraphOf(AttrName::kBody);
  if (body.outputs().size() > node.operands.size()) {
    return OutputCountError(body, AttrName::kBody,
                            "at most " + std::to_string(node.operands.size()));
  }
  std::vector<TensorType> carried;
  for (std::size_t i = 0; i < body.outputs().size(); ++i) {
    STOKER_RETURN_IF_ERROR(CheckOutput(body, AttrName::kBody, i, body_symbols, node.operands[i]));
    carried.push_back(node.operands[i]);
  }
  return carried;
}

Status CheckScanOperands(const NodeTypes& node) {
  const std::int64_t count = static_cast<std::int64_t>(node.operands.size());
  const std::int64_t carried = node.attributes.Int(AttrName::kCarried);
  const std::int64_t scanned = node.attributes.Int(AttrName::kScanned);
  if (carried < 0 || carried > count) {
    return AttributeError(AttrName::kCarried, carried,
                          "from 0 to the " + std::to_string(count) + " operands");
  }
  if (scanned < 1 || scanned > count - carried) {
    return AttributeError(
        AttrName::kScanned, scanned,
        "from 1 to the " + std::to_string(count - carried) + " operands that are not carried");
  }
  const auto first = static_cast<std::size_t>(carried);
  for (std::size_t i = first; i < first + static_cast<std::size_t>(scanned); ++i) {
    const TensorType& type = node.operands[i];
    if (type.shape.rank() == 0) return OperandError(i, type, "rows to scan");
    if (type.shape[0] == node.operands[first].shape[0]) continue;
    return OperandError(
        i, type,
        node.operands[first].shape[0].ToString() + " rows as operand " + std::to_string(first));
  }
  return Ok();
}

Result<std::vector<TensorType>> InferScan(const NodeTypes& node) {
  STOKER_RETURN_IF_ERROR(CheckScanOperands(node));
  const auto carried = static_cast<std::size_t>(node.attributes.Int(AttrName::kCarried));
  const auto scanned = static_cast<std::size_t>(node.attributes.Int(AttrName::kScanned));
  const std::vector<TensorType> given = ScanBodyTypes(node.operands, carried, scanned);
  STOKER_TRY(const Symbols symbols, CheckRegion(node, AttrName::kBody, given));
  const Graph& body = node.attributes.GraphOf(AttrName::kBody);
  if (body.outputs().size() < carried) {
    return OutputCountError(body, AttrName::kBody, "at least " + std::to_string(carried));
  }
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < body.outputs().size(); ++i) {
    if (i < carried) {
      STOKER_RETURN_IF_ERROR(CheckOutput(body, AttrName::kBody, i, symbols, node.operands[i]));
      types.push_back(node.operands[i]);
      continue;
    }
    const TensorType row = TypeOutside(body.type(body.outputs()[i]), symbols);
    std::vector<SymDim> dims = {node.operands[carried].shape[0]};
    dims.insert(dims.end(), row.shape.begin(), row.shape.end());
    types.push_back({row.dtype, Shape(std::move(dims))});
  }
  return types;
}

}  // namespace

Result<std::vector<TensorType>> InferRegionOp(const NodeTypes& node) {
  return node.kind == OpKind::kScan ? InferScan(node) : InferWhile(node);
}

}  // namespace stoker
