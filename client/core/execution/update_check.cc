#include "client/core/execution/update_check.h"

#include <algorithm>
#include <string>
#include <utility>

namespace stoker {

UpdateCheck::UpdateCheck(const LaunchPlan& plan, std::vector<std::int64_t> bytes)
    : bytes_(std::move(bytes)) {
  for (const OutputSpec& output : plan.outputs) {
    if (output.updates_input < 0) continue;
    is_updated_.resize(plan.inputs.size());
    is_updated_[static_cast<std::size_t>(output.updates_input)] = true;
  }
}

Status UpdateCheck::Check(std::span<const void* const> inputs) {
  if (is_updated_.empty() || std::ranges::equal(inputs, passed_)) return Ok();
  extents_.clear();
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(inputs[i]);
    const auto bytes = static_cast<std::uintptr_t>(bytes_[i]);
    if (bytes > 0) extents_.push_back({begin, begin + bytes, i});
  }
  std::ranges::sort(extents_, {}, &Extent::begin);
  // Of those that begin before: which one reaches furthest, of all and of the updated ones.
  const Extent* furthest = nullptr;
  const Extent* furthest_updated = nullptr;
  for (const Extent& extent : extents_) {
    const bool is_updated = is_updated_[extent.input];
    const Extent* before = is_updated ? furthest : furthest_updated;
    if (before != nullptr && before->end > extent.begin) {
      const auto [updated, other] = is_updated ? std::pair(extent.input, before->input)
                                               : std::pair(before->input, extent.input);
      return FailedPrecondition("Input " + std::to_string(updated) +
                                ", which the call updates, shares memory with input " +
                                std::to_string(other) + ".");
    }
    if (furthest == nullptr || extent.end > furthest->end) furthest = &extent;
    if (is_updated && (furthest_updated == nullptr || extent.end > furthest_updated->end)) {
      furthest_updated = &extent;
    }
  }
  passed_.assign(inputs.begin(), inputs.end());
  return Ok();
}

}  // namespace stoker
