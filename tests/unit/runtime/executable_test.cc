#include "runtime/executable.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/cpu/threads/flush_mode.h"
#include "tests/unit/allocation_count.h"
#include "tests/unit/runtime/executable_case.h"

namespace stoker {
namespace {

using cpu::AddDoubledWeight;
using cpu::Arena;
using cpu::Chain;
using cpu::ConstantAt;
using cpu::FlushMode;
using cpu::In;
using cpu::Out;
using cpu::PlanBuilder;
using cpu::Queue;
using cpu::WithFlushMode;

// 2w is prepared, with denormal numbers; whether they count in the call is up to the caller, on
// whatever thread.
TEST_F(ExecutableTest, Run_DenormalNumbers_CountOnEveryThreadAsOnTheCallers) {
  constexpr std::int64_t kCount = 64 * 1024;
  const auto executable = Load(AddDoubledWeight(kCount));
  const Floats w(kCount, 1e-40F);
  const Floats zeros(kCount, 0);
  const std::array<Parameter, 1> parameters = {Parameter{w.data(), 1}};
  std::shared_ptr<const Binding> binding;
  const WithFlushMode restored(FlushMode{});
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
  const FlushMode flushes = FlushMode::OfThisThread();
  ASSERT_TRUE(Bind(*executable, parameters, 2, &binding).ok());
  for (int round = 0; round < 20; ++round) {
    flushes.Enter();
    const Floats flushed = Run(*executable, *binding, zeros, w, 2);
    FlushMode{}.Enter();
    const Floats counted = Run(*executable, *binding, zeros, w, 2);
    ASSERT_EQ(flushed, zeros);
    ASSERT_EQ(counted, Floats(kCount, 2 * w[0]));
  }
}

TEST_F(ExecutableTest, Run_ZeroBytesOfTheArena_AreZeroWhoeverUsedItBefore) {
  constexpr std::int64_t kCount = 1000;
  PlanBuilder reader;
  const TensorType type{DType::kF32, Shape{SymDim(kCount)}};
  reader.Input(type);
  reader.Output(type);
  const std::uint32_t add = reader.Kernel("add");
  reader.artifact.plan.arena_bytes = 4 * kCount;
  reader.artifact.plan.arena_zero_bytes = 4 * kCount;
  reader.artifact.plan.steps = {PlanBuilder::Launch(
      add, kCount, {In(0, 4 * kCount), Arena(0, 4 * kCount), Out(0, 4 * kCount)}, {kCount})};
  const auto reads_zeros = Load(reader);
  const auto writes = Load(Chain(3, kCount, 1));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*reads_zeros, {}, 1, &binding).ok());
  std::shared_ptr<const Binding> other;
  ASSERT_TRUE(Bind(*writes, {}, 1, &other).ok());
  const Floats a = Iota(kCount, 1);
  const auto run = [&](Executable& executable, const Binding& bound) {
    Floats out(kCount, -1);
    const std::array<const void*, 1> inputs = {a.data()};
    const std::array<void*, 1> outputs = {out.data()};
    const auto plan = executable.PlanFor({}).value();
    EXPECT_TRUE(Call(executable, *plan, bound, {inputs, outputs}, 2).ok());
    return out;
  };
  for (int round = 0; round < 2; ++round) {
    run(*writes, *other);
    EXPECT_EQ(run(*reads_zeros, *binding), a);
    EXPECT_EQ(run(*reads_zeros, *binding), a);
  }
}

TEST_F(ExecutableTest, Load_SameKernelTwice_LoadsItOnce) {
  const auto first = Load(AddDoubledWeight(64));
  EXPECT_EQ(device_->LoadedKernels().size(), 2U);
  PlanBuilder builder = AddDoubledWeight(128);
  builder.blobs.clear();  // Nothing is fetched that is loaded.
  const auto second = Load(builder);
  EXPECT_EQ(device_->LoadedKernels().size(), 2U);
}

