// How pointwise loops run on a GPU, and by what name the rest is refused.
// tests/golden/schedule/cuda_pointwise.txt holds the printed form.
#include "compiler/schedule/cuda/cuda_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "compiler/kernel/scheduled_kernel.h"
#include "tests/unit/compiler/codegen/sample_funcs.h"

namespace stoker {
namespace {

const Target& Hopper() {
  static const Target target = Target::Parse("cuda/sm_90a").value();
  return target;
}

GpuMachine Machine() { return GpuMachineOf(Hopper()).value(); }

TEST(CudaScheduleTest, Schedule_FewPoints_OneElementAThread) {
  const CudaKernel kernel = ScheduleForCuda(CopyFunc(33, 70, DType::kF32), Machine()).value();
  EXPECT_EQ(kernel.schedule.threads, 256);
  EXPECT_EQ(kernel.schedule.elements, 1);
  EXPECT_EQ(kernel.schedule.grid, SymDim((33 * 70 + 255) / 256));
  EXPECT_TRUE(kernel.schedule.dims.empty());
  EXPECT_EQ(std::get<LoopFunc>(kernel.func).dims, std::vector<SymDim>{33 * 70});
}

TEST(CudaScheduleTest, Schedule_SymbolicRows_GridIsAnExpression) {
  const SymDim rows = SymDim::Symbol(0);
  const CudaKernel kernel = ScheduleForCuda(CopyFunc(rows, 768, DType::kBF16), Machine()).value();
  EXPECT_EQ(kernel.schedule.elements, 8);
  EXPECT_EQ(kernel.schedule.grid, SymDim::CeilDiv(rows * 768, 2048));
  EXPECT_EQ(kernel.schedule.dims, std::vector<SymDim>{rows * 768});
}

TEST(CudaScheduleTest, Schedule_EmptyLoop_EmptyGrid) {
  const CudaKernel kernel = ScheduleForCuda(CopyFunc(0, 70, DType::kF32), Machine()).value();
  EXPECT_EQ(kernel.schedule.grid, SymDim(0));
}

TEST(CudaScheduleTest, Candidates_OfALoop_DefaultFirstAndNoTwoTheSame) {
  const LoopFunc func = CopyFunc(1024, 1024, DType::kF32);
  const auto candidates = Candidates(func, Hopper()).value();
  ASSERT_EQ(candidates.size(), 4U);
  EXPECT_EQ(ToString(candidates[0]), ToString(ScheduleKernel(func, Hopper()).value()));
  std::set<std::string> texts;
  for (const ScheduledKernel& kernel : candidates) texts.insert(ToString(kernel));
  EXPECT_EQ(texts.size(), candidates.size());
}

struct Refusal {
  const char* name;
  KernelFunc func;
  const char* message;
};

class CudaScheduleRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(CudaScheduleRefusal, Schedule_OtherKinds_AreNamed) {
  for (const bool all : {false, true}) {
    const Error error = all ? CudaCandidates(GetParam().func, Machine()).error()
                            : ScheduleForCuda(GetParam().func, Machine()).error();
    EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
    EXPECT_EQ(error.message, "There is no CUDA schedule for a " + std::string(GetParam().message) +
                                 "; there is one for pointwise loops.");
  }
}

LoopFunc TwoStages() {
  LoopFunc func = CopyFunc(4, 4, DType::kF32);
  func.stages.push_back(func.stages[0]);
  return func;
}

LoopFunc KeepsRows() {
  LoopFunc func = CopyFunc(4, 4, DType::kF32);
  func.stages[0].temporaries = {{0, 0, DType::kF32}};
  return func;
}

LoopFunc LeavesOutDims() {
  LoopFunc func = CopyFunc(4, 4, DType::kF32);
  func.dims.push_back(3);
  return func;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, CudaScheduleRefusal,
    testing::Values(Refusal{"Softmax", SoftmaxFunc(4, 4, DType::kF32), "loop with reductions"},
                    Refusal{"TwoStages", TwoStages(), "loop of 2 stages"},
                    Refusal{"KeepsRows", KeepsRows(), "loop that keeps rows"},
                    Refusal{"LeavesOutDims", LeavesOutDims(), "loop that leaves out dims"},
                    Refusal{"Contraction", ContractionFunc(), "contraction"},
                    Refusal{"Pack", PackFunc(), "packing of a right operand"},
                    Refusal{"Attention", AttentionFunc(), "kernel of attention"},
                    Refusal{"Scan", ScanFunc(), "scan"}, Refusal{"Sort", SortFunc(), "sort"},
                    Refusal{"Scatter", ScatterFunc(), "scatter"}),
    [](const auto& info) { return info.param.name; });

TEST(CudaScheduleTest, Schedule_TooManyBlocks_NamesTheLimit) {
  const auto kernel = ScheduleForCuda(CopyFunc(std::int64_t{1} << 42, 1, DType::kF32), Machine());
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(kernel.error().message,
            "A loop needs 4294967296 blocks of 1024 points; a grid has 2147483647 at most.");
}

TEST(CudaScheduleTest, Schedule_TooManyParameters_NamesTheLimit) {
  LoopFunc func = CopyFunc(4, 4, DType::kF32);
  func.operands.resize(513, {DType::kF32, false, false});
  const auto kernel = ScheduleForCuda(func, Machine());
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(kernel.error().message,
            "A kernel of 513 parameters (4104 bytes) exceeds the limit of 4096 bytes.");
}

}  // namespace
}  // namespace stoker
