#include "runtime/cuda/driver/context.h"

#include <string>

namespace stoker::cuda {

Result<std::shared_ptr<const Context>> Context::Create(std::shared_ptr<const Driver> driver,
                                                       int ordinal) {
  if (ordinal < 0 || ordinal >= driver->devices()) {
    return InvalidArgument("There is no GPU " + std::to_string(ordinal) + "; this process sees " +
                           std::to_string(driver->devices()) + ".");
  }
  int device = 0;
  STOKER_RETURN_IF_ERROR(driver->Check(driver->api().device(&device, ordinal), "cuDeviceGet"));
  std::shared_ptr<Context> context(new Context(std::move(driver), device));
  STOKER_RETURN_IF_ERROR(context->Check(context->api().retain_context(&context->context_, device),
                                        "cuDevicePrimaryCtxRetain"));
  STOKER_TRY(const int pools, context->Attribute(kCuDeviceMemoryPools));
  context->has_memory_pools_ = pools != 0;
  return std::shared_ptr<const Context>(std::move(context));
}

Context::~Context() {
  if (context_ != nullptr) api().release_context(device_);
}

Result<Context::Current> Context::MakeCurrent() const {
  CuContext current = nullptr;
  if (api().current_context(&current) == kCuSuccess && current == context_) return Current(nullptr);
  STOKER_RETURN_IF_ERROR(Check(api().push_context(context_), "cuCtxPushCurrent"));
  return Current(&api());
}

Result<int> Context::Attribute(int attribute) const {
  int value = 0;
  STOKER_RETURN_IF_ERROR(Check(api().device_attribute(&value, attribute, device_),
                               "cuDeviceGetAttribute " + std::to_string(attribute)));
  return value;
}

}  // namespace stoker::cuda
