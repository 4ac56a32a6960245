// The tables of GPUs, and what they mean for fusion and products.
#include "compiler/machine/gpu_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/key/compile_options.h"

namespace stoker {
namespace {

GpuMachine MachineFor(const std::string& arch) {
  return GpuMachineOf(Target::Parse("cuda/" + arch).value()).value();
}

struct Expected {
  const char* arch;
  int threads_per_sm;
  int blocks_per_sm;
  std::int64_t shared_bytes_per_sm;
  std::int64_t shared_bytes_per_block;
  std::int64_t l2_bytes;
  CopyEngine copy_engine;
  TensorCore tensor_core;
  TensorCoreTile bf16;
};

class GpuMachineTest : public testing::TestWithParam<Expected> {};

// As the guide prints them: in KiB 164, 163; 100, 99; 228, 227.
TEST_P(GpuMachineTest, Of_KnownArchitecture_IsTheGuidesTable) {
  const Expected& expected = GetParam();
  const GpuMachine machine = MachineFor(expected.arch);
  EXPECT_EQ(machine.arch, expected.arch);
  EXPECT_EQ(machine.max_threads_per_sm, expected.threads_per_sm);
  EXPECT_EQ(machine.max_blocks_per_sm, expected.blocks_per_sm);
  EXPECT_EQ(machine.shared_bytes_per_sm, expected.shared_bytes_per_sm);
  EXPECT_EQ(machine.shared_bytes_per_block, expected.shared_bytes_per_block);
  EXPECT_EQ(machine.l2_bytes, expected.l2_bytes);
  EXPECT_EQ(machine.copy_engine, expected.copy_engine);
  EXPECT_EQ(machine.tensor_core, expected.tensor_core);
  ASSERT_NE(machine.TileOf(DType::kBF16), nullptr);
  EXPECT_EQ(*machine.TileOf(DType::kBF16), expected.bf16);
  // The same everywhere.
  EXPECT_EQ(machine.warp_size, 32);
  EXPECT_EQ(machine.max_threads_per_block, 1024);
  EXPECT_EQ(machine.registers_per_sm, 65536);
  EXPECT_EQ(machine.max_registers_per_thread, 255);
  // What is chosen fits what there is.
  EXPECT_LE(machine.blocks.threads, machine.max_threads_per_block);
  EXPECT_EQ(machine.max_threads_per_sm % machine.blocks.threads, 0);
}

constexpr TensorCoreTile kMmaTile = {DType::kBF16, 16, 8, 16};
INSTANTIATE_TEST_SUITE_P(Architectures, GpuMachineTest,
                         testing::Values(Expected{"sm_80", 2048, 32, 167936, 166912, 41943040,
                                                  CopyEngine::kCpAsync, TensorCore::kMma, kMmaTile},
                                         Expected{"sm_86", 1536, 16, 102400, 101376, 6291456,
                                                  CopyEngine::kCpAsync, TensorCore::kMma, kMmaTile},
                                         Expected{"sm_89", 1536, 24, 102400, 101376, 50331648,
                                                  CopyEngine::kCpAsync, TensorCore::kMma, kMmaTile},
                                         Expected{"sm_90a",
                                                  2048,
                                                  32,
                                                  233472,
                                                  232448,
                                                  52428800,
                                                  CopyEngine::kTma,
                                                  TensorCore::kWgmma,
                                                  {DType::kBF16, 64, 256, 16}},
                                         Expected{"sm_100a",
                                                  2048,
                                                  32,
                                                  233472,
                                                  232448,
                                                  132120576,
                                                  CopyEngine::kTma,
                                                  TensorCore::kTcgen05,
                                                  {DType::kBF16, 128, 256, 16}},
                                         Expected{"sm_120", 1536, 24, 102400, 101376, 100663296,
                                                  CopyEngine::kTma, TensorCore::kMma, kMmaTile}),
                         [](const auto& info) { return info.param.arch; });

TEST(GpuMachineTest, Tiles_OfEachDtype_AreTheInstructions) {
  const GpuMachine ampere = MachineFor("sm_80");
  EXPECT_EQ(*ampere.TileOf(DType::kF16), (TensorCoreTile{DType::kF16, 16, 8, 16}));
  EXPECT_EQ(*ampere.TileOf(DType::kF32), (TensorCoreTile{DType::kF32, 16, 8, 8}));
  EXPECT_EQ(*ampere.TileOf(DType::kI8), (TensorCoreTile{DType::kI8, 16, 8, 32}));
  EXPECT_EQ(*ampere.TileOf(DType::kF64), (TensorCoreTile{DType::kF64, 8, 8, 4}));
  EXPECT_EQ(ampere.TileOf(DType::kI32), nullptr);
  EXPECT_EQ(MachineFor("sm_89").TileOf(DType::kF64), nullptr);
}

TEST(GpuMachineTest, Of_UnknownArchitecture_IsRefusedByName) {
  for (const char* arch : {"sm_75", "sm_90", "sm_103a", "sm_121"}) {
    const auto machine = MachineOf(Target::Parse("cuda/" + std::string(arch)).value());
    ASSERT_FALSE(machine.ok()) << arch;
    EXPECT_EQ(machine.error().code, ErrorCode::kUnimplemented);
    EXPECT_EQ(machine.error().message,
              "This compiler does not know the GPU architecture " + std::string(arch) +
                  "; it knows sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120.");
  }
  const auto cpu = GpuMachineOf(Target::Parse("cpu/x86-64-v3").value());
  ASSERT_FALSE(cpu.ok());
  EXPECT_EQ(cpu.error().message, "Target cpu/x86-64-v3 is not a CUDA target.");
}

// What is too much for registers is computed again, or cut where it would cost too much.
TEST(GpuMachineTest, FusionLimits_RowsOfAnyLength_AreTakenTogether) {
  EXPECT_EQ(MachineFor("sm_90a").fusion_limits().max_kept_elements, INT64_MAX);
  EXPECT_EQ(MachineFor("sm_120").fusion_limits().max_kept_elements, INT64_MAX);
  EXPECT_EQ(MachineFor("sm_120").fusion_limits().vector_lanes, 32);
}

TEST(GpuMachineTest, LayoutOf_Product_IsInTheUnitsOfItsInstruction) {
  const GpuMachine machine = MachineFor("sm_90a");
  const auto layout_of = [&](DType dtype, Numerics numerics) {
    Product product;
    product.dtype = dtype;
    product.numerics = numerics;
    product.m = product.n = product.k = 512;
    return machine.LayoutOf(product).rhs;
  };
  // Core matrices of 8 rows of 16 bytes; dtype, nr, kr, k_multiple.
  EXPECT_EQ(layout_of(DType::kBF16, Numerics::kHighest), (PackedLayout{DType::kBF16, 8, 8, 16}));
  EXPECT_EQ(layout_of(DType::kI8, Numerics::kHighest), (PackedLayout{DType::kI8, 8, 16, 32}));
  EXPECT_EQ(layout_of(DType::kF64, Numerics::kHighest), (PackedLayout{DType::kF64, 8, 2, 4}));
  // f32 is multiplied as f32 unless the caller allows bf16.
  EXPECT_EQ(layout_of(DType::kF32, Numerics::kHighest), (PackedLayout{DType::kF32, 128, 1, 1}));
  EXPECT_EQ(layout_of(DType::kF32, Numerics::kHigh), (PackedLayout{DType::kF32, 128, 1, 1}));
  EXPECT_EQ(layout_of(DType::kF32, Numerics::kMedium), (PackedLayout{DType::kBF16, 8, 8, 16}));
  EXPECT_EQ(layout_of(DType::kU8, Numerics::kHighest), (PackedLayout{DType::kI32, 128, 1, 1}));
}

}  // namespace
}  // namespace stoker
