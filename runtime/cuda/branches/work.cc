#include "runtime/cuda/branches/work.h"

#include <algorithm>

namespace stoker::cuda {
namespace {

// What a product of a library takes to begin and to end, however small it is.
constexpr double kProductMicroseconds = 2;

// Of an H100, rounded.
constexpr double kBytes = 3e6;  // In a microsecond, as what follows.
constexpr double kFlopsOfLoops = 3e7;
constexpr double kFlopsOf16Bits = 6e8;
constexpr double kFlopsOfTf32 = 3e8;
constexpr double kFlopsOfWide = 5e7;

double FlopsOf(const SizedMatmul& matmul) {
  switch (matmul.compute) {
    case MatmulCompute::kF32:
      return SizeInBytes(matmul.factor) == 2 ? kFlopsOf16Bits : kFlopsOfWide;
    case MatmulCompute::kTf32:
      return kFlopsOfTf32;
    case MatmulCompute::kF64:
      break;
  }
  return kFlopsOfWide;
}

double Microseconds(std::int64_t bytes, std::int64_t flops, double flops_per_microsecond) {
  return std::max(static_cast<double>(bytes) / kBytes,
                  static_cast<double>(flops) / flops_per_microsecond);
}

}  // namespace

double MicrosecondsOf(const SizedWork& work) {
  if (const auto* call = std::get_if<SizedLibraryCall>(&work)) {
    return kProductMicroseconds + Microseconds(call->bytes, call->flops, FlopsOf(call->matmul));
  }
  const auto& launch = std::get<SizedLaunch>(work);
  return Microseconds(launch.bytes, launch.flops, kFlopsOfLoops);
}

}  // namespace stoker::cuda
