// How loops run on a GPU, and by what name the rest is refused.
// tests/golden/schedule/cuda_pointwise.txt holds the printed form.
#include "compiler/schedule/cuda/cuda_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
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

CudaSchedule ScheduleOf(const LoopFunc& func) {
  return ScheduleForCuda(func, Machine()).value().schedule;
}

TEST(CudaScheduleTest, Points_Few_OneElementAThread) {
  const CudaKernel kernel = ScheduleForCuda(CopyFunc(33, 70, DType::kF32), Machine()).value();
  EXPECT_EQ(kernel.schedule.threads, 256);
  EXPECT_EQ(kernel.schedule.width, 1);
  EXPECT_EQ(std::get<PointSchedule>(kernel.schedule.how).vectors, 1);
  EXPECT_EQ(kernel.schedule.grid, SymDim((33 * 70 + 255) / 256));
  EXPECT_TRUE(kernel.schedule.dims.empty());
  EXPECT_EQ(std::get<LoopFunc>(kernel.func).dims, std::vector<SymDim>{33 * 70});
}

TEST(CudaScheduleTest, Points_SymbolicRows_GridIsAnExpression) {
  const SymDim rows = SymDim::Symbol(0);
  const CudaSchedule schedule = ScheduleOf(CopyFunc(rows, 768, DType::kBF16));
  EXPECT_EQ(schedule.width, 8);
  EXPECT_EQ(std::get<PointSchedule>(schedule.how).vectors, 1);
  EXPECT_EQ(schedule.grid, SymDim::CeilDiv(rows * 768, 2048));
  EXPECT_EQ(schedule.dims, std::vector<SymDim>{rows * 768});
}

TEST(CudaScheduleTest, Points_EmptyLoop_EmptyGrid) {
  EXPECT_EQ(ScheduleOf(CopyFunc(0, 70, DType::kF32)).grid, SymDim(0));
}

TEST(CudaScheduleTest, Width_ByWhatStaysAligned) {
  EXPECT_EQ(ScheduleOf(CopyFunc(4096, 4096, DType::kF32)).width, 4);
  EXPECT_EQ(ScheduleOf(CopyFunc(4096, 4096, DType::kF64)).width, 2);
  EXPECT_EQ(ScheduleOf(CopyFunc(4096, 4096, DType::kBF16)).width, 8);
  EXPECT_EQ(ScheduleOf(CopyFunc(4095, 4095, DType::kBF16)).width, 1);
  EXPECT_EQ(ScheduleOf(SoftmaxFunc(64, 4098, DType::kBF16)).width, 2);
  EXPECT_EQ(ScheduleOf(SoftmaxFunc(64, SymDim::Symbol(0), DType::kBF16)).width, 1);
  EXPECT_EQ(ScheduleOf(SoftmaxFunc(64, SymDim::Symbol(0) * 4, DType::kBF16)).width, 4);
}

TEST(CudaScheduleTest, Width_OfRows_IsThatOfWhatEveryRowHas) {
  EXPECT_EQ(ScheduleOf(LayerNormFunc(4096, 768, DType::kBF16)).width, 8);
}

struct RowCase {
  const char* name;
  LoopFunc func;
  int threads;
  int team;
  int vectors;
  bool kept;
};

class CudaRowSchedule : public testing::TestWithParam<RowCase> {};

TEST_P(CudaRowSchedule, Schedule_OfRows) {
  const CudaSchedule schedule = ScheduleOf(GetParam().func);
  const auto& rows = std::get<RowSchedule>(schedule.how);
  EXPECT_EQ(schedule.threads, GetParam().threads);
  EXPECT_EQ(rows.team, GetParam().team);
  EXPECT_EQ(rows.vectors, GetParam().vectors);
  EXPECT_EQ(rows.kept, GetParam().kept);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CudaRowSchedule,
    testing::Values(
        // A line of memory a team, several teams a warp.
        RowCase{"Short", SoftmaxFunc(1000000, 64, DType::kF32), 256, 8, 2, true},
        RowCase{"OneWarp", SoftmaxFunc(65536, 1024, DType::kF32), 256, 32, 8, true},
        RowCase{"OneBlock", SoftmaxFunc(16384, 8192, DType::kBF16), 256, 256, 4, true},
        // Few rows: as many threads as there are vectors.
        RowCase{"FewRows", SoftmaxFunc(4, 1024, DType::kF32), 256, 256, 1, true},
        RowCase{"LargeBlock", SoftmaxFunc(1024, 32768, DType::kF32), 512, 512, 16, true},
        // More than registers hold.
        RowCase{"Streamed", SoftmaxFunc(1024, 131072, DType::kBF16), 512, 512, 2, false},
        RowCase{"Symbolic", SoftmaxFunc(1024, SymDim::Symbol(0), DType::kBF16), 512, 512, 8,
                false}),
    [](const auto& info) { return info.param.name; });

