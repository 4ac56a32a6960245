#include "protocol/artifact/sized_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/protocol/artifact/sample_artifact.h"

namespace stoker {
namespace {

TEST(SizePlan, EvaluatesEveryExpression) {
  const SizedPlan sized = SizePlan(SampleArtifact(), {{0, 10}}).value();
  EXPECT_EQ(sized.arena_bytes, 1280);
  EXPECT_EQ(sized.output_sizes, (std::vector<std::vector<std::int64_t>>{{10, 16}, {16, 16}}));
  ASSERT_EQ(sized.launches.size(), 2U);
  const auto& matmul = std::get<SizedLaunch>(sized.launches[0]);
  EXPECT_EQ(matmul.kernel, 1U);
  EXPECT_EQ(matmul.tasks, 10);
  EXPECT_EQ(matmul.min_tasks_per_chunk, 2);
  EXPECT_EQ(matmul.min_tasks_per_call, 3);
  EXPECT_EQ(matmul.scratch_bytes, 256);
  EXPECT_EQ(matmul.dims, (std::vector<std::int64_t>{10, 16}));
  EXPECT_EQ(matmul.flops, 5120);
  EXPECT_EQ(matmul.bytes, 1280);
  EXPECT_EQ(matmul.buffers[0].size, 640);
  EXPECT_EQ(matmul.buffers[1].kind, BufferKind::kPrepared);
  ASSERT_EQ(sized.host_calls.size(), 1U);
  const SizedHostCall& sort = sized.host_calls[0];
  EXPECT_EQ(sized.marks, (std::vector<PlanMark>{{1, PlanMark::Kind::kHostCall, 0, {}}}));
  EXPECT_EQ(sort.operands[1].kind, BufferKind::kInput);
  EXPECT_EQ(sort.results[0].offset, 640);
  EXPECT_EQ(sort.sizes, (std::vector<std::int64_t>{10, 16, 16, 16, 10, 16}));
}

TEST(SizePlan, LibraryCall_EvaluatesEveryExpression) {
  const SizedPlan sized = SizePlan(SampleLibraryArtifact(), {{0, 10}}).value();
  ASSERT_EQ(sized.launches.size(), 1U);
  const auto& call = std::get<SizedLibraryCall>(sized.launches[0]);
  EXPECT_EQ(call.flops, 5120);
  EXPECT_EQ(call.bytes, 1920);
  const SizedMatmul& matmul = call.matmul;
  EXPECT_EQ(matmul.m, 10);
  EXPECT_EQ(matmul.n, 16);
  EXPECT_EQ(matmul.a.place.size, 640);
  EXPECT_TRUE(matmul.b_by_columns);
  EXPECT_EQ(matmul.alpha, 2);
  EXPECT_EQ(matmul.c->place.index, 1U);
  EXPECT_EQ(matmul.bias->place.index, 3U);
  EXPECT_EQ(matmul.activation, MatmulActivation::kRelu);
  EXPECT_EQ(matmul.workspace.size, 1024);
}

TEST(SizePlan, LibraryCall_WhatDoesNotLieInItsBuffer_NamesStepAndOperand) {
  struct Case {
    void (*apply)(Matmul& matmul);
    std::string message;
  };
  const Case cases[] = {
      {[](Matmul& m) { m.a.leading = 15; },
       "A: Field 'matmul.leading' is 15, less than the 16 elements of a line."},
      {[](Matmul& m) { m.b.offset = 1; },
       "B: Field 'matmul.offset' is 1: the matrix does not lie in a buffer of 256 elements."},
      {[](Matmul& m) { m.k = 17; },
       "A: Field 'matmul.leading' is 16, less than the 17 elements of a line."},
      {[](Matmul& m) { m.n = 17; },
       "B: Field 'matmul.offset' is 0: the matrix does not lie in a buffer of 256 elements."},
      {[](Matmul& m) { m.c->leading = 17; },
       "C: Field 'matmul.offset' is 0: the matrix does not lie in a buffer of 160 elements."},
      {[](Matmul& m) { m.bias->offset = 1; },
       "bias: Field 'matmul.offset' is 1: the matrix does not lie in a buffer of 16 elements."},
      {[](Matmul& m) {
         m.batch = 2;
         m.d.batch_stride = 160;
       },
       "D: Field 'matmul.offset' is 0: the matrix does not lie in a buffer of 160 elements."},
      {[](Matmul& m) { m.workspace.offset = 64; },
       "workspace: Field 'buffer.size': bytes 64 to 1088 do not lie in memory of 1024 bytes."},
      {[](Matmul& m) { m.d.batch_stride = -1; },
       "D: Field 'matmul.batch_stride' is -1 = -1; it must not be negative."},
      {[](Matmul& m) { m.m = SymDim(std::int64_t{1} << 31); },
       "Field 'matmul.m' is 2147483648 = 2147483648, more than the limit of 2147483647."},
  };
  for (const Case& c : cases) {
    Artifact artifact = SampleLibraryArtifact();
    c.apply(SampleLibraryMatmul(artifact));
    const auto sized = SizePlan(artifact, {{0, 10}});
    ASSERT_FALSE(sized.ok()) << c.message;
    EXPECT_EQ(sized.error().message, "plan.steps[0] (matmul+scale+matrix+bias+relu): " + c.message);
  }
}

TEST(SizePlan, LibraryCall_WritesWhatItReads_IsRefusedButForC) {
  Artifact artifact = SampleLibraryArtifact();
  Matmul& matmul = SampleLibraryMatmul(artifact);
  matmul.c = matmul.d;
  EXPECT_TRUE(SizePlan(artifact, {{0, 10}}).ok());
  matmul.a.place = matmul.d.place;
  EXPECT_EQ(SizePlan(artifact, {{0, 10}}).error().message,
            "plan.steps[0] (matmul+scale+matrix+bias+relu): D overlaps with what is read.");
  artifact = SampleLibraryArtifact();
  SampleLibraryMatmul(artifact).bias->place = {BufferKind::kArena, 0, 64, 64};
  EXPECT_EQ(
      SizePlan(artifact, {{0, 10}}).error().message,
      "plan.steps[0] (matmul+scale+matrix+bias+relu): The workspace overlaps with an operand.");
}

TEST(SizePlan, LibraryCall_OfNothing_LiesAnywhere) {
  Artifact artifact = SampleLibraryArtifact();
  EXPECT_TRUE(SizePlan(artifact, {{0, 0}}).ok());
  SampleLibraryMatmul(artifact).k = 0;
  SampleLibraryMatmul(artifact).a.offset = 1 << 20;
  EXPECT_TRUE(SizePlan(artifact, {{0, 10}}).ok());
}

TEST(SizePlan, HostCallWhoseBufferIsNotItsTensor_NamesStepAndOperand) {
  Artifact artifact = SampleArtifact();
  SampleHostCall(artifact).operands[1].buffer.size = 510;
  EXPECT_EQ(SizePlan(artifact, {{0, 10}}).error().message,
            "plan.steps[1] (aten.sort.values): operand 1: Field 'buffer.size' is 510; a tensor of "
            "type bf16[16,16] has 512 bytes.");
}

TEST(SizePlan, HostCallThatWritesWhatItReads_IsRefused) {
  Artifact artifact = SampleArtifact();
  SampleHostCall(artifact).results[0].buffer.offset = SymDim(32) * SymDim::Symbol(0);
  EXPECT_EQ(SizePlan(artifact, {{0, 10}}).error().message,
            "plan.steps[1] (aten.sort.values): result 0: Field 'buffer.offset' is 320: it overlaps "
            "with another operand or result.");
  SampleHostCall(artifact).results = {SampleHostCall(artifact).operands[0]};
  EXPECT_FALSE(SizePlan(artifact, {{0, 10}}).ok());
  EXPECT_TRUE(SizePlan(artifact, {{0, 0}}).ok());  // Nothing overlaps with nothing.
}

TEST(SizePlan, MoreBlocksThanAGridHas_IsRefusedOnAGpuAlone) {
  Artifact artifact = SampleArtifact();
  for (PlanStep& step : artifact.plan.steps) {
    if (auto* launch = std::get_if<Launch>(&step)) launch->tasks = SymDim(std::int64_t{1} << 31);
  }
  EXPECT_TRUE(SizePlan(artifact, {{0, 10}}).ok());
  artifact.target = Target::Parse("cuda/sm_90a").value();
  EXPECT_EQ(
      SizePlan(artifact, {{0, 10}}).error().message,
      "plan.steps[0] (matmul): Field 'launch.tasks' is 2147483648 = 2147483648, more than the "
      "limit of 2147483647.");
}

TEST(SizePlan, SymbolNotBound_InvalidArgument) {
  const auto sized = SizePlan(SampleArtifact(), {});
  ASSERT_FALSE(sized.ok());
  EXPECT_EQ(sized.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(sized.error().message.substr(0, 24), "Field 'plan.inputs' is s");
}

TEST(SizePlan, BufferPastItsArena_NamesLaunchAndOperand) {
  Artifact artifact = SampleArtifact();
  artifact.plan.arena_bytes = SymDim(1280);
  EXPECT_TRUE(SizePlan(artifact, {{0, 10}}).ok());
  const auto sized = SizePlan(artifact, {{0, 11}});
  ASSERT_FALSE(sized.ok());
  EXPECT_EQ(sized.error().message,
            "plan.steps[1] (aten.sort.values): result 0: Field 'buffer.size': bytes 704 to 1408 do "
            "not lie in memory of 1280 bytes.");
}

TEST(SizePlan, OffsetFarPastItsArena_DoesNotWrapAround) {
  Artifact artifact = SampleArtifact();
  SampleMatMul(artifact).buffers[2].offset = kMaxArenaBytes;
  SampleMatMul(artifact).buffers[2].size = kMaxArenaBytes;
  EXPECT_FALSE(SizePlan(artifact, {{0, 10}}).ok());
}

TEST(SizePlan, TooLarge_ResourceExhausted) {
  const auto arena = SizePlan(SampleArtifact(), {{0, kMaxArenaBytes / 64}});
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.error().code, ErrorCode::kResourceExhausted);
  Artifact artifact = SampleArtifact();
  artifact.plan.inputs[0].shape =
      Shape{SymDim(std::int64_t{1} << 40), SymDim(std::int64_t{1} << 40)};
  EXPECT_EQ(SizePlan(artifact, {{0, 1}}).error().code, ErrorCode::kResourceExhausted);
}

TEST(SizePlan, EmptyTensor_HasNoBytesWhateverItsOtherSizes) {
  Artifact artifact = SampleArtifact();
  artifact.plan.inputs[0].shape =
      Shape{SymDim::Symbol(0), SymDim(std::int64_t{1} << 40), SymDim(std::int64_t{1} << 40)};
  EXPECT_TRUE(SizePlan(artifact, {{0, 0}}).ok());
}

TEST(SizePrepare, EvaluatesWithoutSymbols) {
  const SizedPrepare sized = SizePrepare(SampleArtifact()).value();
  EXPECT_EQ(sized.prepared_bytes, 512);
  EXPECT_EQ(sized.prepare_arena_bytes, 64);
  ASSERT_EQ(sized.launches.size(), 1U);
  EXPECT_EQ(sized.launches[0].tasks, 16);
  EXPECT_EQ(sized.launches[0].buffers[2].size, 512);
}

}  // namespace
}  // namespace stoker
