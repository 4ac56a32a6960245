#include "runtime/cpu/launcher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>

#include "runtime/cpu/flush_mode.h"

namespace stoker::cpu {
namespace {

struct KernelCall {
  CpuKernelFn function;
  void* const* buffers;
  const std::int64_t* dims;
  Scratch scratch;
  std::uint8_t* has_begun;  // Of each thread.
  FlushMode flush_mode;     // The caller's, which its workers compute in.
};

void RunChunk(const void* context, std::int64_t begin, std::int64_t end, int thread) {
  const auto& call = *static_cast<const KernelCall*>(context);
  std::byte* const base = call.scratch.base + thread * call.scratch.stride;
  if (call.has_begun[thread] == 0) {
    call.has_begun[thread] = 1;
    call.flush_mode.Enter();
    new (base) ScratchHeader;
  }
  call.function(call.buffers, call.dims, begin, end, base + kScratchHeaderBytes);
}

}  // namespace

std::int64_t ScratchStride(std::span<const SizedLaunch> launches) {
  std::int64_t most = 0;
  for (const SizedLaunch& launch : launches) most = std::max(most, launch.scratch_bytes);
  return kScratchHeaderBytes + (most + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

std::size_t MaxOperands(std::span<const SizedLaunch> launches) {
  std::size_t most = 0;
  for (const SizedLaunch& launch : launches) most = std::max(most, launch.buffers.size());
  return most;
}

void RunLaunches(ThreadPool::Team& team, std::span<const SizedLaunch> launches,
                 std::span<const std::shared_ptr<const Kernel>> kernels, Slots& slots,
                 std::span<void*> table, Scratch scratch, std::vector<double>* seconds) {
  const FlushMode flush_mode = FlushMode::OfThisThread();
  for (const SizedLaunch& launch : launches) {
    const auto start = seconds != nullptr ? std::chrono::steady_clock::now()
                                          : std::chrono::steady_clock::time_point();
    for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
      const SizedBuffer& buffer = launch.buffers[i];
      auto* const base = static_cast<std::byte*>(slots.Of(buffer.kind, buffer.index));
      table[i] = base + buffer.offset;
    }
    std::array<std::uint8_t, kMaxThreads> has_begun{};
    const KernelCall call{kernels[launch.kernel]->function(),
                          table.data(),
                          launch.dims.data(),
                          scratch,
                          has_begun.data(),
                          flush_mode};
    team.Run(launch.tasks, launch.min_tasks_per_chunk, &call, RunChunk);
    if (seconds != nullptr) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      seconds->push_back(elapsed.count());
    }
  }
}

}  // namespace stoker::cpu
