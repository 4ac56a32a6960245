// Device: one GPU of this process.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/call_memory.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/lt_matmul.h"
#include "runtime/cuda/recorded_kernel.h"
#include "runtime/device.h"

namespace stoker::cuda {

class Device final : public stoker::Device {
 public:
  // Unavailable where there is no driver or no GPU, FailedPrecondition where the driver is too old,
  // InvalidArgument where there is no GPU of this number. `cublas_lt`: where that is sought when
  // the first plan needs it; empty: CublasLt::Paths().
  static Result<std::unique_ptr<Device>> Create(int ordinal,
                                                const std::string& library = Driver::kLibrary,
                                                std::vector<std::string> cublas_lt = {});

  Result<std::shared_ptr<const LoadedKernel>> LoadKernel(const Digest& blob,
                                                         std::string_view bytes) override;
  // The device waits for all that it does when such memory is given back.
  Result<DeviceMemory> Allocate(std::int64_t bytes) override;
  Result<DeviceMemory> AllocateWith(std::string_view contents) override;
  Status LoadLibrary(Library library) override;
  Status WarmUp() override;
  Result<std::unique_ptr<const stoker::LaunchList>> Ready(
      std::span<const SizedWork> launches, std::span<const PlanMark> marks, const ArenaUse& arena,
      const AddressLayout& layout,
      std::span<const std::shared_ptr<const LoadedKernel>> kernels) override;
  std::shared_ptr<const Recording> Record(const std::function<Status(void* stream)>& give) override;
  bool watches() const override { return false; }
  std::unique_ptr<ContentWatch> Watch(std::span<const Bytes> regions,
                                      stoker::Queue& queue) override;

  const std::shared_ptr<const Context>& context() const { return context_; }
  Recorder& recorder() const { return recorder_; }

  // For calls that begin from now on; null: the driver's.
  void SetCallMemory(std::shared_ptr<const CallMemory> memory);
  std::shared_ptr<const CallMemory> call_memory() const;

 private:
  Device(Target target, std::shared_ptr<const Context> context,
         std::shared_ptr<const CallMemory> memory, std::vector<std::string> cublas_lt)
      : stoker::Device(std::move(target)),
        context_(std::move(context)),
        driver_memory_(std::move(memory)),
        cublas_lt_paths_(std::move(cublas_lt)),
        recorder_(context_),
        call_memory_(driver_memory_) {}

  Result<std::shared_ptr<const CublasLt>> LoadCublasLt();
  Result<std::shared_ptr<const LtMatmul>> MatmulOf(const SizedMatmul& matmul);
  // Products of these that could be made, several at a time; the others' errors are MatmulOf's.
  std::vector<std::shared_ptr<const LtMatmul>> MakeAhead(std::span<const SizedWork> launches);

  const std::shared_ptr<const Context> context_;
  const std::shared_ptr<const CallMemory> driver_memory_;
  const std::vector<std::string> cublas_lt_paths_;  // Empty: CublasLt::Paths().
  WeakCache<LtMatmul> matmuls_;                     // By LtMatmul::NameOf.
  mutable Recorder recorder_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<const CallMemory> call_memory_;
  std::shared_ptr<const CublasLt> cublas_lt_;  // Null until something needs it.
};

}  // namespace stoker::cuda
