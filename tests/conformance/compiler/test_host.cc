#include "tests/conformance/compiler/test_host.h"

#include <cstring>
#include <string>

namespace stoker::test {
namespace {

double ElementOf(const InterpreterTensor& tensor, std::int64_t i) {
  return std::visit(
      [&](const auto& v) { return static_cast<double>(v[static_cast<std::size_t>(i)]); },
      tensor.elements);
}

InterpreterTensor Taken(const TensorType& type, std::span<const std::int64_t>& sizes) {
  const auto rank = static_cast<std::size_t>(type.shape.rank());
  InterpreterTensor tensor =
      InterpreterTensor::Zeros(type.dtype, {sizes.begin(), sizes.begin() + type.shape.rank()});
  sizes = sizes.subspan(rank);
  return tensor;
}

}  // namespace

void Weave(std::span<const InterpreterTensor* const> operands,
           std::span<InterpreterTensor> results) {
  for (std::size_t r = 0; r < results.size(); ++r) {
    const std::int64_t count = results[r].NumElements();
    for (std::int64_t i = 0; i < count; ++i) {
      auto sum = static_cast<double>(r);
      for (const InterpreterTensor* operand : operands) {
        const std::int64_t size = operand->NumElements();
        if (size > 0) sum += ElementOf(*operand, (i * 7 + static_cast<std::int64_t>(r)) % size);
      }
      std::visit(
          [&](auto& v) {
            using Element = typename std::remove_reference_t<decltype(v)>::value_type;
            v[static_cast<std::size_t>(i)] = static_cast<Element>(sum);
          },
          results[r].elements);
    }
  }
}

TestHost::TestHost(const LaunchPlan& plan) {
  for (const PlanStep& step : plan.steps) {
    if (const auto* call = std::get_if<HostCall>(&step)) calls_.push_back(*call);
  }
}

Status TestHost::Call(std::size_t call, std::span<const void* const> operands,
                      std::span<void* const> results, std::span<const std::int64_t> sizes, Queue&) {
  std::vector<InterpreterTensor> read;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const InterpreterTensor shape = Taken(calls_[call].operands[i].type, sizes);
    const auto bytes = static_cast<std::size_t>(shape.NumElements() * SizeInBytes(shape.dtype));
    read.push_back(InterpreterTensor::FromBytes(shape.dtype, shape.shape,
                                                {static_cast<const char*>(operands[i]), bytes}));
  }
  std::vector<InterpreterTensor> written;
  for (std::size_t i = 0; i < results.size(); ++i) {
    written.push_back(Taken(calls_[call].results[i].type, sizes));
  }
  std::vector<const InterpreterTensor*> pointers;
  for (const InterpreterTensor& tensor : read) pointers.push_back(&tensor);
  Weave(pointers, written);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string bytes = written[i].ToBytes();
    std::memcpy(results[i], bytes.data(), bytes.size());
  }
  return Ok();
}

}  // namespace stoker::test
