#include "runtime/cuda/branches/work.h"

#include <gtest/gtest.h>

namespace stoker::cuda {
namespace {

TEST(WorkTest, Microseconds_AreThoseOfBytesOrOfFlops) {
  SizedLaunch launch;
  launch.bytes = 6'000'000;
  launch.flops = 3'000'000;
  EXPECT_DOUBLE_EQ(MicrosecondsOf(launch), 2);
  launch.flops = 300'000'000;
  EXPECT_DOUBLE_EQ(MicrosecondsOf(launch), 10);
}

TEST(WorkTest, Microseconds_OfProducts_FollowHowTheyAreComputed) {
  SizedLibraryCall call;
  call.flops = 6'000'000'000;
  const auto of = [&](DType factor, MatmulCompute compute) {
    call.matmul.factor = factor;
    call.matmul.compute = compute;
    return MicrosecondsOf(call);
  };
  EXPECT_DOUBLE_EQ(of(DType::kBF16, MatmulCompute::kF32), 12);
  EXPECT_DOUBLE_EQ(of(DType::kF32, MatmulCompute::kTf32), 22);
  EXPECT_DOUBLE_EQ(of(DType::kF32, MatmulCompute::kF32), 122);
  EXPECT_DOUBLE_EQ(of(DType::kF64, MatmulCompute::kF64), 122);
}

}  // namespace
}  // namespace stoker::cuda
