#include "runtime/cuda/launch_list.h"

#include <algorithm>

namespace stoker::cuda {

LaunchList::LaunchList(std::span<const SizedLaunch> launches, std::span<const std::size_t> pauses,
                       const ArenaUse& arena, const AddressLayout& layout,
                       std::span<const std::shared_ptr<const LoadedKernel>> kernels)
    : pauses_(pauses.begin(), pauses.end()),
      arena_(arena),
      arena_address_(layout.IndexOf(arena.kind)) {
  for (const SizedLaunch& launch : launches) {
    const auto& kernel = static_cast<const Kernel&>(*kernels[launch.kernel]);
    entries_.push_back({kernel.function(), static_cast<unsigned>(launch.tasks), kernel.threads(),
                        operands_.size(), launch.buffers.size(), dims_.size(), launch.dims.size()});
    for (const SizedBuffer& buffer : launch.buffers) {
      operands_.push_back({layout.IndexOf(buffer.kind, buffer.index), buffer.offset});
    }
    dims_.insert(dims_.end(), launch.dims.begin(), launch.dims.end());
    max_parameters_ = std::max(max_parameters_, launch.buffers.size() + launch.dims.size());
  }
}

}  // namespace stoker::cuda
