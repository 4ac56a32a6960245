// Rows of blocks that stand: thread by thread on this processor, and what they are assembled to.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/nvptx/cubin_resources.h"
#include "protocol/artifact/cuda_kernel_abi.h"
#include "runtime/cuda/cubin.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/loop_interpreter.h"
#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"

namespace stoker {
namespace {

const Target& Hopper() {
  static const Target target = Target::Parse("cuda/sm_90a").value();
  return target;
}

constexpr DType kDTypes[] = {DType::kBF16, DType::kF16, DType::kF32};

// out = (x - max x) * w + b - sum x, of each row; `reductions`: the maximum is left out with one.
LoopFunc Rows(DType dtype, std::int64_t rows, std::int64_t elements, int reductions) {
  LoopFunc func;
  func.dims = {rows, elements};
  func.num_outer = 1;
  func.operands = {
      {dtype, false, false}, {dtype, false, false}, {dtype, false, false}, {dtype, true, false}};
  const IndexMap all = Affine({{0, elements}, {1, 1}});
  const IndexMap of_any = Affine({{1, 1}});
  Stage sum;
  sum.loops = {1};
  BodyBuilder s(sum.body);
  sum.reductions = {{0, s.Load(At(0, dtype, all)), Combine::kAdd, DType::kF32, {1}}};
  Stage most;
  most.loops = {1};
  BodyBuilder m(most.body);
  most.reductions = {{1, m.Load(At(0, dtype, all)), Combine::kMaximum, DType::kF32, {1}}};
  Stage last;
  last.loops = {1};
  BodyBuilder b(last.body);
  std::uint32_t value = b.Load(At(0, dtype, all));
  if (reductions > 1) value = b.Op(OpKind::kSubtract, {value, b.Input(1, DType::kF32)});
  value = b.Op(OpKind::kMultiply, {value, b.Load(At(1, dtype, of_any))});
  value = b.Op(OpKind::kAdd, {value, b.Load(At(2, dtype, of_any))});
  value = b.Op(OpKind::kSubtract, {value, b.Input(0, DType::kF32)});
  last.stores = {{value, At(3, dtype, all)}};
  func.stages = {sum};
  if (reductions > 1) func.stages.push_back(most);
  func.stages.push_back(last);
  return func;
}

// Small whole numbers: all that is made of them is exact in every dtype.
std::string Numbers(DType dtype, std::int64_t count, std::int64_t seed) {
  std::string bytes(static_cast<std::size_t>(count * SizeInBytes(dtype)), '\0');
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t number = (i * 37 + i / 4096 * 5 + seed) % 11 - 5;
    WriteElement(bytes, dtype, i, {static_cast<double>(number), number});
  }
  return bytes;
}

std::optional<ScheduledKernel> Standing(const LoopFunc& func) {
  const std::vector<ScheduledKernel> candidates = Candidates(func, Hopper()).value();
  for (const ScheduledKernel& scheduled : candidates) {
    const auto& schedule = std::get<CudaSchedule>(scheduled.schedule);
    const auto* rows = std::get_if<RowSchedule>(&schedule.how);
    if (rows != nullptr && rows->standing) return scheduled;
  }
  return std::nullopt;
}

// `odd`: no buffer lies at a multiple of an access.
void CheckRows(DType dtype, std::int64_t rows, std::int64_t elements, int reductions, int blocks,
               bool odd) {
  const LoopFunc func = Rows(dtype, rows, elements, reductions);
  auto scheduled = Standing(func);
  ASSERT_TRUE(scheduled);
  std::get<CudaSchedule>(scheduled->schedule).grid = SymDim(blocks);
  std::vector<std::string> buffers = {
      Numbers(dtype, rows * elements, 3), Numbers(dtype, elements, 0), Numbers(dtype, elements, 7),
      std::string(Numbers(dtype, rows * elements, 0).size(), '\xee')};
  std::vector<std::string> expected = buffers;
  InterpretLoop(func, {}, expected);
  const auto kernel = EmulatedKernel::Make(*scheduled, Hopper()).value();
  std::vector<std::vector<char>> memory;
  std::vector<void*> pointers;
  for (const std::string& bytes : buffers) {
    auto& place = memory.emplace_back(bytes.size() + 32);
    const auto address = reinterpret_cast<std::uint64_t>(place.data());
    const std::size_t size = static_cast<std::size_t>(SizeInBytes(dtype));
    char* const start = place.data() + (16 - address % 16) % 16 + (odd ? size : 0);
    std::memcpy(start, bytes.data(), bytes.size());
    pointers.push_back(start);
  }
  kernel->Run(pointers, {});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string actual(static_cast<const char*>(pointers[i]), expected[i].size());
    const auto count = static_cast<std::int64_t>(actual.size()) / SizeInBytes(dtype);
    for (std::int64_t at = 0; at < count; ++at) {
      ASSERT_EQ(ReadElement(actual, dtype, at).real, ReadElement(expected[i], dtype, at).real)
          << "operand " << i << " element " << at;
    }
  }
}

