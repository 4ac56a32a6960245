// Question: how far are row kernels (gelu, softmax, layer norm) from the speed at which their
// operands can be moved? One thread; each kernel beside a compiled copy of the same tensor and
// beside memcpy, measured in the same run, in cache and from memory.
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/compiler/codegen/kernel_runner.h"
#include "tests/unit/compiler/codegen/sample_funcs.h"

namespace stoker {
namespace {

constexpr int kSamples = 31;

struct Times {
  double p10_us = 0;
  double median_us = 0;
};

Times Measure(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  call();
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i) {
    // Long enough for the clock.
    int repeats = 0;
    const auto start = Clock::now();
    std::chrono::duration<double, std::micro> took{};
    do {
      call();
      ++repeats;
      took = Clock::now() - start;
    } while (took.count() < 200);
    samples.push_back(took.count() / repeats);
  }
  std::sort(samples.begin(), samples.end());
  return {samples[kSamples / 10], samples[kSamples / 2]};
}

void MeasureShape(const Target& target, std::int64_t rows, std::int64_t columns, DType dtype) {
  const auto bytes = static_cast<std::size_t>(rows * columns * SizeInBytes(dtype));
  const auto row_bytes = static_cast<std::size_t>(columns) * sizeof(float);
  const auto allocate = [](std::size_t size) {
    void* buffer = std::aligned_alloc(64, (size + 63) / 64 * 64);
    std::memset(buffer, 0x3c, size);  // Small positive numbers in every float type.
    return buffer;
  };
  const std::vector<void*> buffers = {allocate(bytes), allocate(bytes), allocate(row_bytes),
                                      allocate(row_bytes)};
  const Times moved = Measure([&] { std::memcpy(buffers[1], buffers[0], bytes); });
  std::printf("[%ld, %ld] %s, %.2f MiB read and written: memcpy %.1f us\n", rows, columns,
              std::string(Name(dtype)).c_str(), 2 * static_cast<double>(bytes) / 1048576,
              moved.median_us);
  const std::pair<const char*, LoopFunc> kernels[] = {
      {"copy", CopyFunc(rows, columns, dtype)},
      {"gelu_erf", GeluErfFunc(rows, columns, dtype)},
      {"gelu_tanh", GeluTanhFunc(rows, columns, dtype)},
      {"softmax", SoftmaxFunc(rows, columns, dtype)},
      {"layer_norm", LayerNormFunc(rows, columns, dtype)},
  };
  for (const auto& [name, func] : kernels) {
    auto kernel = LoadedKernel::Make(func, target);
    if (!kernel.ok()) {
      std::printf("  %-10s %s\n", name, kernel.error().message.c_str());
      continue;
    }
    const Times times = Measure([&] { (*kernel)->Run(buffers); });
    std::printf(
        "  %-10s p10 %8.1f us  median %8.1f us  %.2f ns/vector of 16  %.2f x memcpy"
        "  (compiled in %.1f ms)\n",
        name, times.p10_us, times.median_us,
        times.p10_us * 1000 * 16 / static_cast<double>(rows * columns), times.p10_us / moved.p10_us,
        (*kernel)->compile_ms());
  }
  for (void* buffer : buffers) std::free(buffer);
}

int Main() {
  utsname machine{};
  uname(&machine);
  const Target target = Target::Host().value();
  std::printf("%s %s, %s, commit %s\n", machine.sysname, machine.release, target.ToString().c_str(),
              STOKER_COMMIT);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    MeasureShape(target, 128, 768, dtype);
    MeasureShape(target, 1536, 128, dtype);
    MeasureShape(target, 128, 3072, dtype);
    MeasureShape(target, 8192, 3072, dtype);
  }
  return 0;
}

}  // namespace
}  // namespace stoker

int main() { return stoker::Main(); }
