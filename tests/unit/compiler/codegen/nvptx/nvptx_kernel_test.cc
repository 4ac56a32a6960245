// PTX and cubins of loops. tests/golden/codegen holds the PTX of some.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/nvptx/cubin_resources.h"
#include "runtime/cuda/cubin.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/sample_funcs.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kArchitectures[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"};

Target TargetOf(const std::string& arch) { return Target::Parse("cuda/" + arch).value(); }

ScheduledKernel Scheduled(const LoopFunc& func, const std::string& arch) {
  return ScheduleKernel(func, TargetOf(arch)).value();
}

std::string PtxOf(const LoopFunc& func, const std::string& arch = "sm_90a") {
  return ListKernel(Scheduled(func, arch), TargetOf(arch)).value().assembly;
}

// One operation on x, which is read only where its index is below 5.
LoopFunc PredicatedFunc(DType dtype, OpKind kind) {
  LoopFunc func;
  func.dims = {SymDim::Symbol(0)};
  func.num_outer = 1;
  func.operands = {{dtype, false, false}, {dtype, true, false}};
  Stage stage;
  BodyBuilder b(stage.body);
  const std::uint32_t inside =
      b.Compare(CompareDirection::kLt, b.Index(0), b.Constant(DType::kI64, 5));
  const std::uint32_t x = b.Load(At(0, dtype, Affine({{0, 1}})), {inside});
  b.SetPredicated(x, true);
  stage.stores = {{b.Op(kind, {x}), At(1, dtype, Affine({{0, 1}}))}};
  func.stages = {stage};
  return func;
}

std::vector<LoopFunc> Samples() {
  std::vector<LoopFunc> samples = {GeluErfFunc(33, 70, DType::kF32),
                                   GeluTanhFunc(SymDim::Symbol(0), 768, DType::kBF16),
                                   GeluErfFunc(1024, 1024, DType::kF16),
                                   CopyFunc(7, 9, DType::kBool),
                                   CopyFunc(7, 9, DType::kF64),
                                   ColumnSumFunc(300, 1000, DType::kF64),
                                   SoftmaxFunc(SymDim::Symbol(0), SymDim::Symbol(1), DType::kBF16),
                                   LayerNormFunc(SymDim::Symbol(0), 768, DType::kF16),
                                   ColumnSumFunc(3000, 71, DType::kF32)};
  // Sines of large numbers have a function of their own and a table.
  for (const OpKind kind : {OpKind::kNegate, OpKind::kSine, OpKind::kLog, OpKind::kRsqrt}) {
    samples.push_back(PredicatedFunc(DType::kF32, kind));
  }
  return samples;
}

class NvptxKernelTest : public testing::TestWithParam<const char*> {};

TEST_P(NvptxKernelTest, Ptx_OfEverySample_IsWholeAndTheSameTwice) {
  for (const LoopFunc& func : Samples()) {
    const std::string ptx = PtxOf(func, GetParam());
    EXPECT_THAT(ptx, HasSubstr(".target " + std::string(GetParam())));
    EXPECT_THAT(ptx, HasSubstr(".visible .entry stoker_" + NameOf(func) + "_1("));
    const auto schedule = std::get<CudaSchedule>(Scheduled(func, GetParam()).schedule);
    EXPECT_THAT(ptx, HasSubstr(".reqntid " + std::to_string(schedule.threads) + ", 1, 1"));
    EXPECT_THAT(ptx, Not(HasSubstr(".extern")));
    EXPECT_EQ(ptx, PtxOf(func, GetParam()));
  }
}

