// FlushMode: whether a thread takes denormal numbers for zero, in and out (FTZ and DAZ in MXCSR),
// as torch.set_flush_denormal sets it.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace stoker::cpu {

class FlushMode {
 public:
  // Denormal numbers are numbers.
  constexpr FlushMode() = default;
  static FlushMode OfThisThread() { return FlushMode(_mm_getcsr() & kBits); }

  void Enter() const { _mm_setcsr((_mm_getcsr() & ~kBits) | bits_); }

 private:
  static constexpr std::uint32_t kBits = 0x8040;
  explicit constexpr FlushMode(std::uint32_t bits) : bits_(bits) {}

  std::uint32_t bits_ = 0;
};

// The calling thread's mode for the life of this object.
class WithFlushMode {
 public:
  explicit WithFlushMode(FlushMode mode) : before_(FlushMode::OfThisThread()) { mode.Enter(); }
  ~WithFlushMode() { before_.Enter(); }
  WithFlushMode(const WithFlushMode&) = delete;
  WithFlushMode& operator=(const WithFlushMode&) = delete;

 private:
  const FlushMode before_;
};

}  // namespace stoker::cpu
