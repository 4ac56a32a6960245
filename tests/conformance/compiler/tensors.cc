#include "tests/conformance/compiler/tensors.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>

namespace stoker::test {

double ToleranceOf(const Tolerance& tolerance, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return tolerance.f64;
    case DType::kF32:
      return tolerance.f32;
    case DType::kF16:
      return tolerance.f16;
    case DType::kBF16:
      return tolerance.bf16;
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 0;
  }
  return 0;
}

std::string Compare(const InterpreterTensor& expected, const InterpreterTensor& actual,
                    double relative) {
  if (const auto* want = std::get_if<std::vector<std::int64_t>>(&expected.elements)) {
    const auto& got = *std::get_if<std::vector<std::int64_t>>(&actual.elements);
    for (std::size_t i = 0; i < want->size(); ++i) {
      if ((*want)[i] != got[i]) {
        return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
               std::to_string((*want)[i]);
      }
    }
    return "";
  }
  const auto& want = *std::get_if<std::vector<double>>(&expected.elements);
  const auto& got = *std::get_if<std::vector<double>>(&actual.elements);
  double mean = 0;
  for (const double w : want) mean += std::isfinite(w) ? std::abs(w) : 0;
  mean /= std::max<double>(1, static_cast<double>(want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double w = want[i];
    const double g = got[i];
    if (std::isnan(w) && std::isnan(g)) continue;
    if (w == g) continue;
    if (std::abs(w - g) <= relative * (std::abs(w) + mean)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(g) + ", not " +
           std::to_string(w) + " (off by " + std::to_string(std::abs(w - g)) + ")";
  }
  return "";
}

std::vector<InterpreterTensor> Rounded(const std::vector<InterpreterTensor>& tensors) {
  std::vector<InterpreterTensor> rounded;
  for (const InterpreterTensor& tensor : tensors) {
    rounded.push_back(InterpreterTensor::FromBytes(tensor.dtype, tensor.shape, tensor.ToBytes()));
  }
  return rounded;
}

std::vector<InterpreterTensor> RandomInputs(const Graph& graph, std::uint64_t seed,
                                            const SymBindings& symbols) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<InterpreterTensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    std::vector<std::int64_t> shape;
    for (const SymDim& size : type.shape) shape.push_back(*size.Evaluate(symbols));
    InterpreterTensor tensor = InterpreterTensor::Zeros(type.dtype, shape);
    if (auto* numbers = std::get_if<std::vector<double>>(&tensor.elements)) {
      for (double& x : *numbers) x = normal(random);
    } else {
      const std::uint64_t range = type.dtype == DType::kBool ? 2 : 5;
      for (std::int64_t& x : *std::get_if<std::vector<std::int64_t>>(&tensor.elements)) {
        x = static_cast<std::int64_t>(random() % range);
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void AddSpecialValues(std::vector<InterpreterTensor>& inputs, std::uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity,
                                 0.0, -0.0};
  std::mt19937_64 random(seed);
  for (InterpreterTensor& input : inputs) {
    auto* numbers = std::get_if<std::vector<double>>(&input.elements);
    if (numbers == nullptr) continue;
    for (double& x : *numbers) {
      if (random() % 8 == 0) x = kSpecial[random() % std::size(kSpecial)];
    }
  }
}

}  // namespace stoker::test
