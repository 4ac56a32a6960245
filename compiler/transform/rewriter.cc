#include "compiler/transform/rewriter.h"

#include "protocol/graph/interpret/interpreter.h"

namespace stoker {

std::int64_t ElementCount(const Shape& shape) { return shape.NumElements().constant(); }

Rewriter::Rewriter(const Graph& source)
    : source_(source), builder_(source.name()), uses_(source.values().size(), 0) {
  for (const Node& node : source.nodes()) {
    for (const ValueId operand : node.operands) ++uses_[operand];
  }
  for (const ValueId output : source.outputs()) ++uses_[output];
}

void Rewriter::Note(ValueId value, Definition definition, bool parameter_only) {
  if (value == kNoValue) return;  // The builder has an error, which Run returns.
  if (value >= definitions_.size()) {
    definitions_.resize(value + 1);
    parameter_only_.resize(value + 1, false);
  }
  definitions_[value] = std::move(definition);
  parameter_only_[value] = parameter_only;
}

ValueId Rewriter::Map(ValueId source_value) {
  if (mapped_[source_value] == kNoValue && builder_.ok()) {
    Visit(source_.node(source_.value(source_value).producer));
  }
  return mapped_[source_value];
}

void Rewriter::Visit(const Node& node) {
  std::vector<ValueId> operands;
  for (const ValueId operand : node.operands) operands.push_back(Map(operand));
  if (!builder_.ok()) return;
  if (node.results.size() == 1) {
    const TensorType& type = source_.type(node.results[0]);
    if (const std::optional<ValueId> replaced = (*rule_)(node, operands)) {
      mapped_[node.results[0]] = *replaced;
    } else if (node.kind == OpKind::kConstant) {
      mapped_[node.results[0]] = Constant(type, node.constant);
    } else {
      mapped_[node.results[0]] = Add(node.kind, std::move(operands), node.attributes, type);
    }
    return;
  }
  VisitSeveral(node, operands);
}

void Rewriter::VisitSeveral(const Node& node, std::span<const ValueId> operands) {
  if (*several_) {
    const std::vector<ValueId> replaced = (*several_)(node, operands);
    for (std::size_t i = 0; i < replaced.size(); ++i) mapped_[node.results[i]] = replaced[i];
    if (!replaced.empty()) return;
  }
  std::vector<TensorType> hints;
  for (const ValueId result : node.results) hints.push_back(source_.type(result));
  const std::vector<ValueId> results =
      builder_.AddMulti(node.kind, operands, node.attributes, std::move(hints));
  definitions_.resize(builder_.num_values());
  parameter_only_.resize(builder_.num_values(), false);
  if (!builder_.ok()) return;
  for (std::size_t i = 0; i < results.size(); ++i) mapped_[node.results[i]] = results[i];
}

Result<Graph> Rewriter::Run(const Rule& rule, const RuleOfSeveral& several) {
  rule_ = &rule;
  several_ = &several;
  mapped_.assign(source_.values().size(), kNoValue);
  for (const GraphInput& input : source_.inputs()) {
    const ValueId value = builder_.Input(source_.type(input.value), input.role);
    mapped_[input.value] = value;
    definitions_.resize(value + 1);
    parameter_only_.resize(value + 1, false);
    parameter_only_[value] = input.role == InputRole::kParameter;
  }
  for (const Node& node : source_.nodes()) {
    if (mapped_[node.results[0]] == kNoValue) Visit(node);
    if (!builder_.ok()) return builder_.error();
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : source_.outputs()) outputs.push_back(mapped_[output]);
  return builder_.Build(outputs, source_.updates());
}

const Rewriter::Definition* Rewriter::Find(ValueId value) const {
  if (value >= definitions_.size() || !definitions_[value]) return nullptr;
  return &*definitions_[value];
}

const Rewriter::Definition* Rewriter::Find(ValueId value, OpKind kind) const {
  const Definition* definition = Find(value);
  return definition != nullptr && definition->kind == kind ? definition : nullptr;
}

bool Rewriter::IsSplat(ValueId value) const {
  const Definition* definition = Find(value, OpKind::kConstant);
  return definition != nullptr &&
         definition->constant.size() == static_cast<std::size_t>(SizeInBytes(type(value).dtype));
}

std::optional<double> Rewriter::SplatOf(ValueId value) const {
  if (!IsSplat(value)) return std::nullopt;
  const InterpreterTensor tensor =
      InterpreterTensor::FromBytes(type(value).dtype, {}, Find(value)->constant);
  if (const auto* numbers = std::get_if<std::vector<double>>(&tensor.elements)) {
    return numbers->front();
  }
  return static_cast<double>(std::get_if<std::vector<std::int64_t>>(&tensor.elements)->front());
}

ValueId Rewriter::Add(OpKind kind, std::vector<ValueId> operands, Attributes attributes,
                      std::optional<TensorType> hint) {
  bool parameter_only = true;
  for (const ValueId operand : operands) {
    if (operand == kNoValue) return kNoValue;
    parameter_only = parameter_only && parameter_only_[operand];
  }
  const ValueId value = builder_.Add(kind, operands, attributes, std::move(hint));
  Note(value, {kind, std::move(operands), std::move(attributes), {}}, parameter_only);
  return value;
}

ValueId Rewriter::Constant(TensorType type, std::string elements) {
  const ValueId value = builder_.Constant(std::move(type), elements);
  Note(value, {OpKind::kConstant, {}, {}, std::move(elements)}, true);
  return value;
}

ValueId Rewriter::Scalar(TensorType type, double value) {
  InterpreterTensor scalar = InterpreterTensor::Zeros(type.dtype, {});
  if (auto* numbers = std::get_if<std::vector<double>>(&scalar.elements)) {
    numbers->front() = value;
  } else {
    std::get_if<std::vector<std::int64_t>>(&scalar.elements)->front() =
        static_cast<std::int64_t>(value);
  }
  return Constant(std::move(type), scalar.ToBytes());
}

ValueId Rewriter::Reshape(ValueId value, Shape shape) {
  if (this->shape(value) == shape) return value;
  const DType dtype = type(value).dtype;
  return Add(OpKind::kReshape, {value}, {}, TensorType{dtype, std::move(shape)});
}

ValueId Rewriter::Broadcast(ValueId value, std::vector<std::int64_t> dims, Shape shape) {
  const DType dtype = type(value).dtype;
  return Add(OpKind::kBroadcastInDim, {value}, {{AttrName::kDims, std::move(dims)}},
             TensorType{dtype, std::move(shape)});
}

ValueId Rewriter::Transpose(ValueId value, std::vector<std::int64_t> dims) {
  return Add(OpKind::kTranspose, {value}, {{AttrName::kDims, std::move(dims)}});
}

}  // namespace stoker