TEST(CudaScheduleTest, KeptRows_AreLoadedOnce) {
  const CudaKernel kernel =
      ScheduleForCuda(SoftmaxFunc(16384, 8192, DType::kBF16), Machine()).value();
  int loads = 0;
  for (const Stage& stage : std::get<LoopFunc>(kernel.func).stages) {
    for (const BodyInstr& instr : stage.body.instrs) loads += instr.op == BodyOp::kLoad ? 1 : 0;
  }
  EXPECT_EQ(loads, 1);
}

TEST(CudaScheduleTest, StreamedRows_KeepNothing) {
  const CudaKernel kernel =
      ScheduleForCuda(SoftmaxFunc(16384, SymDim::Symbol(0), DType::kBF16), Machine()).value();
  for (const Stage& stage : std::get<LoopFunc>(kernel.func).stages) {
    EXPECT_TRUE(stage.temporaries.empty());
  }
}

TEST(CudaScheduleTest, Columns_Many_OneThreadAColumn) {
  const CudaSchedule many = ScheduleOf(ColumnSumFunc(64, 1 << 21, DType::kF32));
  EXPECT_EQ(std::get<ColumnSchedule>(many.how).team, 1);
  EXPECT_EQ(many.width, 4);
  EXPECT_EQ(many.grid, SymDim((1 << 21) / 4 / 256));
}

TEST(CudaScheduleTest, Columns_Few_AreShared) {
  const CudaSchedule few = ScheduleOf(ColumnSumFunc(4096, 1024, DType::kBF16));
  EXPECT_EQ(std::get<ColumnSchedule>(few.how).team, 32);
  EXPECT_EQ(few.width, 8);
  EXPECT_EQ(few.grid, SymDim(1024 / 8 / 8));
}

TEST(CudaScheduleTest, Candidates_OfALoop_DefaultFirstAndNoTwoTheSame) {
  const LoopFunc func = CopyFunc(1024, 1024, DType::kF32);
  const auto candidates = Candidates(func, Hopper()).value();
  ASSERT_EQ(candidates.size(), 6U);
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
                                 "; there is one for loops, attention, scans, sorts and scatters.");
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaScheduleRefusal,
                         testing::Values(Refusal{"Contraction", ContractionFunc(), "contraction"},
                                         Refusal{"Pack", PackFunc(), "packing of a right operand"}),
                         [](const auto& info) { return info.param.name; });

IndexMap At(std::initializer_list<std::pair<int, SymDim>> strides) {
  IndexMap index;
  for (const auto& [dim, stride] : strides) index.terms.push_back({dim, stride});
  return index;
}

CudaSchedule ThreadsOf(const KernelFunc& func) {
  return ScheduleForCuda(func, Machine()).value().schedule;
}

TEST(CudaScheduleTest, Scan_AThreadForEachRow) {
  ScanFunc func;
  func.outer = {SymDim::Symbol(0), 300};
  func.extent = 7;
  const CudaSchedule schedule = ThreadsOf(func);
  EXPECT_EQ(std::get<ThreadSchedule>(schedule.how).dims, (std::vector<int>{0, 1}));
  EXPECT_EQ(schedule.grid, SymDim::CeilDiv(SymDim::Symbol(0) * 300, schedule.threads));
  EXPECT_EQ(schedule.dims, std::vector<SymDim>{SymDim::Symbol(0)});
}

TEST(CudaScheduleTest, Sort_AThreadForEachElement) {
  SortFunc func;
  func.outer = {4};
  func.extent = 1000;
  const CudaSchedule schedule = ThreadsOf(func);
  EXPECT_EQ(std::get<ThreadSchedule>(schedule.how).dims, (std::vector<int>{0, 1}));
  EXPECT_EQ(schedule.grid, SymDim((4 * 1000 + schedule.threads - 1) / schedule.threads));
}

// Rows of 64 that go where an index says: two may go to one place, but never of two columns.
TEST(CudaScheduleTest, Scatter_AThreadForWhatUpdatesKeepApart) {
  ScatterFunc func;
  func.dims = {1000, 64};
  func.update = {1, DType::kF32, At({{0, 64}, {1, 1}}), {}};
  func.indices = {{2, DType::kI64, At({{0, 1}}), {}}};
  func.window_dims = {-1};
  func.index_limits = {10};
  func.index_strides = {64};
  func.output = {0, DType::kF32, At({{1, 1}}), {}};
  EXPECT_EQ(std::get<ThreadSchedule>(ThreadsOf(func).how).dims, std::vector<int>{1});
  // Columns that are scattered, too.
  func.window_dims = {1};
  const CudaSchedule schedule = ThreadsOf(func);
  EXPECT_EQ(std::get<ThreadSchedule>(schedule.how).dims, std::vector<int>());
  EXPECT_EQ(schedule.grid, SymDim(1));
}

