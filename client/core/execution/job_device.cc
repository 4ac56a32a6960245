#include "client/core/execution/job_device.h"

#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>

#include "client/core/settings/processor_target.h"

namespace stoker {
namespace {

constexpr std::string_view kCores = "cpu";
constexpr std::string_view kGpu = "cuda:";
constexpr std::size_t kMaxNameBytes = 64;

std::atomic<int> g_num_threads{0};

// Of "cuda:N".
std::optional<int> OrdinalOf(std::string_view name) {
  if (!name.starts_with(kGpu)) return std::nullopt;
  name.remove_prefix(kGpu.size());
  int ordinal = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (error != std::errc() || end != name.data() + name.size() || ordinal < 0) return std::nullopt;
  // One name each.
  return std::to_string(ordinal) == name ? std::optional(ordinal) : std::nullopt;
}

// Those that have been made.
struct Devices {
  std::mutex mutex;  // Guards what follows.
  std::map<std::string, JobDevice*, std::less<>> by_name;
  std::optional<ForeignAllocator> allocator;  // Of GPUs.
};

Devices& AllDevices() {
  static Devices& devices = *new Devices;
  return devices;
}

}  // namespace

void SetNumThreads(int threads) { g_num_threads.store(threads, std::memory_order_relaxed); }
int NumThreads() { return g_num_threads.load(std::memory_order_relaxed); }

Result<JobDevice::Cores> JobDevice::MakeCores() {
  STOKER_TRY(const std::optional<Target> named, NamedProcessorTarget());
  if (!named) return cpu::Device::Create();
  Result<Cores> cores = cpu::Device::Create(*named);
  if (!cores.ok()) return FailedPrecondition("STOKER_TARGET: " + cores.error().message);
  return cores;
}

Result<std::unique_ptr<JobDevice>> JobDevice::Make(std::string_view name) {
  if (name == kCores) {
    STOKER_TRY(Cores cores, MakeCores());
    return std::unique_ptr<JobDevice>(new JobDevice(name, std::move(cores)));
  }
  const std::optional<int> ordinal = OrdinalOf(name);
  if (!ordinal) {
    return InvalidArgument("Device '" + std::string(name.substr(0, kMaxNameBytes)) +
                           "' is neither cpu nor cuda:0 or another number.");
  }
  STOKER_TRY(Gpu gpu, cuda::Device::Create(*ordinal));
  return std::unique_ptr<JobDevice>(new JobDevice(name, std::move(gpu)));
}

Result<JobDevice*> JobDevice::Named(std::string_view name) {
  Devices& devices = AllDevices();
  const std::lock_guard lock(devices.mutex);
  const auto found = devices.by_name.find(name);
  if (found != devices.by_name.end()) return found->second;
  STOKER_TRY(std::unique_ptr<JobDevice> made, Make(name));
  made->TakeMemoryOf(devices.allocator);
  return devices.by_name.emplace(name, made.release()).first->second;
}

void JobDevice::TakeMemoryOf(const std::optional<ForeignAllocator>& allocator) {
  const auto* gpu = std::get_if<Gpu>(&device_);
  if (gpu == nullptr) return;
  (*gpu)->SetCallMemory(
      allocator ? std::make_shared<const ForeignMemory>(*allocator, *OrdinalOf(name_)) : nullptr);
}

void SetGpuAllocator(const std::optional<ForeignAllocator>& allocator) {
  Devices& devices = AllDevices();
  const std::lock_guard lock(devices.mutex);
  devices.allocator = allocator;
  for (const auto& [name, device] : devices.by_name) device->TakeMemoryOf(allocator);
}

Device& JobDevice::device() {
  return std::visit([](const auto& device) -> Device& { return *device; }, device_);
}

CallQueue::CallQueue(const JobDevice& device, void* stream) {
  if (const auto* gpu = std::get_if<JobDevice::Gpu>(&device.device_)) {
    queue_.emplace<cuda::Queue>(**gpu, stream);
  } else {
    queue_.emplace<cpu::Queue>(*std::get<JobDevice::Cores>(device.device_), NumThreads());
  }
}

Queue& CallQueue::operator*() {
  if (auto* gpu = std::get_if<cuda::Queue>(&queue_)) return *gpu;
  return std::get<cpu::Queue>(queue_);
}

}  // namespace stoker
