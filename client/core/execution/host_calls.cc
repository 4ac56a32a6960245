#include "client/core/execution/host_calls.h"

#include <algorithm>
#include <mutex>
#include <utility>

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

thread_local std::size_t kept_calls = 0;

}  // namespace

Status ForeignHost::Call(std::size_t call, std::span<const void* const> operands,
                         std::span<void* const> results, std::span<const std::int64_t> sizes,
                         Queue& queue) {
  if (has_kept_.load(std::memory_order_relaxed)) {
    if (auto given = GiveKept(call, operands, results, sizes, queue)) return *std::move(given);
  }
  if (call_(context_, call, operands.data(), results.data(), sizes.data()) == 0) return Ok();
  return FailedPrecondition("The host framework failed in host call " + std::to_string(call) + ".");
}

std::optional<Status> ForeignHost::GiveKept(std::size_t call, std::span<const void* const> operands,
                                            std::span<void* const> results,
                                            std::span<const std::int64_t> sizes,
                                            Queue& queue) const {
  const std::shared_lock lock(mutex_);
  if (call >= kept_.size()) return std::nullopt;
  for (const Kept& kept : kept_[call]) {
    const std::span<const void* const> addresses = kept.addresses;
    if (addresses.size() != operands.size() + results.size() ||
        !std::ranges::equal(addresses.first(operands.size()), operands) ||
        !std::ranges::equal(addresses.subspan(operands.size()), results) ||
        (!kept.sizes.empty() && !std::ranges::equal(kept.sizes, sizes))) {
      continue;
    }
    ++kept_calls;
    return queue.Give(*kept.recording);
  }
  return std::nullopt;
}

void ForeignHost::Keep(std::size_t call, const HostPlace& place,
                       std::shared_ptr<const Recording> recording) {
  const std::lock_guard lock(mutex_);
  if (call >= kept_.size()) kept_.resize(call + 1);
  std::vector<Kept>& of_call = kept_[call];
  std::erase_if(of_call, [&](const Kept& kept) {
    return std::ranges::equal(kept.addresses, place.addresses) &&
           std::ranges::equal(kept.sizes, place.sizes);
  });
  of_call.push_back({{place.addresses.begin(), place.addresses.end()},
                     {place.sizes.begin(), place.sizes.end()},
                     std::move(recording)});
  has_kept_.store(true, std::memory_order_relaxed);
}

void ForeignHost::Forget() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  has_kept_.store(false, std::memory_order_relaxed);
}

std::size_t ForeignHost::KeptCalls() { return kept_calls; }

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
  STOKER_RETURN_IF_ERROR(host.Call(*call, from, to, sizes, queue));
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
