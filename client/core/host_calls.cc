#include "client/core/host_calls.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace stoker {
namespace {

bool HaveTypes(const Graph& graph, const std::vector<ValueId>& values,
               const std::vector<HostTensor>& tensors) {
  return std::ranges::equal(
      values, tensors, {}, [&](ValueId id) { return graph.type(id); }, &HostTensor::type);
}

// Its number among the plan's host calls.
std::optional<std::size_t> CallOf(const Graph& graph, const LaunchPlan& plan, const Node& node) {
  std::size_t number = 0;
  for (const PlanStep& step : plan.steps) {
    const auto* call = std::get_if<HostCall>(&step);
    if (call == nullptr) continue;
    if (call->target == node.attributes.String(AttrName::kTarget) &&
        HaveTypes(graph, node.operands, call->operands) &&
        HaveTypes(graph, node.results, call->results)) {
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
  const std::optional<std::size_t> call = CallOf(graph, plan, node);
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
