// CompileFailure: why a compile gave no artifact, and what follows from that.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

enum class FailureClass {
  kDiagnostic,  // The request's own fault: every compile of it ends like that.
  kMemory,      // The limit of memory.
  kTimeout,     // The limit of time.
  kCrash,       // The worker was ended by a signal, or ended by itself.
  kIo,          // No worker could be started.
  kHost,        // This host lacks what the target's compiles need, as nvJitLink.
  kInternal,    // Our bug: an exception, or a worker that says what none of ours says.
};
inline constexpr std::size_t kFailureClassCount = 7;

// For counters: "diagnostic", "memory", "timeout", "crash", "io", "host", "internal".
std::string_view Name(FailureClass failure_class);

struct CompileFailure {
  FailureClass failure_class = FailureClass::kInternal;
  Error error;
};

// Longer messages of workers are cut: they are logged, kept and sent.
inline constexpr std::size_t kMaxFailureMessageBytes = 16 << 10;

// What a worker answers instead of an artifact. What it says is checked: a worker that a hostile
// graph took over says what it likes.
CompileFailure FailureOfWorker(Error error);

}  // namespace stoker
