// Generates a kernel, loads its ELF from memory and calls it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "protocol/artifact/kernel_abi.h"
#include "tests/unit/compiler/codegen/x86_targets.h"

namespace stoker {

class LoadedKernel {
 public:
  // With the best schedule known, or the one given.
  static Result<std::unique_ptr<LoadedKernel>> Make(const KernelFunc& func, const Target& target);
  static Result<std::unique_ptr<LoadedKernel>> Make(const KernelFunc& func, const Target& target,
                                                    Execution execution);
  static Result<std::unique_ptr<LoadedKernel>> Make(const ScheduledKernel& scheduled,
                                                    const Target& target, Execution execution);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  // False for a target that this processor cannot run: there is nothing to call.
  bool Runs() const { return execution_ != Execution::kNone; }
  // Runs all tasks, `tasks_per_call` at a time, as if `threads` threads shared them; what is a
  // thread's first call finds scratch filled with garbage.
  void Run(const std::vector<void*>& buffers, const SymBindings& symbols = {},
           std::int64_t tasks_per_call = INT64_MAX, std::int64_t threads = 1) const;

  const LaunchShape& launch() const { return launch_; }
  CpuKernelFn function() const { return function_; }
  double compile_ms() const { return compile_ms_; }
  const std::string& elf() const { return elf_; }

 private:
  LoadedKernel() = default;

  Execution execution_ = Execution::kNone;
  LaunchShape launch_;
  std::string elf_;
  double compile_ms_ = 0;
  int file_ = -1;  // Open as long as the library is loaded: dlopen goes by its path.
  void* library_ = nullptr;
  CpuKernelFn function_ = nullptr;
};

// A buffer that ends at an unmapped page and begins after one: reading or writing beyond either end
// crashes (the beginning only to within a page).
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  void* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace stoker