TEST_F(ExecutableTest, Run_LongChain_EveryLaunchSeesTheOneBefore) {
  const auto executable = Load(Chain(100, 4096, 64));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats a(4096, 1);
  Floats out(4096, 0);
  const auto plan = executable->PlanFor({}).value();
  const std::array<const void*, 1> inputs = {a.data()};
  const std::array<void*, 1> outputs = {out.data()};
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(Call(*executable, *plan, *binding, {inputs, outputs}, 0).ok());
    ASSERT_EQ(out, Floats(4096, 101));
  }
}

TEST_F(ExecutableTest, Run_Warm_AllocatesNothing) {
  const auto executable = Load(Chain(20, 4096, 64));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats a(4096, 1);
  Floats out(4096, 0);
  const std::array<const void*, 1> inputs = {a.data()};
  const std::array<void*, 1> outputs = {out.data()};
  const auto run = [&] {
    const auto plan = executable->PlanFor({}).value();
    return Call(*executable, *plan, *binding, {inputs, outputs}, 0).ok();
  };
  ASSERT_TRUE(run());
  ASSERT_TRUE(run());
  const std::int64_t before = AllocationCount();
  const bool ran = run();
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_TRUE(ran);
}

TEST_F(ExecutableTest, Run_Scratch_IsPrivateToEachThread) {
  PlanBuilder builder;
  constexpr std::int64_t kRows = 500;
  constexpr std::int64_t kColumns = 300;
  builder.Input({DType::kF32, Shape{SymDim(kRows), SymDim(kColumns)}});
  builder.Output({DType::kF32, Shape{SymDim(kRows)}});
  const std::uint32_t sum = builder.Kernel("scratch_sum");
  builder.artifact.plan.steps = {PlanBuilder::Launch(
      sum, kRows, {In(0, 4 * kRows * kColumns), Out(0, 4 * kRows)}, {kColumns})};
  std::get<Launch>(builder.artifact.plan.steps[0]).scratch_bytes = 4 * kColumns;
  const auto executable = Load(builder);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  Floats in(kRows * kColumns);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i / kColumns);
  Floats expected(kRows);
  for (std::size_t i = 0; i < kRows; ++i) expected[i] = static_cast<float>(i * kColumns);
  Floats out(kRows, -1);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  ASSERT_TRUE(
      Call(*executable, *executable->PlanFor({}).value(), *binding, {inputs, outputs}, 0).ok());
  EXPECT_EQ(out, expected);
}

