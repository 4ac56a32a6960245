#include "runtime/cpu/device.h"

#include <cstring>
#include <utility>

#include "runtime/cpu/content/content_watch.h"
#include "runtime/cpu/kernel.h"
#include "runtime/cpu/launch_list.h"
#include "runtime/cpu/queue.h"

namespace stoker::cpu {

Result<std::unique_ptr<Device>> Device::Create() {
  // Host() also asks for the AMX permission, which kernels with amx_bf16 need.
  STOKER_TRY(Target host, Target::Host());
  return std::unique_ptr<Device>(new Device(std::move(host)));
}

Result<std::unique_ptr<Device>> Device::Create(Target target) {
  STOKER_TRY(const Target host, Target::Host());
  STOKER_RETURN_IF_ERROR(target.CheckRunsOn(host));
  return std::unique_ptr<Device>(new Device(std::move(target)));
}

Result<std::shared_ptr<const LoadedKernel>> Device::LoadKernel(const Digest& blob,
                                                               std::string_view bytes) {
  STOKER_TRY(std::shared_ptr<const LoadedKernel> kernel, Kernel::Load(blob, bytes));
  return kernel;
}

Result<DeviceMemory> Device::Allocate(std::int64_t bytes) {
  STOKER_TRY(Region region, Region::Allocate(bytes));
  return SharedMemory(std::make_shared<const Region>(std::move(region)));
}

Result<DeviceMemory> Device::AllocateWith(std::string_view contents) {
  STOKER_TRY(DeviceMemory memory, Allocate(static_cast<std::int64_t>(contents.size())));
  std::memcpy(memory.data(), contents.data(), contents.size());
  return memory;
}

Status Device::LoadLibrary(Library) { return FailedPrecondition("A CPU has no libraries."); }

Result<std::unique_ptr<const stoker::LaunchList>> Device::Ready(
    std::span<const SizedWork> launches, std::span<const PlanMark> marks, const ArenaUse& arena,
    const AddressLayout& layout, std::span<const std::shared_ptr<const LoadedKernel>> kernels) {
  std::unique_ptr<const stoker::LaunchList> list =
      std::make_unique<const LaunchList>(launches, marks, arena, layout, kernels);
  return list;
}

std::unique_ptr<stoker::ContentWatch> Device::Watch(std::span<const Bytes> regions,
                                                    stoker::Queue& queue) {
  const int wanted = static_cast<Queue&>(queue).ThreadsFor(HashTasksOf(regions));
  return std::make_unique<ContentWatch>(regions, threads_, wanted);
}

}  // namespace stoker::cpu
