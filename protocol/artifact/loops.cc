#include "protocol/artifact/loops.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protocol/artifact/step_buffers.h"

namespace stoker {
namespace {

Error Wrong(std::string_view field, const std::string& why) {
  return InvalidArgument("Field 'loop." + std::string(field) + "' " + why);
}

Status CheckRange(const PlanLoop& loop, std::size_t steps) {
  if (loop.end > steps) {
    return Wrong("end", "is " + std::to_string(loop.end) + "; there are " + std::to_string(steps) +
                            " steps.");
  }
  if (loop.begin >= loop.end) {
    return Wrong("begin", "is " + std::to_string(loop.begin) + ", not before the end, " +
                              std::to_string(loop.end) + ".");
  }
  if (loop.test < loop.begin || loop.test > loop.end) {
    return Wrong("test", "is " + std::to_string(loop.test) + ", not from " +
                             std::to_string(loop.begin) + " to " + std::to_string(loop.end) + ".");
  }
  return Ok();
}

// `around`: the loops that are open where this one begins; it becomes the last.
Status CheckNesting(const PlanLoop& loop, const PlanLoop* before,
                    std::vector<const PlanLoop*>& around) {
  if (before != nullptr &&
      (loop.begin < before->begin || (loop.begin == before->begin && loop.end > before->end))) {
    return Wrong("begin", "is out of order.");
  }
  while (!around.empty() && around.back()->end <= loop.begin) around.pop_back();
  if (!around.empty()) {
    const PlanLoop& outer = *around.back();
    const bool is_inside =
        loop.end <= outer.test || (loop.begin >= outer.test && loop.end <= outer.end);
    if (!is_inside) return Wrong("end", "lies beyond a part of the loop around it.");
  }
  if (around.size() == kMaxLoopDepth) {
    return Wrong("begin", "is in more than " + std::to_string(kMaxLoopDepth) + " loops.");
  }
  around.push_back(&loop);
  return Ok();
}

bool IsMadeByCall(BufferKind kind) {
  return kind == BufferKind::kArena || kind == BufferKind::kOutput;
}

struct BufferHash {
  std::size_t operator()(const BufferRef& buffer) const {
    return (buffer.offset.Hash() * 31 + buffer.index) * 31 + static_cast<std::size_t>(buffer.kind);
  }
};

// Conditions that a call makes, and the first step that names each; past the steps: none does.
using FirstNamed = std::unordered_map<BufferRef, std::size_t, BufferHash>;

FirstNamed FindFirstNamed(const LaunchPlan& plan) {
  FirstNamed first;
  for (const PlanLoop& loop : plan.loops) {
    if (IsMadeByCall(loop.condition.kind)) first.emplace(loop.condition, plan.steps.size());
  }
  for (std::size_t i = 0; i < plan.steps.size() && !first.empty(); ++i) {
    ForEachBuffer(plan.steps[i], [&](const BufferRef& buffer) {
      const auto found = first.find(buffer);
      if (found != first.end()) found->second = std::min(found->second, i);
    });
  }
  return first;
}

Status CheckCondition(const PlanLoop& loop, const FirstNamed& first_named) {
  const BufferRef& condition = loop.condition;
  if (!(condition.size == SymDim(1))) {
    return Wrong("condition", "has " + condition.size.ToString() + " bytes, not 1.");
  }
  const auto named = first_named.find(condition);
  if (named == first_named.end() || named->second < loop.test) return Ok();
  return Wrong("condition", "is in memory that no step before the test names.");
}

}  // namespace

Status CheckLoops(const LaunchPlan& plan) {
  const FirstNamed first_named = FindFirstNamed(plan);
  std::vector<const PlanLoop*> around;
  for (std::size_t i = 0; i < plan.loops.size(); ++i) {
    const PlanLoop& loop = plan.loops[i];
    const auto check = [&]() -> Status {
      STOKER_RETURN_IF_ERROR(CheckRange(loop, plan.steps.size()));
      const PlanLoop* before = i == 0 ? nullptr : &plan.loops[i - 1];
      STOKER_RETURN_IF_ERROR(CheckNesting(loop, before, around));
      return CheckCondition(loop, first_named);
    };
    if (const Status status = check(); !status.ok()) {
      return status.error().WithContext("plan.loops[" + std::to_string(i) + "]");
    }
  }
  return Ok();
}

}  // namespace stoker
