// Ops that run graphs of their own.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "protocol/graph/interpret/interpret.h"

namespace stoker {
namespace {

Status InterpretWhile(Evaluation& e, const InterpretOptions& options) {
  const Graph& condition = e.attributes().GraphOf(AttrName::kCondition);
  const Graph& body = e.attributes().GraphOf(AttrName::kBody);
  std::vector<InterpreterTensor> values;  // The carried ones, then what stays.
  for (const InterpreterTensor* operand : e.operands) values.push_back(*operand);
  for (std::int64_t trips = 0;; ++trips) {
    STOKER_TRY(const auto goes_on, Interpret(condition, values, options));
    if (ElementsOf<std::int64_t>(goes_on[0])[0] == 0) break;
    if (trips == options.max_trips) {
      return ResourceExhausted("Its body has run " + std::to_string(trips) +
                               " times, which is the limit.");
    }
    STOKER_TRY(std::vector<InterpreterTensor> next, Interpret(body, values, options));
    std::move(next.begin(), next.end(), values.begin());
  }
  for (std::size_t i = 0; i < e.results.size(); ++i) e.results[i] = std::move(values[i]);
  return Ok();
}

// Row `row` of a tensor.
InterpreterTensor RowOf(const InterpreterTensor& tensor, std::int64_t row) {
  InterpreterTensor result =
      InterpreterTensor::Zeros(tensor.dtype, {tensor.shape.begin() + 1, tensor.shape.end()});
  std::visit(
      [&](auto& to) {
        const auto& from = ElementsOf<typename std::decay_t<decltype(to)>::value_type>(tensor);
        const auto size = static_cast<std::int64_t>(to.size());
        std::copy_n(from.begin() + row * size, size, to.begin());
      },
      result.elements);
  return result;
}

void SetRow(const InterpreterTensor& from, std::int64_t row, InterpreterTensor& tensor) {
  std::visit(
      [&](const auto& values) {
        auto& to = ElementsOf<typename std::decay_t<decltype(values)>::value_type>(tensor);
        const auto size = static_cast<std::int64_t>(values.size());
        std::copy_n(values.begin(), size, to.begin() + row * size);
      },
      from.elements);
}

Status InterpretScan(Evaluation& e, const InterpretOptions& options) {
  const Graph& body = e.attributes().GraphOf(AttrName::kBody);
  const auto carried = static_cast<std::size_t>(e.attributes().Int(AttrName::kCarried));
  const auto scanned = static_cast<std::size_t>(e.attributes().Int(AttrName::kScanned));
  std::vector<InterpreterTensor> values;  // What the body is given.
  for (const InterpreterTensor* operand : e.operands) values.push_back(*operand);
  for (std::int64_t row = 0; row < e.operand(carried).shape[0]; ++row) {
    for (std::size_t i = carried; i < carried + scanned; ++i) values[i] = RowOf(e.operand(i), row);
    STOKER_TRY(std::vector<InterpreterTensor> outputs, Interpret(body, values, options));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i < carried) {
        values[i] = std::move(outputs[i]);
      } else {
        SetRow(outputs[i], row, e.results[i]);
      }
    }
  }
  for (std::size_t i = 0; i < carried; ++i) e.results[i] = std::move(values[i]);
  return Ok();
}

}  // namespace

Status InterpretRegionOp(Evaluation& e, const InterpretOptions& options) {
  if (e.node.kind == OpKind::kScan) return InterpretScan(e, options);
  return InterpretWhile(e, options);
}

}  // namespace stoker
