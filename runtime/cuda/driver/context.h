// Context: one GPU of this process, through the context that PyTorch and the CUDA runtime use too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "protocol/base/result.h"
#include "runtime/cuda/driver/driver.h"

namespace stoker::cuda {

// Thread-safe. What is made in it keeps it.
class Context {
 public:
  // InvalidArgument, naming how many there are, where `ordinal` is no device.
  static Result<std::shared_ptr<const Context>> Create(std::shared_ptr<const Driver> driver,
                                                       int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return *driver_; }
  const DriverApi& api() const { return driver_->api(); }
  Status Check(int result, std::string_view what) const { return driver_->Check(result, what); }
  Result<int> Attribute(int attribute) const;
  int device() const { return device_; }  // The driver's.
  bool has_memory_pools() const { return has_memory_pools_; }

  // The calling thread's context as long as this lives; the one before is restored.
  class Current {
   public:
    Current(Current&& other) noexcept : pushed_on_(std::exchange(other.pushed_on_, nullptr)) {}
    Current& operator=(Current&&) = delete;
    ~Current() {
      CuContext current = nullptr;
      if (pushed_on_ != nullptr) pushed_on_->pop_context(&current);
    }

   private:
    friend class Context;
    explicit Current(const DriverApi* pushed_on) : pushed_on_(pushed_on) {}

    const DriverApi* pushed_on_;  // Null: it was current before.
  };
  // What the driver says where it refuses: calls would go to another context, or to none.
  Result<Current> MakeCurrent() const;

 private:
  Context(std::shared_ptr<const Driver> driver, int device)
      : driver_(std::move(driver)), device_(device) {}

  const std::shared_ptr<const Driver> driver_;
  const int device_;
  CuContext context_ = nullptr;
  bool has_memory_pools_ = false;
};

}  // namespace stoker::cuda
