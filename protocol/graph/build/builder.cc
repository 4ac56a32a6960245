#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/graph/build/canonicalize.h"
#include "protocol/graph/build/graph_builder.h"
#include "protocol/graph/build/infer.h"
#include "protocol/graph/elements.h"

namespace stoker {
namespace {

bool AllElementsEqual(std::string_view bytes, std::size_t size) {
  return bytes.size() > size &&
         std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

// The canonical form of a constant's elements, or why they do not fit the type.
Result<std::string> CanonicalElements(const TensorType& type, std::string elements) {
  const auto size = static_cast<std::size_t>(SizeInBytes(type.dtype));
  const SymDim count = type.shape.NumElements();
  if (elements.size() != size) {
    const bool fits = count.IsConstant() &&
                      elements.size() / size == static_cast<std::uint64_t>(count.constant()) &&
                      elements.size() % size == 0;
    if (!fits) {
      return InvalidArgument("A constant of type " + type.ToString() + " has " +
                             std::to_string(elements.size()) + " bytes; expected one element of " +
                             std::to_string(size) + " bytes, or " + count.ToString() +
                             " elements.");
    }
  }
  if (type.dtype == DType::kBool) {
    for (const char c : elements) {
      if (c == 0 || c == 1) continue;
      return InvalidArgument("A bool constant has an element that is neither 0 nor 1.");
    }
  }
  if (count == SymDim(0)) return std::string(size, '\0');
  if (AllElementsEqual(elements, size)) elements.resize(size);
  return elements;
}

// Order in a set of dims has no meaning.
void SortDims(OpKind kind, Attributes& attributes) {
  if (kind != OpKind::kReduce && kind != OpKind::kReverse) return;
  const AttrValue* value = attributes.Find(AttrName::kDims);
  if (value == nullptr) return;
  const auto* dims = std::get_if<std::vector<std::int64_t>>(value);
  if (dims == nullptr || std::is_sorted(dims->begin(), dims->end())) return;
  std::vector<std::int64_t> sorted = *dims;
  std::sort(sorted.begin(), sorted.end());
  attributes.Set(AttrName::kDims, std::move(sorted));
}

Error TooMany(std::string_view what, std::size_t limit) {
  return ResourceExhausted("The graph has more than " + std::to_string(limit) + " " +
                           std::string(what) + ".");
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name) { graph_.name_ = std::move(name); }

void GraphBuilder::Fail(Error error) {
  if (!error_) error_ = std::move(error);
}

const TensorType& GraphBuilder::type(ValueId id) const {
  static const TensorType scalar;
  return id < graph_.values_.size() ? graph_.values_[id].type : scalar;
}

ValueId GraphBuilder::AppendValue(TensorType type, NodeId producer, std::uint32_t index) {
  graph_.values_.push_back(Value{std::move(type), producer, index});
  return static_cast<ValueId>(graph_.values_.size() - 1);
}

ValueId GraphBuilder::Input(TensorType type, InputRole role) {
  if (!ok()) return kNoValue;
  const auto index = static_cast<std::uint32_t>(graph_.inputs_.size());
  if (Status status = CheckType(type); !status.ok()) {
    Fail(status.error().WithContext("Input " + std::to_string(index)));
    return kNoValue;
  }
  if (graph_.values_.size() >= kMaxValues) {
    Fail(TooMany("values", kMaxValues));
    return kNoValue;
  }
  const ValueId id = AppendValue(std::move(type), kNoNode, index);
  graph_.inputs_.push_back(GraphInput{id, role});
  return id;
}

ValueId GraphBuilder::Constant(TensorType type, std::string elements) {
  const NodeId node = Append(OpKind::kConstant, {}, {}, {&type, 1}, std::move(elements));
  return node == kNoNode ? kNoValue : graph_.nodes_[node].results[0];
}

ValueId GraphBuilder::Scalar(TensorType type, double value) {
  std::string element = ElementBytes(type.dtype, value);
  return Constant(std::move(type), std::move(element));
}

ValueId GraphBuilder::Add(OpKind kind, std::span<const ValueId> operands, Attributes attributes,
                          std::optional<TensorType> result_hint) {
  std::span<const TensorType> hints;
  if (result_hint) hints = {&*result_hint, 1};
  const NodeId node = Append(kind, operands, std::move(attributes), hints, {});
  if (node == kNoNode) return kNoValue;
  const std::vector<ValueId>& results = graph_.nodes_[node].results;
  if (results.size() == 1) return results[0];
  Fail(InvalidArgument("Node " + std::to_string(node) + " (" + std::string(Name(kind)) +
                       "): It has " + std::to_string(results.size()) +
                       " results; AddMulti adds such a node."));
  return kNoValue;
}

std::vector<ValueId> GraphBuilder::AddMulti(OpKind kind, std::span<const ValueId> operands,
                                            Attributes attributes,
                                            std::vector<TensorType> result_hints) {
  const NodeId node = Append(kind, operands, std::move(attributes), result_hints, {});
  if (node == kNoNode)
    return std::vector<ValueId>(std::max<std::size_t>(result_hints.size(), 2), kNoValue);
  return graph_.nodes_[node].results;
}

NodeId GraphBuilder::Append(OpKind kind, std::span<const ValueId> operands, Attributes attributes,
                            std::span<const TensorType> hints, std::string constant) {
  if (!ok()) return kNoNode;
  const auto id = static_cast<NodeId>(graph_.nodes_.size());
  const auto fail = [&](const Error& error) {
    Fail(error.WithContext("Node " + std::to_string(id) + " (" + std::string(Name(kind)) + ")"));
    return kNoNode;
  };
  if (graph_.nodes_.size() + region_nodes_ >= kMaxNodes) return fail(TooMany("nodes", kMaxNodes));

  operand_types_.clear();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] >= graph_.values_.size()) {
      return fail(InvalidArgument("Operand " + std::to_string(i) + " is value " +
                                  std::to_string(operands[i]) + " of " +
                                  std::to_string(graph_.values_.size()) + "."));
    }
    operand_types_.push_back(graph_.values_[operands[i]].type);
  }
  SortDims(kind, attributes);
  Result<std::vector<TensorType>> types = InferTypes(kind, operand_types_, attributes, hints);
  if (!types.ok()) return fail(types.error());
  if (Status status = CountRegions(attributes); !status.ok()) return fail(status.error());
  if (graph_.values_.size() + types->size() > kMaxValues)
    return fail(TooMany("values", kMaxValues));
  if (kind == OpKind::kConstant) {
    Result<std::string> elements = CanonicalElements((*types)[0], std::move(constant));
    if (!elements.ok()) return fail(elements.error());
    constant = *std::move(elements);
    constant_bytes_ += constant.size();
    if (constant_bytes_ > kMaxConstantBytes) {
      return fail(TooMany("bytes of constants", kMaxConstantBytes));
    }
  }