AttentionFunc HeadsOf(const SymDim& batch, const SymDim& queries, std::int64_t head) {
  AttentionFunc func;
  func.batch = batch;
  func.heads = func.kv_heads = 12;
  func.queries = func.keys = queries;
  func.head_dim = func.value_dim = head;
  for (AttentionOperand* operand : {&func.q, &func.k, &func.v, &func.out}) {
    operand->dtype = DType::kBF16;
    operand->strides = {queries * (12 * head), head, 12 * head, 1};
  }
  return func;
}

TEST(CudaScheduleTest, Attention_AsManyWarpsABlockAsThereIsWorkFor) {
  const CudaSchedule many = ThreadsOf(HeadsOf(8, 128, 64));
  EXPECT_EQ(many.threads, 128);
  EXPECT_EQ(many.width, 8);
  EXPECT_EQ(many.grid, SymDim(8 * 12 * 2));
  const CudaSchedule few = ThreadsOf(HeadsOf(1, 128, 64));
  EXPECT_EQ(few.threads, 64);  // One warp would have no registers for the next tile.
  EXPECT_EQ(few.grid, SymDim(12 * 4));
  EXPECT_EQ(ThreadsOf(HeadsOf(1, 128, 32)).threads, 32);
  const SymDim batch = SymDim::Symbol(0);
  const CudaSchedule symbolic = ThreadsOf(HeadsOf(batch, 100, 128));
  EXPECT_EQ(symbolic.threads, 128);
  EXPECT_EQ(symbolic.grid, batch * 24);
  EXPECT_EQ(symbolic.dims, std::vector<SymDim>{batch});
}

TEST(CudaScheduleTest, Attention_WidthByWhatStaysAligned) {
  AttentionFunc func = HeadsOf(1, 128, 64);
  func.k.offset = 4;
  EXPECT_EQ(ThreadsOf(func).width, 4);
  func.out.strides[2] = 770;
  EXPECT_EQ(ThreadsOf(func).width, 2);
  func.v.strides[1] = SymDim::Symbol(0);
  EXPECT_EQ(ThreadsOf(func).width, 1);
}

TEST(CudaScheduleTest, Attention_WhatTensorCoresDoNotTake_IsRefused) {
  const auto refusal = [](const std::function<void(AttentionFunc&)>& change) {
    AttentionFunc func = HeadsOf(1, 128, 64);
    change(func);
    return ScheduleForCuda(func, Machine()).error();
  };
  const Error wide = refusal([](AttentionFunc& f) { f.q.dtype = DType::kF32; });
  EXPECT_EQ(wide.code, ErrorCode::kUnimplemented);
  EXPECT_EQ(wide.message, "There is no CUDA schedule for attention of f32.");
  EXPECT_EQ(refusal([](AttentionFunc& f) { f.v.dtype = DType::kF16; }).message,
            "There is no CUDA schedule for attention of several dtypes.");
  EXPECT_EQ(refusal([](AttentionFunc& f) { f.head_dim = 72; }).message,
            "There is no CUDA schedule for attention with heads of 72 and 64 numbers.");
  EXPECT_EQ(refusal([](AttentionFunc& f) { f.value_dim = 144; }).message,
            "There is no CUDA schedule for attention with heads of 64 and 144 numbers.");
  EXPECT_EQ(refusal([](AttentionFunc& f) { f.head_dim = f.value_dim = 112; }).message,
            "There is no CUDA schedule for attention with heads of 112 and 112 numbers.");
  EXPECT_EQ(refusal([](AttentionFunc& f) { f.has_mask = true; }).message,
            "There is no CUDA schedule for attention with a mask.");
}

// One reduction over dim 1 and one over dim 2.
TEST(CudaScheduleTest, Schedule_ReductionsOfDifferentDims_AreRefused) {
  LoopFunc func = ColumnSumFunc(64, 64, DType::kF32);
  func.stages[0].reductions.push_back({1, 0, Combine::kAdd, DType::kF32, {1}});
  const auto kernel = ScheduleForCuda(func, Machine());
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(kernel.error().message,
            "There is no CUDA schedule for a loop whose reductions keep different dims.");
}

TEST(CudaScheduleTest, Schedule_TooManyBlocks_NamesTheLimit) {
  const auto kernel = ScheduleForCuda(CopyFunc(std::int64_t{1} << 42, 1, DType::kF32), Machine());
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(kernel.error().message,
            "A kernel needs 4294967296 blocks of 256 threads; a grid has 2147483647 at most.");
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
