// Runs CUDA kernels without a GPU: the LLVM module of a kernel is compiled for this processor, and
// the threads of a block take turns on it, each on a stack of its own, from one barrier or shuffle
// to the next. What PTX and the assembler make of the module is not seen here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/kernel/scheduled_kernel.h"
#include "protocol/base/result.h"
#include "protocol/key/target.h"

namespace stoker {

class EmulatedKernel {
 public:
  static Result<std::unique_ptr<EmulatedKernel>> Make(const ScheduledKernel& scheduled,
                                                      const Target& target);
  ~EmulatedKernel();
  EmulatedKernel(const EmulatedKernel&) = delete;
  EmulatedKernel& operator=(const EmulatedKernel&) = delete;

  // All blocks, one after the other, each with shared memory full of garbage. STOKER_CHECKs that
  // all threads of a block meet the same barriers and shuffles.
  void Run(const std::vector<void*>& buffers, const SymBindings& symbols = {}) const;
  // The same with what a launch is given.
  void RunBlocks(std::int64_t blocks, const std::uint64_t* parameters) const;

  // How many assertions of kernels have failed in this thread since it was asked last.
  static int TakeFailures();

 private:
  EmulatedKernel() = default;

  CudaSchedule schedule_;
  std::string shared_;  // Memory of a block.
  int file_ = -1;
  void* library_ = nullptr;
  void (*function_)(const std::uint64_t* parameters) = nullptr;
};

}  // namespace stoker
