// No schedule asks for more registers than there are, whatever the body: what does not fit goes to
// memory and back at each use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/nvptx/cubin_resources.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/random_body.h"
#include "tests/unit/compiler/codegen/sample_funcs.h"

namespace stoker {
namespace {

constexpr const char* kArchitectures[] = {"sm_80", "sm_89", "sm_90a", "sm_100a"};
constexpr const char* kNoAssembler = "There is no nvJitLink.";
constexpr unsigned kBodies = 60;  // Of one architecture each: STOKER_SEEDS=first:count for others.

// Whether there is an assembler; where there is, that the kernel keeps within its registers.
bool CheckRegisters(const ScheduledKernel& kernel, const Target& target) {
  const auto code = GenerateKernel(kernel, target);
  if (!code.ok()) {
    if (code.error().code == ErrorCode::kFailedPrecondition) return false;
    ADD_FAILURE() << code.error().message;
    return true;
  }
  const CubinResources resources = ResourcesOf(code->elf);
  const auto& schedule = std::get<CudaSchedule>(kernel.schedule);
  EXPECT_LE(resources.registers * schedule.threads * schedule.blocks_per_sm, 65536);
  EXPECT_EQ(resources.stack_bytes, 0) << resources.registers << " registers\n" << ToString(kernel);
  return true;
}

TEST(CudaRegistersTest, RandomBodies_NothingSpills) {
  unsigned first = 0;
  unsigned count = kBodies;
  if (const char* seeds = std::getenv("STOKER_SEEDS")) {
    ASSERT_EQ(std::sscanf(seeds, "%u:%u", &first, &count), 2) << seeds;
  }
  unsigned refused = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const LoopFunc func = RandomBody(seed).func;
    const Target target =
        Target::Parse(std::string("cuda/") + kArchitectures[seed % std::size(kArchitectures)])
            .value();
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto kernel = ScheduleKernel(func, target);
    if (!kernel.ok()) {
      // Too much for one kernel: its group is cut.
      EXPECT_EQ(kernel.error().code, ErrorCode::kResourceExhausted) << kernel.error().message;
      ++refused;
      continue;
    }
    if (!CheckRegisters(*kernel, target)) GTEST_SKIP() << kNoAssembler;
  }
  std::printf("  %u of %u are too much for one kernel\n", refused, count);
  EXPECT_LE(refused, count / 3);
}

// Three tensors in as many orders, where each element of a thread lies by itself: the first
// `loads` of them are added up.
LoopFunc InOtherOrders(DType dtype, const std::vector<SymDim>& dims, int loads) {
  const SymDim& rows = dims[0];
  const SymDim& columns = dims[1];
  const IndexMap orders[] = {Affine({{0, columns}, {1, -1}}, columns - 1),
                             Affine({{0, 1}, {1, rows}}),
                             Affine({{0, 0 - columns}, {1, 1}}, (rows - 1) * columns)};
  LoopFunc func;
  func.dims = dims;
  func.num_outer = 1;
  Stage stage;
  stage.loops = {1};
  BodyBuilder b(stage.body);
  std::uint32_t value = 0;
  for (int i = 0; i < loads; ++i) {
    const auto operand = static_cast<std::uint32_t>(func.operands.size());
    func.operands.push_back({dtype, false, false});
    const std::uint32_t loaded = b.Load(At(operand, dtype, orders[i]));
    value = i == 0 ? loaded : b.Op(OpKind::kMaximum, {value, loaded});
  }
  const auto result = static_cast<std::uint32_t>(func.operands.size());
  func.operands.push_back({dtype, true, false});
  stage.stores = {{value, At(result, dtype, Affine({{0, columns}, {1, 1}}))}};
  func.stages = {stage};
  return func;
}

TEST(CudaRegistersTest, PointsOfSizesThatVary_NothingSpills) {
  const SymDim s0 = SymDim::Symbol(0);
  const Target target = Target::Parse("cuda/sm_90a").value();
  for (const DType dtype : {DType::kI8, DType::kBF16, DType::kF32}) {
    for (const std::vector<SymDim>& dims :
         {std::vector<SymDim>{8, s0}, {s0, 8}, {s0, SymDim::Symbol(1)}}) {
      for (const int loads : {1, 3}) {
        const auto kernel = ScheduleKernel(InOtherOrders(dtype, dims, loads), target);
        ASSERT_TRUE(kernel.ok()) << kernel.error().message;
        if (!CheckRegisters(*kernel, target)) GTEST_SKIP() << kNoAssembler;
      }
    }
  }
}

// Was it assembled for so many blocks an SM, without local memory?
void ExpectBlocks(const ScheduledKernel& kernel, const Target& target, int blocks) {
  const KernelListing listing = ListKernel(kernel, target).value();
  const std::string said = ".minnctapersm " + std::to_string(blocks) + "\n";
  EXPECT_NE(listing.assembly.find(said), std::string::npos) << said;
  EXPECT_EQ(listing.thread->local_bytes, 0);
  const int threads = std::get<CudaSchedule>(kernel.schedule).threads;
  EXPECT_LE(listing.thread->registers * threads * blocks, 65536);
  const KernelCode code = GenerateKernel(kernel, target).value();
  EXPECT_EQ(code.thread->registers, listing.thread->registers);
}

TEST(CudaRegistersTest, KeptRows_HaveAsManyBlocksAsSpillNothing) {
  const Target target = Target::Parse("cuda/sm_90a").value();
  if (!HasAssembler(target.kind())) GTEST_SKIP() << kNoAssembler;
  ScheduledKernel kernel = ScheduleKernel(SoftmaxFunc(16384, 8192, DType::kBF16), target).value();
  auto& schedule = std::get<CudaSchedule>(kernel.schedule);
  ASSERT_EQ(schedule.most_blocks_per_sm, schedule.blocks_per_sm + 1);
  ExpectBlocks(kernel, target, schedule.most_blocks_per_sm);

  schedule.most_blocks_per_sm = 2048 / schedule.threads;  // With 32 registers a thread.
  ExpectBlocks(kernel, target, schedule.blocks_per_sm);
}

AttentionFunc AttentionOf(DType dtype, std::int64_t head, bool causal, std::int64_t pitch) {
  AttentionFunc func;
  func.batch = SymDim::Symbol(0);
  func.heads = func.kv_heads = 12;
  func.queries = func.keys = 200;
  func.head_dim = func.value_dim = head;
  func.causal = causal;
  for (AttentionOperand* operand : {&func.q, &func.k, &func.v, &func.out}) {
    operand->dtype = dtype;
    operand->strides = {200 * pitch, head, pitch, 1};
  }
  return func;
}

TEST(CudaRegistersTest, Attention_NothingSpills) {
  for (const char* architecture : kArchitectures) {
    const Target target = Target::Parse(std::string("cuda/") + architecture).value();
    for (const std::int64_t head : {16, 32, 48, 64, 80, 96, 128}) {
      for (const bool causal : {false, true}) {
        const DType dtype = causal ? DType::kF16 : DType::kBF16;
        const auto kernel = ScheduleKernel(AttentionOf(dtype, head, causal, 12 * head), target);
        ASSERT_TRUE(kernel.ok()) << kernel.error().message;
        if (!CheckRegisters(*kernel, target)) GTEST_SKIP() << kNoAssembler;
      }
    }
  }
}

}  // namespace
}  // namespace stoker
