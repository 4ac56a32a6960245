// Reference interpreter: the oracle. Floating-point ops (convert between float dtypes included) are
// computed in float64 whatever the dtype of the value; with `round_to_dtype` each result is rounded
// to its dtype, as a framework that materializes every value would. Integers wrap to their width,
// bool is 0 or 1.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/graph/graph.h"

namespace stoker {

// A row-major tensor of doubles (float dtypes) or int64 (integers and bool).
struct InterpreterTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::variant<std::vector<double>, std::vector<std::int64_t>> elements;

  // Zeros.
  static InterpreterTensor Zeros(DType dtype, std::vector<std::int64_t> shape);

  std::int64_t NumElements() const;
  // Row-major little-endian elements of `dtype`; the size must be that of the shape.
  static InterpreterTensor FromBytes(DType dtype, std::vector<std::int64_t> shape,
                                     std::string_view bytes);
  std::string ToBytes() const;
};

// Elements of one value; beyond it Interpret fails with ResourceExhausted.
inline constexpr std::int64_t kMaxInterpreterElements = INT64_C(1) << 30;
// Times that the body of one while runs, unless the caller says otherwise.
inline constexpr std::int64_t kMaxInterpreterTrips = INT64_C(1) << 20;

struct InterpretOptions {
  bool round_to_dtype = false;
  std::int64_t max_trips = kMaxInterpreterTrips;  // Beyond it ResourceExhausted.
  // Runs an extern_call: fills in the elements of the results, which come with dtype, shape and
  // zeros. Empty: nobody does.
  std::function<Status(const Node& node, std::span<const InterpreterTensor* const> operands,
                       std::span<InterpreterTensor> results)>
      extern_call = {};
};

// Symbols are bound from the inputs' shapes. An input of another shape, rank or dtype is an error
// that names it; so are an extern_call that nobody runs, and sizes for which a node has no meaning
// (a slice beyond its operand).
Result<std::vector<InterpreterTensor>> Interpret(const Graph& graph,
                                                 std::span<const InterpreterTensor> inputs,
                                                 const InterpretOptions& options = {});

}  // namespace stoker
