#include "runtime/cpu/launch_list.h"

#include <algorithm>

#include "runtime/cpu/kernel.h"

namespace stoker::cpu {
namespace {

std::int64_t Padded(std::int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

LaunchList::LaunchList(std::span<const SizedWork> launches, std::span<const PlanMark> marks,
                       const ArenaUse& arena, const AddressLayout& layout,
                       std::span<const std::shared_ptr<const LoadedKernel>> kernels)
    : arena_(arena), arena_address_(layout.IndexOf(arena.kind)) {
  for (const PlanMark& mark : marks) {
    const SizedBuffer& condition = mark.condition;
    marks_.push_back({mark.kind,
                      mark.launches_before,
                      mark.number,
                      {layout.IndexOf(condition.kind, condition.index), condition.offset}});
  }
  for (const SizedWork& work : launches) {
    const auto& launch = std::get<SizedLaunch>(work);
    const auto& kernel = static_cast<const Kernel&>(*kernels[launch.kernel]);
    const Entry& entry =
        entries_.emplace_back(Entry{kernel.function(),
                                    launch.tasks,
                                    {launch.min_tasks_per_chunk, launch.min_tasks_per_call},
                                    operands_.size(),
                                    launch.buffers.size(),
                                    dims_.size()});
    for (const SizedBuffer& buffer : launch.buffers) {
      operands_.push_back({layout.IndexOf(buffer.kind, buffer.index), buffer.offset});
    }
    dims_.insert(dims_.end(), launch.dims.begin(), launch.dims.end());
    max_operands_ = std::max(max_operands_, entry.operands);
    max_chunks_ = std::max(max_chunks_, entry.chunks());
    scratch_stride_ = std::max(scratch_stride_, kScratchHeaderBytes + Padded(launch.scratch_bytes));
  }
}

bool LaunchList::calls_host() const {
  return std::ranges::any_of(
      marks_, [](const Mark& mark) { return mark.kind == PlanMark::Kind::kHostCall; });
}

}  // namespace stoker::cpu
