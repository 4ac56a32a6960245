#include "client/core/execution/host_calls.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace stoker {
namespace {

// Whether a call's tensor is of a type, whatever its symbols are.
bool Fits(const InterpreterTensor& tensor, const HostTensor& place) {
  const std::vector<SymDim>& dims = place.type.shape.dims();
  return tensor.dtype == place.type.dtype &&
         std::ranges::equal(tensor.shape, dims, [](std::int64_t size, const SymDim& dim) {
           return !dim.IsConstant() || dim.constant() == size;
         });
}

// Its number among the plan's host calls.
std::optional<std::size_t> CallOf(const LaunchPlan& plan, const Node& node,
                                  std::span<const InterpreterTensor* const> operands,
                                  std::span<const InterpreterTensor> results) {
  const auto fits_place = [](const InterpreterTensor* tensor, const HostTensor& place) {
    return Fits(*tensor, place);
  };
  std::size_t number = 0;
  for (const PlanStep& step : plan.steps) {
    const auto* call = std::get_if<HostCall>(&step);
    if (call == nullptr) continue;
    if (call->target == node.attributes.String(AttrName::kTarget) &&
        std::ranges::equal(operands, call->operands, fits_place) &&
        std::ranges::equal(results, call->results, Fits)) {
      return number;
    }
    ++number;
  }
  return std::nullopt;
}

}  // namespace

Status ForeignHost::Call(std::size_t call, std::span<const void* const> operands,
                         std::span<void* const> results, std::span<const std::int64_t> sizes) {
  if (call_(context_, call, operands.data(), results.data(), sizes.data()) == 0) return Ok();
  return FailedPrecondition("The host framework failed in host call " + std::to_string(call) + ".");
}

Status InterpretedHost::Call(const Node& node, std::span<const InterpreterTensor* const> operands,
                             std::span<InterpreterTensor> results) const {
  const std::optional<std::size_t> call = CallOf(plan, node, operands, results);
  if (!call) {
    return Internal("The plan has no host call of '" + node.attributes.String(AttrName::kTarget) +
                    "' of these types.");
  }
  std::vector<DeviceMemory> memory;
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<std::int64_t> sizes;
  for (const InterpreterTensor* operand : operands) {
    STOKER_TRY(memory.emplace_back(), device.AllocateWith(operand->ToBytes()));
    from.push_back(memory.back().data());
    sizes.insert(sizes.end(), operand->shape.begin(), operand->shape.end());
  }
  std::vector<std::string> written;
  for (const InterpreterTensor& result : results) {
    written.push_back(result.ToBytes());
    STOKER_TRY(memory.emplace_back(), device.AllocateWith(written.back()));
    to.push_back(memory.back().data());
    sizes.insert(sizes.end(), result.shape.begin(), result.shape.end());
  }
  STOKER_RETURN_IF_ERROR(host.Call(*call, from, to, sizes));
  for (std::size_t i = 0; i < results.size(); ++i) {
    STOKER_RETURN_IF_ERROR(
        queue.CopyOut(written[i].data(), static_cast<const std::byte*>(to[i]), written[i].size()));
  }
  STOKER_RETURN_IF_ERROR(queue.Wait());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = InterpreterTensor::FromBytes(results[i].dtype, results[i].shape, written[i]);
  }
  return Ok();
}

}  // namespace stoker
