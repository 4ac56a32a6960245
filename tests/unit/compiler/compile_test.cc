// Whole artifacts for a GPU, and what Compile does where it cannot make one.
#include "compiler/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/graph/graph.h"

namespace stoker {
namespace {

Error ErrorOf(const char* graph, const char* target) {
  const CompileRequest request{
      ParseGraph(graph).value(), Target::Parse(target).value(), {}, CompilerEpoch()};
  const auto output = Compile(request, {});
  EXPECT_FALSE(output.ok());
  return output.ok() ? Error{} : output.error();
}

constexpr char kPointwise[] = R"(graph @g(%x: f32[8,16]) {
  %1 = tanh(%x) : f32[8,16]
  return %1
})";
constexpr char kProduct[] = R"(graph @g(%x: f32[8,16], %y: f32[16,4]) {
  %1 = dot_general(%x, %y) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[8,4]
  return %1
})";

constexpr char kConvolution[] = R"(graph @g(%x: f32[1,8,5,5], %w: parameter f32[8,8,3,3]) {
  %1 = convolution(%x, %w) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[1,8,5,5]
  return %1
})";

constexpr char kHost[] = R"(graph @g(%x: f32[s0,16]) {
  %1 = tanh(%x) : f32[s0,16]
  %2 = extern_call(%1) {target="f"} : f32[s0,16]
  %3 = add(%2, %1) : f32[s0,16]
  return %3
})";

CompileOutput OutputOf(const char* graph, const char* target, int threads = 1) {
  CompileHooks hooks;
  hooks.threads = threads;
  auto output = Compile(
      {ParseGraph(graph).value(), Target::Parse(target).value(), {}, CompilerEpoch()}, hooks);
  EXPECT_TRUE(output.ok()) << output.error().message;
  return *std::move(output);
}

bool HasAssembler() {
  return KernelToolchain(Target::Parse("cuda/sm_90a").value()) != CompilerEpoch();
}

TEST(CompileTest, KernelToolchain_OfACpu_IsTheEpoch) {
  EXPECT_EQ(KernelToolchain(Target::Parse("cpu/x86-64-v3").value()), CompilerEpoch());
}

TEST(CompileTest, Compile_ForEachGpu_KernelsAreItsCubins) {
  if (!HasAssembler()) GTEST_SKIP() << "There is no nvJitLink.";
  for (const char* target :
       {"cuda/sm_80", "cuda/sm_86", "cuda/sm_89", "cuda/sm_90a", "cuda/sm_100a", "cuda/sm_120"}) {
    const CompileOutput output = OutputOf(kPointwise, target);
    ASSERT_EQ(output.kernels.size(), 1U);
    EXPECT_THAT(output.kernels[0].elf, testing::StartsWith("\x7f"
                                                           "ELF"));
    EXPECT_THAT(output.kernels[0].elf, testing::HasSubstr("stoker_tanh_1"));
    const auto artifact = DecodeArtifact(EncodeArtifact(output.artifact));
    ASSERT_TRUE(artifact.ok()) << artifact.error().message;
    EXPECT_EQ(artifact->target.ToString(), target);
    EXPECT_EQ(std::get<Launch>(artifact->plan.steps[0]).tasks, SymDim(1));
  }
}

TEST(CompileTest, Compile_HostCallForCuda_IsAStepBetweenLaunches) {
  if (!HasAssembler()) GTEST_SKIP() << "There is no nvJitLink.";
  const CompileOutput output = OutputOf(kHost, "cuda/sm_90a", 2);
  const auto& steps = output.artifact.plan.steps;
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(std::get<HostCall>(steps[1]).target, "f");
  // Blocks of the points that one covers, for any number of rows.
  EXPECT_FALSE(std::get<Launch>(steps[0]).tasks.IsConstant());
  EXPECT_EQ(EncodeArtifact(OutputOf(kHost, "cuda/sm_90a").artifact),
            EncodeArtifact(output.artifact));
}

TEST(CompileTest, Compile_ProductForCuda_IsALibraryCall) {
  const CompileOutput output = OutputOf(kProduct, "cuda/sm_90a");
  EXPECT_TRUE(output.kernels.empty());
  const auto artifact = DecodeArtifact(EncodeArtifact(output.artifact));
  ASSERT_TRUE(artifact.ok()) << artifact.error().message;
  const auto& call = std::get<LibraryCall>(artifact->plan.steps[0]);
  EXPECT_EQ(call.label, "matmul 8x4x16");
  EXPECT_EQ(call.matmul.compute, MatmulCompute::kF32);
}

TEST(CompileTest, Compile_ConvolutionForCuda_ScheduleIsUnimplemented) {
  const Error error = ErrorOf(kConvolution, "cuda/sm_90a");
  EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_THAT(error.message, testing::HasSubstr("There is no CUDA schedule for a "));
}

TEST(CompileTest, Compile_UnknownGpu_IsRefusedByName) {
  const Error error = ErrorOf(kPointwise, "cuda/sm_75");
  EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_THAT(error.message, testing::HasSubstr("GPU architecture sm_75"));
}

}  // namespace
}  // namespace stoker
