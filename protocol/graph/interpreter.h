// Reference interpreter: the oracle. Floating-point ops are computed in float64 whatever the dtype
// of the value (integers in int64, bool as 0 or 1); with `round_to_dtype` each result is rounded
// to its dtype, as a framework that materializes every value would.
#pragma once

#include <cstdint>
#include <span>
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

  std::int64_t NumElements() const;
  // Row-major little-endian elements of `dtype`.
  static InterpreterTensor FromBytes(DType dtype, std::vector<std::int64_t> shape,
                                     std::string_view bytes);
  std::string ToBytes() const;
};

struct InterpretOptions {
  bool round_to_dtype = false;
};

// Symbols are bound from the inputs' shapes. An input of another shape, rank or dtype is an error
// that names it; so is an extern_call.
Result<std::vector<InterpreterTensor>> Interpret(const Graph& graph,
                                                 std::span<const InterpreterTensor> inputs,
                                                 const InterpretOptions& options = {});

}  // namespace stoker
