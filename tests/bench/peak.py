"""The machine's peak, measured: products of registers, on as many threads as PyTorch uses."""

import ctypes
import shutil
import subprocess
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

# 24 independent accumulators hide the latency of a multiply-add on two ports.
SOURCE = r"""
#include <immintrin.h>
#define LANES (VECTOR_BYTES / 4)
typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
double f32(long rounds) {
  vector sum[24], a = {0}, b = {0};
  for (int i = 0; i < 24; ++i) sum[i] = a + (float)i;
  a += 0.999f; b += 1e-6f;
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < 24; ++i) sum[i] = sum[i] * a + b;
  }
  double total = 0;
  for (int i = 0; i < 24; ++i) total += sum[i][i % LANES];
  return total;
}
long f32_flops(void) { return 24 * LANES * 2; }
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
    for (long r = 0; r < rounds; ++r) {                                      \
      multiply(0, 6, 7); multiply(1, 6, 7); multiply(2, 6, 7);               \
      multiply(3, 6, 7); multiply(4, 6, 7); multiply(5, 6, 7);               \
    }                                                                        \
    _tile_release();                                                         \
    return 1;                                                                \
  }                                                                          \
  long name##_flops(void) { return 6L * 16 * 16 * (depth) * 2; }
PRODUCTS(bf16, _tile_dpbf16ps, 32)
#if defined(__AMX_INT8__)
PRODUCTS(i8, _tile_dpbssd, 64)
#endif
#elif defined(__AVX512BF16__)
double bf16(long rounds) {
  __m512 sum[24];
  __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f7f), b = (__m512bh)_mm512_set1_epi16(0x3a00);
  for (int i = 0; i < 24; ++i) sum[i] = _mm512_set1_ps((float)i);
  for (long r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int i = 0; i < 24; ++i) sum[i] = _mm512_dpbf16_ps(sum[i], a, b);
  }
  double total = 0;
  for (int i = 0; i < 24; ++i) total += sum[i][i % 16];
  return total;
}
long bf16_flops(void) { return 24 * 32 * 2; }
#endif
"""
SECONDS = 0.3


def _vector_bytes():
    flags = Path("/proc/cpuinfo").read_text()
    return 64 if "avx512f" in flags else 32


@cache
def _library():
    compiler = next(filter(None, map(shutil.which, ("clang-22", "clang", "gcc", "cc"))))
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "peak.c"), Path(folder, "peak.so")
        source.write_text(SOURCE)
        subprocess.run(
            [compiler, "-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC",
             "-mprefer-vector-width=512", f"-DVECTOR_BYTES={_vector_bytes()}", "-o", str(output), str(source)], check=True)
        return ctypes.CDLL(str(output))


def _rate(name, threads):
    library = _library()
    if not hasattr(library, name):
        return None
    work, flops = getattr(library, name), getattr(library, f"{name}_flops")()
    work.restype = ctypes.c_double
    work.argtypes = [ctypes.c_long]
    if work(1) == 0:  # The kernel does not let us.
        return None
    rounds = 1000
    while True:
        workers = [threading.Thread(target=work, args=(rounds,)) for _ in range(threads)]
        started = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        elapsed = time.perf_counter() - started
        if elapsed > SECONDS:
            return rounds * flops * threads / elapsed
        rounds *= max(2, int(1.5 * SECONDS / max(elapsed, 1e-4)))


def measure(threads):
    """{"float32": flop/s, "bfloat16": flop/s}; a machine without bf16 instructions computes in f32.

    f32 may also be multiplied as three bf16 parts or three digits of eight bits, in six products: the
    fastest way is the peak.
    """
    f32 = max(_rate("f32", threads) for _ in range(3))
    bf16 = max((_rate("bf16", threads) or f32) for _ in range(3))
    i8 = max((_rate("i8", threads) or 0) for _ in range(3))
    return {"float32": max(f32, bf16 / 6, i8 / 6), "bfloat16": bf16}
