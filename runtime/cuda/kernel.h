// Kernel: one compiled function, loaded from the bytes of a cubin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "protocol/artifact/cuda_kernel_abi.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/device.h"

namespace stoker::cuda {

class Kernel final : public LoadedKernel {
 public:
  // DataLoss, naming `blob`, when the bytes do not have that digest, are no cubin, do not hold
  // one kernel, or are none that the driver launches on this GPU. FailedPrecondition, with
  // the driver's version, when it does not read them.
  static Result<std::shared_ptr<const Kernel>> Load(std::shared_ptr<const Context> context,
                                                    const Digest& blob, std::string_view bytes);

  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() override;

  CuFunction function() const { return function_; }
  unsigned threads() const { return threads_; }            // Of a block.
  unsigned shared_bytes() const { return shared_bytes_; }  // Dynamic ones, of a block.
  // Of a launch that its schedule gives so many.
  unsigned BlocksOf(std::int64_t blocks) const {
    return static_cast<unsigned>(std::min(blocks, most_blocks_));
  }

 private:
  explicit Kernel(std::shared_ptr<const Context> context) : context_(std::move(context)) {}

  const std::shared_ptr<const Context> context_;
  CuModule module_ = nullptr;
  CuFunction function_ = nullptr;
  unsigned threads_ = 0;
  unsigned shared_bytes_ = 0;
  std::int64_t most_blocks_ = kMaxCudaBlocks;
};

}  // namespace stoker::cuda
