#include "tests/unit/compiler/codegen/kernel_runner.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/unit/compiler/codegen/tile_emulation.h"

namespace stoker {

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::Make(const KernelFunc& func,
                                                         const Target& target) {
  return Make(func, target, ExecutionOf(target));
}

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::Make(const KernelFunc& func,
                                                         const Target& target,
                                                         Execution execution) {
  STOKER_TRY(const ScheduledKernel scheduled, ScheduleKernel(func, target));
  return Make(scheduled, target, execution);
}

Result<std::unique_ptr<LoadedKernel>> LoadedKernel::Make(const ScheduledKernel& scheduled,
                                                         const Target& target,
                                                         Execution execution) {
  std::unique_ptr<LoadedKernel> kernel(new LoadedKernel);
  kernel->execution_ = execution;
  kernel->launch_ = scheduled.launch();
  const auto start = std::chrono::steady_clock::now();
  STOKER_TRY(KernelCode code, GenerateKernel(scheduled, target));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  kernel->compile_ms_ = took.count();
  kernel->elf_ = execution == Execution::kEmulated ? WithEmulatedTiles(std::move(code.elf))
                                                   : std::move(code.elf);
  ReportKernel(target, execution);

  kernel->file_ = memfd_create("kernel", MFD_CLOEXEC);
  if (kernel->file_ < 0) return Internal("memfd_create failed.");
  const auto written = write(kernel->file_, kernel->elf_.data(), kernel->elf_.size());
  const std::string path = "/proc/self/fd/" + std::to_string(kernel->file_);
  kernel->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (written != static_cast<ssize_t>(kernel->elf_.size()) || kernel->library_ == nullptr) {
    return Internal(std::string("dlopen: ") + dlerror());
  }
  kernel->function_ = reinterpret_cast<CpuKernelFn>(dlsym(kernel->library_, kKernelSymbol));
  if (kernel->function_ == nullptr) return Internal(std::string("dlsym: ") + dlerror());
  return kernel;
}

LoadedKernel::~LoadedKernel() {
  if (library_ != nullptr) dlclose(library_);
  if (file_ >= 0) close(file_);
}

void LoadedKernel::Run(const std::vector<void*>& buffers, const SymBindings& symbols,
                       std::int64_t tasks_per_call, std::int64_t threads) const {
  STOKER_CHECK(Runs());
  std::vector<std::int64_t> dims;
  for (const SymDim& dim : launch_.dims) dims.push_back(dim.Evaluate(symbols).value());
  const std::int64_t tasks = launch_.tasks.Evaluate(symbols).value();
  const auto bytes =
      static_cast<std::size_t>(kScratchHeaderBytes + (launch_.scratch_bytes + 63) / 64 * 64 + 64);
  std::byte* scratch = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
  // Every third call is the first one of a thread.
  int call = 0;
  for (std::int64_t begin = 0; begin < tasks; ++call) {
    const std::int64_t end = begin + std::min(tasks_per_call, tasks - begin);
    if (call % 3 == 0) {
      std::memset(scratch, 0xff, bytes);  // NaN in every float type.
      new (scratch) ScratchHeader{.threads = threads};
    }
    function_(buffers.data(), dims.data(), begin, end, scratch + kScratchHeaderBytes);
    begin = end;
  }
  std::free(scratch);
}

GuardedBuffer::GuardedBuffer(std::size_t bytes) : size_(bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t inner = (bytes + page - 1) / page * page;
  mapping_bytes_ = inner + 2 * page;
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  STOKER_CHECK(mapping_ != MAP_FAILED);
  std::byte* begin = static_cast<std::byte*>(mapping_) + page;
  STOKER_CHECK(inner == 0 || mprotect(begin, inner, PROT_READ | PROT_WRITE) == 0);
  data_ = begin + (inner - bytes);
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping_, mapping_bytes_); }

}  // namespace stoker
