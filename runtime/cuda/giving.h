// Giving: how an entry of a launch list comes into a stream.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/cuda/launch_list.h"

namespace stoker::cuda {

// Of one run. Not thread-safe. The context is current.
class Giving {
 public:
  // All outlive it.
  // `recorder`: of what libraries give; null: they are asked in every run.
  Giving(const Context& context, Recorder* recorder, CuStream stream, const LaunchList& list,
         std::span<std::byte* const> addresses);

  // `workspace`: of a matmul, in place of the plan's; null: that. Waits for nothing.
  Status Give(const LaunchList::Entry& entry, std::byte* workspace = nullptr);

 private:
  Status Launch(const LaunchList::Entry& entry);
  Status Multiply(const LaunchList::Entry& entry, std::byte* workspace);

  const Context& context_;
  Recorder* const recorder_;
  const CuStream stream_;
  const LaunchList& list_;
  const std::span<std::byte* const> addresses_;
  // The parameters of one launch, where the driver reads them.
  std::vector<std::uint64_t> values_;
  std::vector<void*> pointers_;
};

}  // namespace stoker::cuda
