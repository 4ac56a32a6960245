"""The machine's peak, measured: products of registers, on as many threads as PyTorch uses.

Each thread is timed by its own processor time, so that whoever else runs meanwhile does not lower the peak.
A virtual machine may be slower at one time than at another: a run measures again and again, and the fastest
time is the peak.
"""

import ctypes
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path

# Each function returns the seconds that the thread has computed. Independent sums hide the latency of a
# multiply-add on two ports: 24 of them, or 12 where there are only 16 registers.
SOURCE = r"""
#include <immintrin.h>
#include <time.h>
#define LANES (VECTOR_BYTES / 4)
#define SUMS (VECTOR_BYTES == 64 ? 24 : 12)
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static volatile float result;
typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
double f32(long rounds) {
  const double start = now();
  vector sum[SUMS], a = {0}, b = {0};
  for (int i = 0; i < SUMS; ++i) sum[i] = a + (float)i;
  a += 0.999f; b += 1e-6f;
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < SUMS; ++i) sum[i] = sum[i] * a + b;
  }
  float total = 0;
  for (int i = 0; i < SUMS; ++i) total += sum[i][i % LANES];
  result = total;
  return now() - start;
}
long f32_flops(void) { return SUMS * LANES * 2; }
#if defined(__AMX_BF16__)
#include <sys/syscall.h>
#include <unistd.h>
/* Tiles of 16 rows by 64 bytes: each instruction multiplies 16x32 by 32x16, of bytes 16x64 by 64x16. */
static int tiles(void) {
  static const struct { unsigned char palette, row, reserved[14]; unsigned short bytes[16];
                        unsigned char rows[16]; } shape = {
      1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
  enum { kRequestPermission = 0x1023, kTileData = 18 };
  static const char zeros[1024];
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData)) return 0;
  _tile_loadconfig(&shape);
  _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3); _tile_zero(4); _tile_zero(5);
  _tile_loadd(6, zeros, 64); _tile_loadd(7, zeros, 64);
  return 1;
}
#define PRODUCTS(name, multiply, depth)                                      \
  double name(long rounds) {                                                 \
    if (!tiles()) return 0;                                                  \
    const double start = now();                                              \
    for (long r = 0; r < rounds; ++r) {                                      \
      multiply(0, 6, 7); multiply(1, 6, 7); multiply(2, 6, 7);               \
      multiply(3, 6, 7); multiply(4, 6, 7); multiply(5, 6, 7);               \
    }                                                                        \
    const double seconds = now() - start;                                    \
    _tile_release();                                                         \
    return seconds;                                                          \
  }                                                                          \
  long name##_flops(void) { return 6L * 16 * 16 * (depth) * 2; }
PRODUCTS(bf16, _tile_dpbf16ps, 32)
#elif defined(__AVX512BF16__)
double bf16(long rounds) {
  const double start = now();
  __m512 sum[24];
  __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f7f), b = (__m512bh)_mm512_set1_epi16(0x3a00);
  for (int i = 0; i < 24; ++i) sum[i] = _mm512_set1_ps((float)i);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < 24; ++i) sum[i] = _mm512_dpbf16_ps(sum[i], a, b);
  }
  float total = 0;
  for (int i = 0; i < 24; ++i) total += sum[i][i % 16];
  result = total;
  return now() - start;
}
long bf16_flops(void) { return 24 * 32 * 2; }
#endif
"""
SECONDS = 0.3


def _vector_bytes():
    flags = Path("/proc/cpuinfo").read_text()
    return 64 if "avx512f" in flags else 32


@cache
def _library(has_tiles):
    compiler = next(filter(None, map(shutil.which, ("clang-22", "clang", "gcc", "cc"))))
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "peak.c"), Path(folder, "peak.so")
        source.write_text(SOURCE)
        subprocess.run(
            [compiler, "-O3", "-march=native", *([] if has_tiles else ["-mno-amx-bf16"]), "-ffp-contract=fast",
             "-shared", "-fPIC", "-mprefer-vector-width=512", f"-DVECTOR_BYTES={_vector_bytes()}", "-o", str(output),
             str(source)], check=True)
        return ctypes.CDLL(str(output))


def _rate(name, threads, has_tiles):
    """Operations a second of all threads together; None where the processor or the kernel lacks it."""
    library = _library(has_tiles)
    if not hasattr(library, name):
        return None
    work, flops = getattr(library, name), getattr(library, f"{name}_flops")()
    work.restype = ctypes.c_double
    work.argtypes = [ctypes.c_long]
    if work(1) == 0:  # The kernel does not let us.
        return None
    rounds = 1000
    while True:
        seconds = _in_threads(lambda: work(rounds), threads)
        if min(seconds) > SECONDS:
            return sum(rounds * flops / taken for taken in seconds)
        rounds *= max(2, int(1.5 * SECONDS / max(min(seconds), 1e-4)))


def _in_threads(work, threads):
    """What `work` returns in each of `threads` threads that begin together."""
    begin, results = threading.Barrier(threads), []

    def one():
        begin.wait()
        results.append(work())

    workers = [threading.Thread(target=one) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return results


PRODUCTS_OF_F32 = 6  # An f32 in three bf16 parts: products of parts that count.


def fastest(rates):
    """{"float32": flop/s, "bfloat16": flop/s} of the rates of f32 and bf16, the latter maybe None.

    The contract lets f32 be multiplied by multiply-adds or as three bf16 parts: the faster way is the peak.
    A machine without products of bf16 computes them in f32.
    """
    f32, bf16 = rates
    return {"float32": max(f32, (bf16 or 0) / PRODUCTS_OF_F32), "bfloat16": max(f32, bf16 or 0)}


class Peaks:
    """The fastest rates that were measured in a run. `has_tiles`: whether its processes may use AMX;
    `rates`: those of the part of the run that was cut off."""

    def __init__(self, threads, has_tiles, rates=None):
        self.rates = dict(rates or {})
        self._threads, self._has_tiles = threads, has_tiles

    def measure(self):
        for dtype, rate in fastest([_rate(name, self._threads, self._has_tiles) for name in ("f32", "bf16")]).items():
            self.rates[dtype] = max(rate, self.rates.get(dtype, 0))


def fill_shares(results, peaks):
    """Sets peak_share of rows that have flops and a time; returns how many have none because they were
    faster than the peak: the machine was slower whenever that was measured, so it is no peak for them."""
    faster = 0
    for result in results:
        result["peak_share"] = None
        if not result["flops"] or not result["steady_ms"]:
            continue
        share = result["flops"] / (result["steady_ms"] / 1e3) / peaks[result["dtype"]]
        if share > 1:
            faster += 1
        else:
            result["peak_share"] = share
    return faster