TEST_F(ExecutableTest, Run_ConcurrentCallsOfOneExecutable_DoNotDisturbEachOther) {
  const auto executable = Load(Chain(10, 2048, 64));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 1; caller <= 3; ++caller) {
    callers.emplace_back([&, caller] {
      const Floats a(2048, static_cast<float>(caller));
      Floats out(2048, 0);
      const std::array<const void*, 1> inputs = {a.data()};
      const std::array<void*, 1> outputs = {out.data()};
      const auto plan = executable->PlanFor({}).value();
      for (int i = 0; i < 100; ++i) {
        const bool ok = Call(*executable, *plan, *binding, {inputs, outputs}, 0).ok();
        if (!ok || out != Floats(2048, static_cast<float>(11 * caller))) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ExecutableTest, Run_Constant_IsRead) {
  PlanBuilder builder;
  builder.Input({DType::kF32, Shape{SymDim(4)}});
  builder.Output({DType::kF32, Shape{SymDim(4)}});
  const Floats values = {1, 2, 3, 4};
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), values.data(), 16);
  const std::uint32_t constant = builder.Constant(bytes);
  const std::uint32_t add = builder.Kernel("add");
  builder.artifact.plan.steps = {
      PlanBuilder::Launch(add, 4, {In(0, 16), ConstantAt(constant, 16), Out(0, 16)}, {4})};
  const auto executable = Load(builder);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats a = {10, 20, 30, 40};
  Floats out(4, 0);
  const std::array<const void*, 1> inputs = {a.data()};
  const std::array<void*, 1> outputs = {out.data()};
  ASSERT_TRUE(
      Call(*executable, *executable->PlanFor({}).value(), *binding, {inputs, outputs}, 1).ok());
  EXPECT_EQ(out, (Floats{11, 22, 33, 44}));
}

TEST_F(ExecutableTest, Run_WrongCounts_InvalidArgument) {
  const auto executable = Load(Chain(1, 64, 1));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Status status = Call(*executable, *executable->PlanFor({}).value(), *binding, {}, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "The call has 0 inputs and 0 outputs; the plan has 1 and 1.");
}

// f32[s0] -> f32[s0], x + x through the arena.
PlanBuilder Symbolic() {
  PlanBuilder builder;
  const SymDim n = SymDim::Symbol(0);
  const TensorType type{DType::kF32, Shape{n}};
  builder.Input(type);
  builder.Output(type);
  const std::uint32_t add = builder.Kernel("add");
  const SymDim bytes = SymDim(4) * n;
  builder.artifact.plan.steps = {
      PlanBuilder::Launch(add, n, {In(0, bytes), In(0, bytes), Out(0, bytes)}, {n})};
  builder.artifact.guards = GuardSet({Guard{GuardKind::kBindSymbol, 0, 0, 0, 0, {}}});
  return builder;
}

TEST_F(ExecutableTest, PlanFor_SymbolicPlan_OnePerSetOfValues) {
  const auto executable = Load(Symbolic());
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const std::array<std::int64_t, 1> stride = {1};
  const auto plan_for = [&](std::int64_t n) {
    const std::array<std::int64_t, 1> size = {n};
    const std::array views = {InputView{DType::kF32, size, stride}};
    return executable->PlanFor(views).value();
  };
  const auto seven = plan_for(7);
  EXPECT_EQ(seven->sizes.output_sizes, (std::vector<std::vector<std::int64_t>>{{7}}));
  EXPECT_NE(plan_for(8), seven);
  EXPECT_EQ(plan_for(7), seven);
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(Executable::kMaxPlans); ++n) {
    plan_for(100 + n);
  }
  EXPECT_NE(plan_for(7), seven);  // Dropped as the least recently used; computed again.

  for (const std::int64_t n : {0, 1, 7, 1000}) {
    const Floats a(static_cast<std::size_t>(n), 4);
    Floats out(static_cast<std::size_t>(n), 0);
    const std::array<const void*, 1> inputs = {a.data()};
    const std::array<void*, 1> outputs = {out.data()};
    ASSERT_TRUE(Call(*executable, *plan_for(n), *binding, {inputs, outputs}, 0).ok());
    EXPECT_EQ(out, Floats(static_cast<std::size_t>(n), 8));
  }
}

TEST_F(ExecutableTest, Profile_NamesEveryLaunchWithItsRates) {
  const auto executable = Load(AddDoubledWeight(1000));
  const Floats a(1000, 1);
  const Floats w(1000, 1);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  Floats out(1000, 0);
  const std::array<const void*, 2> inputs = {a.data(), w.data()};
  const std::array<void*, 1> outputs = {out.data()};
  Queue queue(*device_, 1);
  const auto profile =
      executable->Profile(*executable->PlanFor({}).value(), *binding, {inputs, outputs}, queue)
          .value();
  ASSERT_EQ(profile.size(), 1U);
  EXPECT_EQ(profile[0].label, "test launch");
  EXPECT_EQ(profile[0].kernel, 1U);
  EXPECT_GT(profile[0].microseconds, 0);
  EXPECT_EQ(profile[0].flops, 1000);
  EXPECT_EQ(profile[0].bytes, 12000);
  EXPECT_EQ(out[0], 3);
}

}  // namespace
}  // namespace stoker
