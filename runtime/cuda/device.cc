#include "runtime/cuda/device.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <thread>
#include <utility>

#include "runtime/cuda/kernel.h"
#include "runtime/cuda/launch_list.h"
#include "runtime/cuda/queue.h"

namespace stoker::cuda {
namespace {

// From compute capability 9.0 on, what is compiled for one architecture alone runs there alone.
Result<Target> TargetOf(const Context& context) {
  STOKER_TRY(const int major, context.Attribute(kCuDeviceComputeMajor));
  STOKER_TRY(const int minor, context.Attribute(kCuDeviceComputeMinor));
  const bool has_own = major == 9 || major == 10;
  return Target::Parse("cuda/sm_" + std::to_string(major * 10 + minor) + (has_own ? "a" : ""));
}

// Gives memory back.
struct Allocation {
  std::shared_ptr<const Context> context;
  CuPointer pointer = 0;

  ~Allocation() {
    if (const auto current = context->MakeCurrent(); current.ok()) context->api().free(pointer);
  }
};

}  // namespace

Result<std::unique_ptr<Device>> Device::Create(int ordinal, const std::string& library,
                                               std::vector<std::string> cublas_lt) {
  STOKER_TRY(auto driver, Driver::Load(library));
  STOKER_TRY(auto context, Context::Create(std::move(driver), ordinal));
  STOKER_TRY(Target target, TargetOf(*context));
  STOKER_TRY(auto memory, DriverCallMemory(context));
  return std::unique_ptr<Device>(
      new Device(std::move(target), std::move(context), std::move(memory), std::move(cublas_lt)));
}

std::shared_ptr<const Recording> Device::Record(const std::function<Status(void* stream)>& give) {
  const auto current = context_->MakeCurrent();
  return current.ok() ? recorder_.Record(give) : nullptr;
}

void Device::SetCallMemory(std::shared_ptr<const CallMemory> memory) {
  const std::lock_guard lock(mutex_);
  call_memory_ = memory == nullptr ? driver_memory_ : std::move(memory);
}

std::shared_ptr<const CallMemory> Device::call_memory() const {
  const std::lock_guard lock(mutex_);
  return call_memory_;
}

Result<std::shared_ptr<const LoadedKernel>> Device::LoadKernel(const Digest& blob,
                                                               std::string_view bytes) {
  STOKER_TRY(std::shared_ptr<const LoadedKernel> kernel, Kernel::Load(context_, blob, bytes));
  return kernel;
}

Result<DeviceMemory> Device::Allocate(std::int64_t bytes) {
  STOKER_CHECK(bytes >= 0);
  if (bytes == 0) return DeviceMemory();
  STOKER_TRY(const Context::Current current, context_->MakeCurrent());
  CuPointer pointer = 0;
  STOKER_RETURN_IF_ERROR(
      context_->Check(context_->api().allocate(&pointer, static_cast<std::size_t>(bytes)),
                      "cuMemAlloc of " + std::to_string(bytes) + " bytes"));
  auto owner = std::make_shared<Allocation>(context_, pointer);
  return DeviceMemory(reinterpret_cast<std::byte*>(pointer), bytes, std::move(owner));
}

Result<DeviceMemory> Device::AllocateWith(std::string_view contents) {
  STOKER_TRY(DeviceMemory memory, Allocate(static_cast<std::int64_t>(contents.size())));
  STOKER_TRY(const std::unique_ptr<Queue> queue, Queue::Create(*this));
  STOKER_RETURN_IF_ERROR(queue->CopyIn(memory.data(), contents.data(), contents.size()));
  STOKER_RETURN_IF_ERROR(queue->Wait());
  return memory;
}

Result<std::shared_ptr<const CublasLt>> Device::LoadCublasLt() {
  const std::lock_guard lock(mutex_);
  if (cublas_lt_ == nullptr) {
    const std::vector<std::string> paths =
        cublas_lt_paths_.empty() ? CublasLt::Paths() : cublas_lt_paths_;
    STOKER_TRY(cublas_lt_, CublasLt::Load(context_, paths));
  }
  return cublas_lt_;
}

Status Device::LoadLibrary(Library library) {
  switch (library) {
    case Library::kCublasLt:
      STOKER_RETURN_IF_ERROR(LoadCublasLt());
      return Ok();
  }
  CheckFailed("unknown library", __FILE__, __LINE__);
}

// The first product that a process asks cuBLASLt for takes it 100 ms on an H200, whatever it is;
// later ones 0.2.
Status Device::WarmUp() {
  SizedMatmul any;
  any.batch = 1;
  any.m = any.n = any.k = 64;
  any.factor = any.result = DType::kBF16;
  for (auto* matrix : {&any.a, &any.b, &any.d}) matrix->leading = 64;
  STOKER_TRY(std::shared_ptr<const CublasLt> lt, LoadCublasLt());
  STOKER_RETURN_IF_ERROR(LtMatmul::Make(std::move(lt), any));
  return Ok();
}

Result<std::shared_ptr<const LtMatmul>> Device::MatmulOf(const SizedMatmul& matmul) {
  return matmuls_.GetOrMake(LtMatmul::NameOf(matmul),
                            [&]() -> Result<std::shared_ptr<const LtMatmul>> {
                              STOKER_TRY(std::shared_ptr<const CublasLt> lt, LoadCublasLt());
                              return LtMatmul::Make(std::move(lt), matmul);
                            });
}

// The first answers of a heuristic take milliseconds each.
std::vector<std::shared_ptr<const LtMatmul>> Device::MakeAhead(
    std::span<const SizedWork> launches) {
  constexpr std::size_t kThreads = 4;
  std::map<Digest, const SizedMatmul*> missing;
  std::vector<std::shared_ptr<const LtMatmul>> made;
  for (const SizedWork& work : launches) {
    const auto* call = std::get_if<SizedLibraryCall>(&work);
    if (call == nullptr || !LtMatmul::HasElements(call->matmul)) continue;
    const Digest name = LtMatmul::NameOf(call->matmul);
    if (auto known = matmuls_.Find(name); known != nullptr) {
      made.push_back(std::move(known));
    } else {
      missing.emplace(name, &call->matmul);
    }
  }
  if (missing.size() < 2) return made;
  const auto lt = LoadCublasLt();
  if (!lt.ok()) return made;  // Whoever needs it says so.
  const std::vector<std::pair<Digest, const SizedMatmul*>> wanted(missing.begin(), missing.end());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < wanted.size(); i = next++) {
      auto matmul = LtMatmul::Make(*lt, *wanted[i].second);
      if (!matmul.ok()) continue;
      const std::lock_guard lock(mutex);
      made.push_back(matmuls_.Add(wanted[i].first, *std::move(matmul)));
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(kThreads, wanted.size()); ++i) threads.emplace_back(work);
  work();
  threads.clear();  // They have ended.
  return made;
}

Result<std::unique_ptr<const stoker::LaunchList>> Device::Ready(
    std::span<const SizedWork> launches, std::span<const PlanMark> marks, const ArenaUse& arena,
    const AddressLayout& layout, std::span<const std::shared_ptr<const LoadedKernel>> kernels) {
  const auto ahead = MakeAhead(launches);
  STOKER_TRY(std::unique_ptr<const stoker::LaunchList> list,
             LaunchList::Make(launches, marks, arena, layout, kernels,
                              [&](const SizedLibraryCall& call) { return MatmulOf(call.matmul); }));
  return list;
}

std::unique_ptr<ContentWatch> Device::Watch(std::span<const Bytes>, stoker::Queue&) {
  STOKER_CHECK(false);  // Nobody looks at the memory of a GPU.
}

}  // namespace stoker::cuda
