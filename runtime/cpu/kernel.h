// Kernel: one compiled function, loaded from the bytes of an ELF shared object.
#pragma once

#include <memory>
#include <string_view>

#include "protocol/artifact/kernel_abi.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "runtime/device.h"

namespace stoker::cpu {

class Kernel final : public LoadedKernel {
 public:
  // DataLoss, naming `blob`, when the bytes do not have that digest, are no x86-64 shared object,
  // or do not export kKernelSymbol.
  static Result<std::shared_ptr<const Kernel>> Load(const Digest& blob, std::string_view bytes);

  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() override;

  CpuKernelFn function() const { return function_; }

 private:
  Kernel(void* handle, CpuKernelFn function) : handle_(handle), function_(function) {}

  void* handle_;
  CpuKernelFn function_;
};

}  // namespace stoker::cpu
