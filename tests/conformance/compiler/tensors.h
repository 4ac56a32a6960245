// Tensors that programs are run on, and beside which of the interpreter's they are held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/graph/graph.h"
#include "protocol/graph/interpret/interpreter.h"

namespace stoker::test {

// How far an element may be from the interpreter's: relative * (its size + the mean size of the
// output), for outputs of each float dtype. Integers and bool must be equal.
struct Tolerance {
  double f64 = 1e-10;
  double f32 = 2e-5;
  double f16 = 4e-3;
  double bf16 = 3e-2;
};

double ToleranceOf(const Tolerance& tolerance, DType dtype);

// Empty, or the first element that is farther off.
std::string Compare(const InterpreterTensor& expected, const InterpreterTensor& actual,
                    double relative);

// The values that tensors of these dtypes can hold: what is out of range is infinite.
std::vector<InterpreterTensor> Rounded(const std::vector<InterpreterTensor>& tensors);

// Floats from a normal distribution, integers small and not negative, bools by a coin; symbols are
// bound to `symbols`.
std::vector<InterpreterTensor> RandomInputs(const Graph& graph, std::uint64_t seed,
                                            const SymBindings& symbols = {});

// Puts NaN, infinities and zeros of both signs in place of one in eight floats.
void AddSpecialValues(std::vector<InterpreterTensor>& inputs, std::uint64_t seed);

}  // namespace stoker::test
