// The calling convention of compiled CPU kernels.
//
// A kernel computes the tasks [task_begin, task_end) of its launch. Tasks are independent; the
// runtime spreads them over its threads in any order. A kernel keeps no state beyond a
// launch, calls nothing outside itself, and touches only its buffers and its scratch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// buffers: one pointer per operand of the launch, in its order; 64-byte aligned except graph inputs
//   and outputs, which have the element's own alignment unless the signature says more.
// dims: values of the launch's dim expressions.
// scratch: `scratch_bytes` of the launch, 64-byte aligned, private to the calling thread,
//   uninitialized at its first call of a launch and as the call before left it at later ones; a
//   ScratchHeader lies before it.
using CpuKernelFn = void (*)(void* const* buffers, const std::int64_t* dims,
                             std::int64_t task_begin, std::int64_t task_end, std::byte* scratch);

// The symbol every kernel ELF exports.
inline constexpr char kKernelSymbol[] = "stoker_kernel_3";

// What a kernel is told of its launch, and what it may note in scratch for the thread's later calls
// of the same one.
struct ScratchHeader {
  std::int64_t is_noted =
      0;                     // The runtime sets it to 0 before the thread's first call of a launch.
  std::int64_t note = 0;     // The kernel's own.
  std::int64_t threads = 1;  // Among which the tasks are shared: the same in a launch's calls. What
                             // a kernel computes does not depend on it.
};
inline constexpr std::int64_t kScratchHeaderBytes =
    64;  // Before scratch, the header at their start.

// Arena offsets and prepared buffers are multiples of this.
inline constexpr std::int64_t kBufferAlignment = 64;

// Buffers may be read (never written) up to this many bytes past their end by vector code.
// Arena and prepared buffers are laid out with it; graph inputs, outputs and constants are not, and
// kernels must mask accesses to them.
inline constexpr std::int64_t kBufferReadSlack = 64;

}  // namespace stoker
