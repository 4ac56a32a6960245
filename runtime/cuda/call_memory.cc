#include "runtime/cuda/call_memory.h"

#include <cstdint>
#include <string>
#include <utility>

namespace stoker::cuda {
namespace {

std::string ArenaOf(std::size_t bytes) { return "Arena of " + std::to_string(bytes) + " bytes"; }

class PooledMemory final : public CallMemory {
 public:
  static Result<std::shared_ptr<const CallMemory>> Create(std::shared_ptr<const Context> context) {
    std::shared_ptr<PooledMemory> memory(new PooledMemory(std::move(context)));
    const Context& on = *memory->context_;
    STOKER_TRY(const Context::Current current, on.MakeCurrent());
    CuPoolProperties properties;
    properties.device = on.device();
    STOKER_RETURN_IF_ERROR(
        on.Check(on.api().create_pool(&memory->pool_, &properties), "cuMemPoolCreate"));
    // Without it the driver unmaps what nobody uses whenever somebody waits for the device.
    std::uint64_t kept_bytes = UINT64_MAX;
    STOKER_RETURN_IF_ERROR(
        on.Check(on.api().set_pool_attribute(memory->pool_, kCuPoolReleaseThreshold, &kept_bytes),
                 "cuMemPoolSetAttribute"));
    return std::shared_ptr<const CallMemory>(std::move(memory));
  }
  PooledMemory(const PooledMemory&) = delete;
  PooledMemory& operator=(const PooledMemory&) = delete;
  ~PooledMemory() override {
    if (pool_ == nullptr) return;
    if (const auto current = context_->MakeCurrent(); current.ok())
      context_->api().destroy_pool(pool_);
  }

  Result<CuPointer> Take(std::size_t bytes, CuStream stream) const override {
    CuPointer pointer = 0;
    const int result = context_->api().allocate_from_pool(&pointer, bytes, pool_, stream);
    if (result == kCuSuccess) return pointer;  // No text is made.
    STOKER_RETURN_IF_ERROR(context_->Check(result, ArenaOf(bytes)));
    return pointer;
  }
  Status GiveBack(CuPointer memory, CuStream stream) const override {
    return context_->Check(context_->api().free_async(memory, stream), "cuMemFreeAsync");
  }

 private:
  explicit PooledMemory(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  const std::shared_ptr<const Context> context_;
  CuPool pool_ = nullptr;
};

class UnpooledMemory final : public CallMemory {
 public:
  explicit UnpooledMemory(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  Result<CuPointer> Take(std::size_t bytes, CuStream) const override {
    CuPointer pointer = 0;
    STOKER_RETURN_IF_ERROR(
        context_->Check(context_->api().allocate(&pointer, bytes), ArenaOf(bytes)));
    return pointer;
  }
  Status GiveBack(CuPointer memory, CuStream) const override {
    return context_->Check(context_->api().free(memory), "cuMemFree");
  }

 private:
  const std::shared_ptr<const Context> context_;
};

}  // namespace

Result<std::shared_ptr<const CallMemory>> DriverCallMemory(std::shared_ptr<const Context> context) {
  if (context->has_memory_pools()) return PooledMemory::Create(std::move(context));
  return std::shared_ptr<const CallMemory>(
      std::make_shared<const UnpooledMemory>(std::move(context)));
}

}  // namespace stoker::cuda
