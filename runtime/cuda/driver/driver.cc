#include "runtime/cuda/driver/driver.h"

#include "protocol/base/host/nvidia_libraries.h"

namespace stoker::cuda {
namespace {

std::string TextOf(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The first symbol that is not there, of those that every driver has.
const char* FindAll(const NvidiaLibrary& library, DriverApi& api) {
#define STOKER_CUDA_FIND(member, symbol, parameters) \
  if (!library.Find(symbol, api.member)) api.member = nullptr;
  STOKER_CUDA_NEWER_DRIVER_API(STOKER_CUDA_FIND)
#undef STOKER_CUDA_FIND
#define STOKER_CUDA_FIND(member, symbol, parameters) \
  if (!library.Find(symbol, api.member)) return symbol;
  STOKER_CUDA_DRIVER_API(STOKER_CUDA_FIND)
#undef STOKER_CUDA_FIND
  return nullptr;
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::Load(const std::string& library) {
  const Result<NvidiaLibrary> loaded = NvidiaLibrary::Load(library);
  if (!loaded.ok()) {
    return Unavailable("There is no CUDA driver: " + loaded.error().message + ".");
  }
  std::shared_ptr<Driver> driver(new Driver);
  const char* const missing = FindAll(*loaded, driver->api_);
  const DriverApi& api = driver->api_;
  if (api.driver_version != nullptr && api.driver_version(&driver->version_) == kCuSuccess &&
      (missing != nullptr || driver->version_ < kOldestVersion)) {
    return FailedPrecondition("The CUDA driver is of CUDA " + TextOf(driver->version_) +
                              "; kernels need one of CUDA " + TextOf(kOldestVersion) +
                              " or newer.");
  }
  if (missing != nullptr) {
    return FailedPrecondition(library + " is no CUDA driver: it has no " + missing + ".");
  }
  const int status = api.init(0);
  if (status == kCuNoDevice) return Unavailable("The CUDA driver finds no GPU.");
  if (const Status started = driver->Check(status, "cuInit"); !started.ok()) {
    return Unavailable(started.error().message);
  }
  STOKER_RETURN_IF_ERROR(driver->Check(api.device_count(&driver->devices_), "cuDeviceGetCount"));
  if (driver->devices_ == 0) return Unavailable("The CUDA driver finds no GPU.");
  return std::shared_ptr<const Driver>(std::move(driver));
}

std::string Driver::VersionText() const { return TextOf(version_); }

Error Driver::Failure(int result, std::string_view what) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api_.error_name(result, &name) != kCuSuccess) name = nullptr;
  if (api_.error_text(result, &text) != kCuSuccess) text = nullptr;
  std::string message(what);
  message += ": " + (name == nullptr ? "CUDA error " + std::to_string(result) : std::string(name));
  if (text != nullptr) message += " (" + std::string(text) + ")";
  message += ".";
  return result == kCuOutOfMemory ? ResourceExhausted(std::move(message))
                                  : Internal(std::move(message));
}

}  // namespace stoker::cuda
