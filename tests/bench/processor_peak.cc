#include "tests/bench/processor_peak.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>

namespace stoker {
namespace {

constexpr int kIterations = 30000;

// Twelve independent sums hide the latency of four cycles on two ports.
#define STOKER_TWELVE(op, prefix)                                                               \
  op " %%" prefix "14,%%" prefix "15,%%" prefix "0\n" op " %%" prefix "14,%%" prefix            \
     "15,%%" prefix "1\n" op " %%" prefix "14,%%" prefix "15,%%" prefix "2\n" op " %%" prefix   \
     "14,%%" prefix "15,%%" prefix "3\n" op " %%" prefix "14,%%" prefix "15,%%" prefix "4\n" op \
     " %%" prefix "14,%%" prefix "15,%%" prefix "5\n" op " %%" prefix "14,%%" prefix            \
     "15,%%" prefix "6\n" op " %%" prefix "14,%%" prefix "15,%%" prefix "7\n" op " %%" prefix   \
     "14,%%" prefix "15,%%" prefix "8\n" op " %%" prefix "14,%%" prefix "15,%%" prefix "9\n" op \
     " %%" prefix "14,%%" prefix "15,%%" prefix "10\n" op " %%" prefix "14,%%" prefix           \
     "15,%%" prefix "11\n"
#define STOKER_LOOP(body)                                                                    \
  int n = kIterations;                                                                       \
  /* Zeros: what a kernel left there may be denormal. */                                     \
  __asm__ volatile("vzeroall\n1:\n" body "dec %0\njnz 1b\nvzeroupper\n"                      \
                   : "+r"(n)                                                                 \
                   :                                                                         \
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                     "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc")

void Fma256() { STOKER_LOOP(STOKER_TWELVE("vfmadd231ps", "ymm")); }
void Fma512() { STOKER_LOOP(STOKER_TWELVE("vfmadd231ps", "zmm")); }
void Dot512() { STOKER_LOOP(STOKER_TWELVE("vdpbf16ps", "zmm")); }

// Four independent tiles of sums, of two and two tiles.
#define STOKER_TILES(op)                                                                  \
  std::array<std::uint8_t, 64> config = {1};                                              \
  for (std::size_t tile = 0; tile < 8; ++tile) {                                          \
    config[16 + 2 * tile] = 64;                                                           \
    config[48 + tile] = 16;                                                               \
  }                                                                                       \
  int n = kIterations / 8;                                                                \
  __asm__ volatile(                                                                       \
      "ldtilecfg %1\n"                                                                    \
      "tilezero %%tmm4\ntilezero %%tmm5\ntilezero %%tmm6\ntilezero %%tmm7\n"              \
      "1:\n" op " %%tmm6,%%tmm4,%%tmm0\n" op " %%tmm7,%%tmm4,%%tmm1\n" op                 \
      " %%tmm6,%%tmm5,%%tmm2\n" op " %%tmm7,%%tmm5,%%tmm3\ndec %0\njnz 1b\ntilerelease\n" \
      : "+r"(n)                                                                           \
      : "m"(config)                                                                       \
      : "cc")

void AmxBf16() { STOKER_TILES("tdpbf16ps"); }

constexpr double kTileProducts =
    kIterations / 8 * 4.0 * 16 * 16;  // Of whole registers of 64 bytes.

double Gflops(void (*run)(), double operations) {
  const double start = ThreadSeconds();
  run();
  return operations / (ThreadSeconds() - start) * 1e-9;
}

}  // namespace

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double PeakGflops(DType dtype, const Target& target) {
  const bool avx512 = target.arch() == "x86-64-v4";
  const double fma =
      avx512 ? Gflops(Fma512, kIterations * 12.0 * 32) : Gflops(Fma256, kIterations * 12.0 * 16);
  const double amx = target.Has("amx_bf16") ? Gflops(AmxBf16, kTileProducts * 2 * 32) : 0;
  if (dtype == DType::kBF16) {
    if (amx != 0) return amx;
    return target.Has("avx512_bf16") ? Gflops(Dot512, kIterations * 12.0 * 64) : fma;
  }
  constexpr int kProductsOfParts = 6;
  return std::max(fma, amx / kProductsOfParts);
}

}  // namespace stoker
