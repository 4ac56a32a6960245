// Launching: from sized launches and base addresses to kernel calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protocol/artifact/kernel_abi.h"
#include "protocol/artifact/sized_plan.h"
#include "runtime/cpu/kernel.h"
#include "runtime/cpu/thread_pool.h"

namespace stoker::cpu {

// Addresses of everything a BufferRef can name, one slot each: the three arenas, then inputs,
// outputs and constants.
class Slots {
 public:
  Slots(std::size_t inputs, std::size_t outputs, std::size_t constants)
      : addresses_(3 + inputs + outputs + constants),
        output_base_(3 + inputs),
        constant_base_(3 + inputs + outputs) {}

  void*& Of(BufferKind kind, std::uint32_t index) {
    switch (kind) {
      case BufferKind::kArena:
        return addresses_[0];
      case BufferKind::kPrepared:
        return addresses_[1];
      case BufferKind::kPrepareArena:
        return addresses_[2];
      case BufferKind::kInput:
        return addresses_[3 + index];
      case BufferKind::kOutput:
        return addresses_[output_base_ + index];
      case BufferKind::kConstant:
        break;
    }
    return addresses_[constant_base_ + index];
  }

 private:
  std::vector<void*> addresses_;
  std::size_t output_base_;
  std::size_t constant_base_;
};

// Scratch of the threads of one launch: thread i has `stride` bytes at base + i * stride, a
// ScratchHeader first.
struct Scratch {
  std::byte* base = nullptr;
  std::int64_t stride = 0;
};

// Bytes of scratch per thread that a list needs, padded so that threads share no cache line.
std::int64_t ScratchStride(std::span<const SizedLaunch> launches);
// Most operands of one launch.
std::size_t MaxOperands(std::span<const SizedLaunch> launches);

// Runs `launches` in order, all threads in the caller's FlushMode. `table` has room for
// MaxOperands. When `seconds` is given, it receives the duration of each launch.
void RunLaunches(ThreadPool::Team& team, std::span<const SizedLaunch> launches,
                 std::span<const std::shared_ptr<const Kernel>> kernels, Slots& slots,
                 std::span<void*> table, Scratch scratch, std::vector<double>* seconds);

}  // namespace stoker::cpu