  Node& node = graph_.nodes_.emplace_back();
  node.kind = kind;
  node.operands.assign(operands.begin(), operands.end());
  node.attributes = std::move(attributes);
  node.constant = std::move(constant);
  node.results.reserve(types->size());
  for (std::uint32_t i = 0; i < types->size(); ++i) {
    node.results.push_back(AppendValue(std::move((*types)[i]), id, i));
  }
  return id;
}

Status GraphBuilder::CountRegions(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.entries()) {
    const auto* region = std::get_if<Region>(&value);
    if (region == nullptr) continue;
    region_nodes_ += region->graph().num_all_nodes();
    constant_bytes_ += region->graph().all_constant_bytes();
    if (graph_.nodes_.size() + region_nodes_ >= kMaxNodes) return TooMany("nodes", kMaxNodes);
    if (constant_bytes_ > kMaxConstantBytes) {
      return TooMany("bytes of constants", kMaxConstantBytes);
    }
  }
  return Ok();
}

void GraphBuilder::SumUp() {
  graph_.num_all_nodes_ = graph_.nodes_.size();
  for (const Node& node : graph_.nodes_) {
    graph_.all_constant_bytes_ += node.constant.size();
    graph_.calls_host_ = graph_.calls_host_ || CallsHost(node);
    for (const auto& [name, value] : node.attributes.entries()) {
      const auto* region = std::get_if<Region>(&value);
      if (region == nullptr) continue;
      graph_.num_all_nodes_ += region->graph().num_all_nodes();
      graph_.all_constant_bytes_ += region->graph().all_constant_bytes();
      graph_.region_depth_ = std::max(graph_.region_depth_, region->graph().region_depth() + 1);
    }
  }
}

Status GraphBuilder::TakeUpdates(std::span<const InputUpdate> updates) {
  const std::vector<ValueId>& outputs = graph_.outputs_;
  const std::vector<GraphInput>& inputs = graph_.inputs_;
  std::vector<bool> is_output_taken(outputs.size());
  std::vector<bool> is_input_taken(inputs.size());
  for (const auto& [output, input] : updates) {
    const auto fail = [&](const std::string& why) {
      return InvalidArgument("Output " + std::to_string(output) + " updates input " +
                             std::to_string(input) + why);
    };
    if (output >= outputs.size() || input >= inputs.size()) {
      return fail("; there are " + std::to_string(outputs.size()) + " outputs and " +
                  std::to_string(inputs.size()) + " inputs.");
    }
    if (is_output_taken[output]) return fail(", and another one.");
    if (is_input_taken[input]) return fail(", and so does another output.");
    is_output_taken[output] = is_input_taken[input] = true;
    if (inputs[input].role != InputRole::kActivation) return fail(", which is a parameter.");
    const TensorType& from = type(outputs[output]);
    const TensorType& to = type(inputs[input].value);
    if (from != to) {
      return fail(": their types are " + from.ToString() + " and " + to.ToString() + ".");
    }
    if (outputs[output] != inputs[input].value) graph_.updates_.push_back({output, input});
  }
  std::ranges::sort(graph_.updates_, {}, &InputUpdate::output);
  return Ok();
}

Result<Graph> GraphBuilder::Build(std::span<const ValueId> outputs,
                                  std::span<const InputUpdate> updates) {
  if (!ok()) return *error_;
  if (outputs.empty()) return InvalidArgument("The graph has no outputs.");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] < graph_.values_.size()) continue;
    return InvalidArgument("Output " + std::to_string(i) + " is value " +
                           std::to_string(outputs[i]) + " of " +
                           std::to_string(graph_.values_.size()) + ".");
  }
  GraphParts parts{std::move(graph_.inputs_),
                   {outputs.begin(), outputs.end()},
                   std::move(graph_.nodes_),
                   std::move(graph_.values_)};
  STOKER_TRY(graph_.num_symbols_, Canonicalize(parts));
  graph_.inputs_ = std::move(parts.inputs);
  graph_.outputs_ = std::move(parts.outputs);
  graph_.nodes_ = std::move(parts.nodes);
  graph_.values_ = std::move(parts.values);
  STOKER_RETURN_IF_ERROR(TakeUpdates(updates));
  SumUp();
  graph_.digest_ = Sha256Of(EncodeGraph(graph_));
  return std::move(graph_);
}

}  // namespace stoker
