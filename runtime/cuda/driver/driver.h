// Driver: NVIDIA's driver, loaded when it is first needed and never linked, so that everything else
// works where there is none.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "protocol/base/result.h"
#include "runtime/cuda/driver/driver_api.h"

namespace stoker::cuda {

// Thread-safe. Stays loaded as long as the process.
class Driver {
 public:
  static constexpr char kLibrary[] = "libcuda.so.1";
  static constexpr int kOldestVersion = 11020;  // 11.2, as the driver gives it.

  // Unavailable where there is no driver or no device; FailedPrecondition, naming both versions,
  // where it is too old.
  static Result<std::shared_ptr<const Driver>> Load(const std::string& library = kLibrary);

  const DriverApi& api() const { return api_; }
  int version() const { return version_; }
  std::string VersionText() const;  // Of CUDA: "13.0".
  int devices() const { return devices_; }

  // Ok for success; otherwise an error of "`what`: NAME (text).": ResourceExhausted where memory
  // has run out, else Internal.
  Status Check(int result, std::string_view what) const {
    if (result == kCuSuccess) return Ok();
    return Failure(result, what);
  }

 private:
  Driver() = default;
  Error Failure(int result, std::string_view what) const;

  DriverApi api_;
  int version_ = 0;
  int devices_ = 0;
};

}  // namespace stoker::cuda