TEST_P(NvptxKernelTest, Cubin_OfEverySample_IsAnElfAndTheSameTwice) {
  for (const LoopFunc& func : Samples()) {
    const ScheduledKernel kernel = Scheduled(func, GetParam());
    const auto code = GenerateKernel(kernel, TargetOf(GetParam()));
    if (!code.ok() && code.error().code == ErrorCode::kFailedPrecondition) {
      std::fprintf(stderr, "NO CUBIN IS TESTED: %s\n", code.error().message.c_str());
      GTEST_SKIP() << code.error().message;
    }
    ASSERT_TRUE(code.ok()) << code.error().message << "\n" << PtxOf(func, GetParam());
    EXPECT_EQ(code->elf.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(cuda::EntryOf(code->elf).value().symbol, "stoker_" + NameOf(func) + "_1");
    EXPECT_EQ(code->elf, GenerateKernel(kernel, TargetOf(GetParam())).value().elf);
  }
}

struct Ceiling {
  const char* name;
  LoopFunc func;
  int registers;  // Of a thread, at most.
};

// What schedules are chosen for: more registers leave fewer threads to wait for memory.
TEST_P(NvptxKernelTest, Registers_StayBelowTheirCeilings_AndNothingSpills) {
  const Ceiling ceilings[] = {
      {"gelu of bf16", GeluErfFunc(16384, 8192, DType::kBF16), 64},
      {"softmax, a row a warp", SoftmaxFunc(65536, 1024, DType::kF32), 80},
      {"softmax, a row a block", SoftmaxFunc(16384, 8192, DType::kBF16), 80},
      {"softmax, as long as registers hold", SoftmaxFunc(1024, 32768, DType::kF32), 128},
      {"softmax, streamed", SoftmaxFunc(1024, 131072, DType::kBF16), 80},
      {"columns of f64", ColumnSumFunc(16384, 8192, DType::kF64), 64},
      {"layer norm", LayerNormFunc(65536, 768, DType::kBF16), 80},
      {"columns", ColumnSumFunc(16384, 8192, DType::kBF16), 56},
  };
  for (const Ceiling& ceiling : ceilings) {
    SCOPED_TRACE(ceiling.name);
    const ScheduledKernel kernel = Scheduled(ceiling.func, GetParam());
    const auto code = GenerateKernel(kernel, TargetOf(GetParam()));
    if (!code.ok() && code.error().code == ErrorCode::kFailedPrecondition) {
      GTEST_SKIP() << code.error().message;
    }
    ASSERT_TRUE(code.ok()) << code.error().message;
    const CubinResources resources = ResourcesOf(code->elf);
    EXPECT_GT(resources.registers, 0);
    EXPECT_LE(resources.registers, ceiling.registers) << ToString(kernel);
    const auto& schedule = std::get<CudaSchedule>(kernel.schedule);
    EXPECT_LE(resources.registers * schedule.threads * schedule.blocks_per_sm, 65536);
    EXPECT_EQ(resources.stack_bytes, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvptxKernelTest, testing::ValuesIn(kArchitectures),
                         [](const auto& info) { return std::string(info.param); });

TEST(NvptxPtxTest, Sums_AndProducts_AreNotFused) {
  std::string ptx = PtxOf(GeluTanhFunc(4, 4, DType::kF32));
  EXPECT_THAT(ptx, HasSubstr("add.rn.f32"));
  EXPECT_THAT(ptx, HasSubstr("mul.rn.f32"));
  // Inside tanh, of a number between 1 and 500, and corrected.
  constexpr std::string_view kReciprocal = "rcp.approx.ftz.f32";
  const std::size_t at = ptx.find(kReciprocal);
  ASSERT_NE(at, std::string::npos);
  ptx.erase(at, kReciprocal.size());
  EXPECT_THAT(ptx, Not(HasSubstr(".ftz")));
  EXPECT_THAT(ptx, Not(HasSubstr("approx")));
}

TEST(NvptxPtxTest, BF16_IsRoundedByOneInstruction) {
  EXPECT_THAT(PtxOf(GeluErfFunc(4, 4, DType::kBF16), "sm_80"), HasSubstr("cvt.rn.bf16.f32"));
}

TEST(NvptxPtxTest, Memory_IsGlobal) {
  const std::string ptx = PtxOf(GeluErfFunc(4, 4, DType::kF32));
  EXPECT_THAT(ptx, HasSubstr("ld.global.b32"));
  EXPECT_THAT(ptx, HasSubstr("st.global.b32"));
}

TEST(NvptxPtxTest, AlignedOperands_AreAccessedInVectors) {
  const std::string ptx = PtxOf(GeluErfFunc(4096, 4096, DType::kBF16));
  EXPECT_THAT(ptx, HasSubstr("ld.global.v4.b32"));
  EXPECT_THAT(ptx, HasSubstr("st.global.v4.b32"));
  // And the others element by element.
  EXPECT_THAT(ptx, HasSubstr("ld.global.b16"));
}

TEST(NvptxPtxTest, Reductions_HaveNoAtomics) {
  for (const LoopFunc& func :
       {SoftmaxFunc(64, 100000, DType::kF32), ColumnSumFunc(100000, 64, DType::kF32)}) {
    const std::string ptx = PtxOf(func);
    EXPECT_THAT(ptx, HasSubstr("bar.sync"));
    EXPECT_THAT(ptx, Not(HasSubstr("\tatom.")));
    EXPECT_THAT(ptx, Not(HasSubstr("\tred.")));
  }
}

TEST(NvptxPtxTest, WholeBlocks_HaveNoBoundsCheck) {
  EXPECT_THAT(PtxOf(CopyFunc(1024, 512, DType::kF32)), Not(HasSubstr("setp.l")));
  EXPECT_THAT(PtxOf(CopyFunc(1025, 513, DType::kF32)), HasSubstr("setp.l"));
}

}  // namespace
}  // namespace stoker
