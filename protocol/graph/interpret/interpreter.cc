#include "protocol/graph/interpret/interpreter.h"

#include <utility>

#include "protocol/graph/elements.h"
#include "protocol/graph/interpret/interpret.h"
#include "protocol/graph/op_table.h"

namespace stoker {
namespace {

std::string Describe(const InterpreterTensor& tensor) {
  std::string out(Name(tensor.dtype));
  out += '[';
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) out += ',';
    out += std::to_string(tensor.shape[i]);
  }
  return out += ']';
}

// Checks one input against its type; symbols met for the first time are bound.
Status BindInput(const TensorType& type, const InterpreterTensor& input, SymBindings& bindings) {
  const auto mismatch = [&](const std::string& why) {
    return InvalidArgument("It is " + Describe(input) + "; expected " + type.ToString() + why +
                           ".");
  };
  const Sizes& shape = input.shape;
  if (input.dtype != type.dtype || shape.size() != type.shape.dims().size()) return mismatch("");
  const bool floats = std::holds_alternative<std::vector<double>>(input.elements);
  const std::size_t held = std::visit([](const auto& v) { return v.size(); }, input.elements);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const SymDim& dim = type.shape.dims()[i];
    if (shape[i] < 0) return mismatch("");
    if (const std::optional<std::uint32_t> symbol = dim.AsSymbol()) {
      const std::int64_t bound = bindings.emplace(*symbol, shape[i]).first->second;
      if (bound == shape[i]) continue;
      return mismatch(" with " + dim.ToString() + " = " + std::to_string(bound));
    }
    if (dim.IsConstant() && dim.constant() != shape[i]) return mismatch("");
  }
  if (floats != IsFloat(type.dtype) || held != static_cast<std::size_t>(input.NumElements())) {
    return mismatch(", but holds other elements");
  }
  return Ok();
}

// Dims that are expressions, once every symbol is bound.
Status CheckDerivedDims(const TensorType& type, const InterpreterTensor& input,
                        const SymBindings& bindings) {
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    const SymDim& dim = type.shape.dims()[i];
    STOKER_TRY(const std::int64_t size, dim.Evaluate(bindings));
    if (size == input.shape[i]) continue;
    return InvalidArgument("It is " + Describe(input) + "; expected " + type.ToString() + " with " +
                           dim.ToString() + " = " + std::to_string(size) + ".");
  }
  return Ok();
}

Result<SymBindings> BindInputs(const Graph& graph, std::span<const InterpreterTensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return InvalidArgument(std::to_string(inputs.size()) + " inputs are given; expected " +
                           std::to_string(graph.inputs().size()) + ".");
  }
  SymBindings bindings;
  const auto for_each = [&](auto check) -> Status {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (Status status = check(graph.type(graph.inputs()[i].value), inputs[i], bindings);
          !status.ok()) {
        return status.error().WithContext("Input " + std::to_string(i));
      }
    }
    return Ok();
  };
  STOKER_RETURN_IF_ERROR(for_each(BindInput));
  STOKER_RETURN_IF_ERROR(for_each(CheckDerivedDims));
  return bindings;
}

Result<InterpreterTensor> EmptyResult(const TensorType& type, const SymBindings& bindings) {
  Sizes shape;
  std::int64_t elements = 1;
  for (const SymDim& dim : type.shape) {
    STOKER_TRY(const std::int64_t size, dim.Evaluate(bindings));
    if (size < 0) {
      return InvalidArgument("A result of type " + type.ToString() + " has dimension " +
                             dim.ToString() + " = " + std::to_string(size) + ".");
    }
    shape.push_back(size);
    if (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxInterpreterElements) {
      return ResourceExhausted("A result of type " + type.ToString() + " has more than " +
                               std::to_string(kMaxInterpreterElements) + " elements.");
    }
  }
  return InterpreterTensor::Zeros(type.dtype, std::move(shape));
}

Status EvaluateNode(Evaluation& e, const InterpretOptions& options) {
  switch (RowOf(e.node.kind).result) {
    case ResultRule::kSame:
    case ResultRule::kBool:
    case ResultRule::kHinted:
      return InterpretPointwise(e);
    case ResultRule::kCreation:
      return InterpretCreation(e);
    case ResultRule::kShape:
      return InterpretShapeOp(e);
    case ResultRule::kReduction:
      return InterpretReduction(e);
    case ResultRule::kContraction:
      return InterpretContraction(e);
    case ResultRule::kIndexing:
      return InterpretIndexing(e);
    case ResultRule::kRandom:
      return InterpretRandom(e);
    case ResultRule::kExtern:
      if (options.extern_call) return options.extern_call(e.node, e.operands, e.results);
      return Unimplemented("'" + e.attributes().String(AttrName::kTarget) +
                           "' runs in the host framework, not in the interpreter.");
    case ResultRule::kRegion:
      return InterpretRegionOp(e, options);
  }
  return Internal("Op without a rule.");
}

