// Generates a kernel, loads its ELF from memory and calls it.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker {

class LoadedKernel {
 public:
  static Result<std::unique_ptr<LoadedKernel>> Make(const KernelFunc& func, const Target& target);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  // Runs all tasks, `tasks_per_call` at a time, each call on scratch filled with garbage.
  void Run(const std::vector<void*>& buffers, const SymBindings& symbols = {},
           std::int64_t tasks_per_call = INT64_MAX) const;

  const LaunchShape& launch() const { return launch_; }
  CpuKernelFn function() const { return function_; }
  double compile_ms() const { return compile_ms_; }
  const std::string& elf() const { return elf_; }

 private:
  LoadedKernel() = default;

  LaunchShape launch_;
  std::string elf_;
  double compile_ms_ = 0;
  int file_ = -1;  // Open as long as the library is loaded: dlopen goes by its path.
  void* library_ = nullptr;
  CpuKernelFn function_ = nullptr;
};

// Whether this machine can run code for `target`.
bool CanRun(const Target& target);
// Those of x86-64-v3, x86-64-v4 and the host that can run here.
std::vector<Target> RunnableTargets();
// The target in letters, digits and underscores.
std::string TestNameOf(const Target& target);

// Those this machine can run: every way to multiply bf16 is a target of its own.
std::vector<Target> ProductTargets();
void PrintTo(const Target& target, std::ostream* out);  // For GoogleTest.

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