TEST(StandingRowsTest, EveryRow_MatchesInterpreter) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t elements : {2048, 4096, 8192}) {
      for (const std::int64_t rows : {1, 12, 33}) {
        SCOPED_TRACE(std::string(Name(dtype)) + " " + std::to_string(rows) + "x" +
                     std::to_string(elements));
        CheckRows(dtype, rows, elements, 2, 2, false);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(StandingRowsTest, OneExchange_NoneOverwritesWhatIsRead) {
  CheckRows(DType::kBF16, 33, 8192, 1, 1, false);
  CheckRows(DType::kF32, 33, 8192, 1, 3, false);
}

TEST(StandingRowsTest, OddAddresses_MatchInterpreter) {
  for (const DType dtype : kDTypes) CheckRows(dtype, 12, 4096, 2, 1, true);
}

// What is copied ahead is what was there before this row was computed.
TEST(StandingRowsTest, LoadOfWhatAnEarlierStageStored_NoneStands) {
  const std::int64_t elements = 4096;
  LoopFunc func = Rows(DType::kF32, 33, elements, 2);
  ASSERT_TRUE(Standing(func));
  const IndexMap all = Affine({{0, elements}, {1, 1}});
  func.operands.push_back({DType::kF32, true, false});
  Stage& earlier = func.stages[1];
  BodyBuilder e(earlier.body);
  earlier.stores = {{e.Load(At(0, DType::kF32, all)), At(4, DType::kF32, all)}};
  EXPECT_TRUE(Standing(func));  // Stored alone.
  Stage& last = func.stages.back();
  BodyBuilder b(last.body);
  const std::uint32_t stored = b.Load(At(4, DType::kF32, all));
  last.stores[0].value = b.Op(OpKind::kAdd, {last.stores[0].value, stored});
  EXPECT_FALSE(Standing(func));
}

bool StandsByDefault(const LoopFunc& func) {
  const auto scheduled = ScheduleKernel(func, Hopper()).value();
  const auto* rows = std::get_if<RowSchedule>(&std::get<CudaSchedule>(scheduled.schedule).how);
  return rows != nullptr && rows->standing;
}

TEST(StandingRowsTest, ManyRowsOfMuchArithmetic_StandByThemselves) {
  const auto with_functions = [](std::int64_t rows, int functions) {
    LoopFunc func = Rows(DType::kBF16, rows, 8192, 2);
    Stage& last = func.stages.back();
    BodyBuilder b(last.body);
    for (int i = 0; i < functions; ++i) {
      last.stores[0].value = b.Op(OpKind::kErf, {last.stores[0].value});
    }
    return func;
  };
  EXPECT_TRUE(StandsByDefault(with_functions(16384, 4)));
  EXPECT_FALSE(StandsByDefault(with_functions(16384, 0)));  // Memory takes longer.
  EXPECT_FALSE(StandsByDefault(with_functions(1024, 4)));   // A row or two for each team.
}

// The cubin says how much shared memory a block is given, and no register is spilled.
TEST(StandingRowsTest, Assembled_SaysWhatItNeeds) {
  const auto scheduled = Standing(Rows(DType::kBF16, 100, 8192, 2));
  ASSERT_TRUE(scheduled);
  const auto code = GenerateKernel(*scheduled, Hopper());
  if (!code.ok()) GTEST_SKIP() << code.error().message;
  const auto& schedule = std::get<CudaSchedule>(scheduled->schedule);
  const int teams = schedule.threads / std::get<RowSchedule>(schedule.how).team;
  EXPECT_EQ(cuda::ConstantOf(code->elf, kCudaSharedBytesSymbol),
            static_cast<unsigned>(2 * 8192 * 4 + teams * 8192 * 2));
  const CubinResources resources = ResourcesOf(code->elf);
  EXPECT_EQ(resources.stack_bytes, 0);
  EXPECT_LE(resources.registers * schedule.threads, 65536);
}

}  // namespace
}  // namespace stoker