void StoreAs(DType dtype, bool round, InterpreterTensor& tensor) {
  if (!IsFloat(dtype)) {
    for (std::int64_t& v : ElementsOf<std::int64_t>(tensor)) v = WrapToDType(dtype, v);
  } else if (round) {
    for (double& v : ElementsOf<double>(tensor)) v = RoundToDType(dtype, v);
  }
}

// How often each value is read, outputs included: it is freed after the last time.
std::vector<std::uint32_t> CountUses(const Graph& graph) {
  std::vector<std::uint32_t> uses(graph.values().size());
  for (const Node& node : graph.nodes()) {
    for (const ValueId id : node.operands) ++uses[id];
  }
  for (const ValueId id : graph.outputs()) ++uses[id];
  return uses;
}

}  // namespace

InterpreterTensor InterpreterTensor::Zeros(DType dtype, std::vector<std::int64_t> shape) {
  InterpreterTensor tensor{dtype, std::move(shape), {}};
  const auto count = static_cast<std::size_t>(tensor.NumElements());
  if (IsFloat(dtype)) {
    tensor.elements.emplace<std::vector<double>>(count);
  } else {
    tensor.elements.emplace<std::vector<std::int64_t>>(count);
  }
  return tensor;
}

std::int64_t InterpreterTensor::NumElements() const { return stoker::NumElements(shape); }

InterpreterTensor InterpreterTensor::FromBytes(DType dtype, std::vector<std::int64_t> shape,
                                               std::string_view bytes) {
  InterpreterTensor tensor = Zeros(dtype, std::move(shape));
  const auto size = static_cast<std::size_t>(SizeInBytes(dtype));
  STOKER_CHECK(bytes.size() == size * static_cast<std::size_t>(tensor.NumElements()));
  const char* next = bytes.data();
  std::visit(
      [&](auto& elements) {
        for (auto& element : elements) {
          if constexpr (std::is_same_v<decltype(element), double&>) {
            element = ReadFloatElement(dtype, next);
          } else {
            element = ReadIntElement(dtype, next);
          }
          next += size;
        }
      },
      tensor.elements);
  return tensor;
}

std::string InterpreterTensor::ToBytes() const {
  const auto size = static_cast<std::size_t>(SizeInBytes(dtype));
  std::string bytes(size * static_cast<std::size_t>(NumElements()), '\0');
  char* next = bytes.data();
  std::visit(
      [&](const auto& values) {
        for (const auto& value : values) {
          if constexpr (std::is_same_v<decltype(value), const double&>) {
            WriteFloatElement(dtype, value, next);
          } else {
            WriteIntElement(dtype, value, next);
          }
          next += size;
        }
      },
      elements);
  return bytes;
}

Result<std::vector<InterpreterTensor>> Interpret(const Graph& graph,
                                                 std::span<const InterpreterTensor> inputs,
                                                 const InterpretOptions& options) {
  STOKER_TRY(const SymBindings bindings, BindInputs(graph, inputs));
  std::vector<std::uint32_t> uses = CountUses(graph);
  std::vector<InterpreterTensor> values(graph.values().size());
  const auto value = [&](ValueId id) -> const InterpreterTensor& {
    return graph.value(id).producer == kNoNode ? inputs[id] : values[id];
  };
  for (NodeId id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.node(id);
    const auto in_node = [&](const Error& error) {
      return error.WithContext("Node " + std::to_string(id) + " (" + std::string(Name(node.kind)) +
                               ")");
    };
    Evaluation e{node, bindings, {}, {}};
    for (const ValueId operand : node.operands) e.operands.push_back(&value(operand));
    for (const ValueId result : node.results) {
      Result<InterpreterTensor> empty = EmptyResult(graph.type(result), bindings);
      if (!empty.ok()) return in_node(empty.error());
      e.results.push_back(*std::move(empty));
    }
    if (Status status = EvaluateNode(e, options); !status.ok()) return in_node(status.error());
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      StoreAs(e.results[i].dtype, options.round_to_dtype, e.results[i]);
      if (uses[node.results[i]] > 0) values[node.results[i]] = std::move(e.results[i]);
    }
    for (const ValueId operand : node.operands) {
      if (--uses[operand] == 0) values[operand] = InterpreterTensor();
    }
  }
  std::vector<InterpreterTensor> outputs;
  for (const ValueId id : graph.outputs()) outputs.push_back(value(id));
  return outputs;
}

}  // namespace stoker
