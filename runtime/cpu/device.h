// Device: this process's processor cores.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/cpu/memory/arena_pool.h"
#include "runtime/cpu/threads/thread_pool.h"
#include "runtime/device.h"

namespace stoker::cpu {

class Device final : public stoker::Device {
 public:
  // Threads are started by the first call that wants them.
  static Result<std::unique_ptr<Device>> Create();
  // One that runs code for `target` alone. FailedPrecondition, with what is missing, where this
  // processor does not.
  static Result<std::unique_ptr<Device>> Create(Target target);

  Result<std::shared_ptr<const LoadedKernel>> LoadKernel(const Digest& blob,
                                                         std::string_view bytes) override;
  Result<DeviceMemory> Allocate(std::int64_t bytes) override;
  Result<DeviceMemory> AllocateWith(std::string_view contents) override;
  // There are none: the decoder lets no call of one through for this target.
  Status LoadLibrary(Library library) override;
  Status WarmUp() override { return Ok(); }
  Result<std::unique_ptr<const stoker::LaunchList>> Ready(
      std::span<const SizedWork> launches, std::span<const PlanMark> marks, const ArenaUse& arena,
      const AddressLayout& layout,
      std::span<const std::shared_ptr<const LoadedKernel>> kernels) override;
  bool watches() const override { return true; }
  std::unique_ptr<stoker::ContentWatch> Watch(std::span<const Bytes> regions,
                                              stoker::Queue& queue) override;

 private:
  friend class Queue;
  explicit Device(Target target) : stoker::Device(std::move(target)) {}

  ThreadPool threads_;
  ArenaPool arenas_;
};

}  // namespace stoker::cpu
