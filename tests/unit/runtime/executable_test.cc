#include "runtime/executable.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/cpu/flush_mode.h"
#include "runtime/cpu/prepared_store.h"
#include "runtime/cpu/queue.h"
#include "tests/unit/allocation_count.h"
#include "tests/unit/runtime/cpu/test_plans.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using cpu::AddDoubledWeight;
using cpu::Arena;
using cpu::Chain;
using cpu::ConstantAt;
using cpu::Device;
using cpu::FlushMode;
using cpu::In;
using cpu::Out;
using cpu::PlanBuilder;
using cpu::Queue;
using cpu::WithFlushMode;

using Floats = std::vector<float>;

Floats Iota(std::size_t n, float first) {
  Floats values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class ExecutableTest : public testing::Test {
 protected:
  std::unique_ptr<Executable> Load(const PlanBuilder& builder) {
    auto loaded =
        Executable::Load(*device_, builder.Bytes(), builder.artifact.request_key, builder.Source());
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return std::move(loaded).value();
  }

  static Status BindOn(Device& device, Executable& executable,
                       std::span<const Parameter> parameters, int threads,
                       std::shared_ptr<const Binding>* binding) {
    Queue queue(device, threads);
    return executable.BindParameters(parameters, queue, binding);
  }
  Status Bind(Executable& executable, std::span<const Parameter> parameters, int threads,
              std::shared_ptr<const Binding>* binding) const {
    return BindOn(*device_, executable, parameters, threads, binding);
  }

  Status Call(Executable& executable, const ReadyPlan& plan, const Binding& binding,
              const stoker::Call& call, int threads) const {
    Queue queue(*device_, threads);
    return executable.Run(plan, binding, call, queue);
  }

  // One input, one parameter, one output of n floats.
  static Floats RunOn(Device& device, Executable& executable, const Binding& binding,
                      const Floats& a, const Floats& w, int threads) {
    Floats out(a.size(), -1);
    const auto plan = executable.PlanFor({}).value();
    const std::array<const void*, 2> inputs = {a.data(), w.data()};
    const std::array<void*, 1> outputs = {out.data()};
    Queue queue(device, threads);
    const Status status = executable.Run(*plan, binding, {inputs, outputs}, queue);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return out;
  }
  Floats Run(Executable& executable, const Binding& binding, const Floats& a, const Floats& w,
             int threads) const {
    return RunOn(*device_, executable, binding, a, w, threads);
  }

  const std::unique_ptr<Device> device_ = Device::Create().value();
};

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

TEST_F(ExecutableTest, Run_ParameterPreparedOnce_AddsTwiceTheWeight) {
  const auto executable = Load(AddDoubledWeight(1000));
  const Floats a = Iota(1000, 0);
  Floats w = Iota(1000, 5);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 2, &binding).ok());
  Floats expected(1000);
  for (std::size_t i = 0; i < 1000; ++i) expected[i] = a[i] + 2 * w[i];
  for (const int threads : {1, 2, 0, 7}) {
    EXPECT_EQ(Run(*executable, *binding, a, w, threads), expected) << threads << " threads";
  }
}

TEST_F(ExecutableTest, BindParameters_SameVersion_KeepsPreparedData) {
  const auto executable = Load(AddDoubledWeight(64));
  const Floats a(64, 0);
  Floats w(64, 1);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  w[0] = 10;  // Behind the caller's own back: the version says that nothing changed.
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, w, 1)[0], 2);
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 2}}, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, w, 1)[0], 20);
}

TEST_F(ExecutableTest, BindParameters_OnlyWhatIsNotPreparedChanged_KeepsPreparedData) {
  PlanBuilder builder = AddDoubledWeight(64);
  builder.Input(builder.artifact.plan.inputs[1], InputRole::kParameter);
  const auto executable = Load(builder);
  Floats w(64, 1);
  const Floats cache(64, 0);
  const auto bind = [&](std::uint64_t version, std::uint64_t cache_version,
                        std::shared_ptr<const Binding>* binding) {
    const std::array parameters = {Parameter{w.data(), version},
                                   Parameter{cache.data(), cache_version}};
    ASSERT_TRUE(Bind(*executable, parameters, 1, binding).ok());
    EXPECT_TRUE(std::ranges::equal((*binding)->parameters, parameters));
  };
  std::shared_ptr<const Binding> binding;
  bind(1, 1, &binding);
  const auto prepared = binding->prepared;
  bind(1, 2, &binding);
  EXPECT_EQ(binding->prepared, prepared);
  bind(2, 2, &binding);
  EXPECT_NE(binding->prepared, prepared);
}

// Calls that look at a piece of little memory once in a while, until one of them has seen a change.
constexpr int kManyCalls = 10'000'000;

TEST_F(ExecutableTest, Run_WeightWrittenUnderTheSameVersion_IsSeenAndPreparedAgain) {
  const auto first = Load(AddDoubledWeight(64));
  PlanBuilder second_builder = AddDoubledWeight(64);
  second_builder.artifact.plan.steps.push_back(second_builder.artifact.plan.steps[0]);
  const auto second = Load(second_builder);
  const Floats a(64, 0);
  Floats w(64, 1);
  const std::array parameters = {Parameter{w.data(), 1}};
  std::shared_ptr<const Binding> binding;
  std::shared_ptr<const Binding> other;
  ASSERT_TRUE(Bind(*first, parameters, 1, &binding).ok());
  ASSERT_TRUE(Bind(*second, parameters, 1, &other).ok());
  w[63] = 10;
  for (int i = 0; i < kManyCalls && !binding->prepared->IsStale(); ++i) {
    Run(*first, *binding, a, w, 1);
  }
  EXPECT_EQ(binding->prepared->Changed(), 0U);
  EXPECT_EQ(first->prepared_parameters()[0], 0U);
  ASSERT_TRUE(Bind(*first, parameters, 1, &binding).ok());
  EXPECT_FALSE(binding->prepared->IsStale());
  EXPECT_EQ(Run(*first, *binding, a, w, 1)[63], 20);
  // Whoever else is bound to them takes what was made anew.
  EXPECT_TRUE(other->prepared->IsStale());
  ASSERT_TRUE(Bind(*second, parameters, 1, &other).ok());
  EXPECT_EQ(other->prepared, binding->prepared);
}

TEST_F(ExecutableTest, Run_WeightsThatReplacedOthersAndStay_AreWatchedAfterSomeCalls) {
  const auto executable = Load(AddDoubledWeight(64));
  const Floats a(64, 0);
  Floats w(64, 1);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  w.assign(64, 2);
  const std::array replaced = {Parameter{w.data(), 2}};
  ASSERT_TRUE(Bind(*executable, replaced, 1, &binding).ok());
  w[5] = 7;
  for (int i = 0; i < Prepared::kCallsOnTrial; ++i) {
    EXPECT_FALSE(binding->prepared->IsStale()) << i;
    EXPECT_EQ(Run(*executable, *binding, a, w, 1)[5], 4);
  }
  EXPECT_TRUE(binding->prepared->IsStale());
  EXPECT_FALSE(binding->prepared->Changed());
  ASSERT_TRUE(Bind(*executable, replaced, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, w, 1)[5], 14);
  w[6] = 8;
  for (int i = 0; i < kManyCalls && !binding->prepared->IsStale(); ++i) {
    Run(*executable, *binding, a, w, 1);
  }
  EXPECT_EQ(binding->prepared->Changed(), 0U);
}

TEST_F(ExecutableTest, BindParameters_OtherAddress_PreparesAgain) {
  const auto executable = Load(AddDoubledWeight(64));
  const Floats a(64, 0);
  const Floats w(64, 1);
  const Floats other(64, 3);
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{w.data(), 1}}, 1, &binding).ok());
  ASSERT_TRUE(Bind(*executable, std::array{Parameter{other.data(), 1}}, 1, &binding).ok());
  EXPECT_EQ(Run(*executable, *binding, a, other, 1)[0], 6);
}

TEST_F(ExecutableTest, BindParameters_TwoShapesOfTheSameWeights_ShareOnePreparedCopy) {
  // The same prepare list, another plan: here with one more launch.
  PlanBuilder second_builder = AddDoubledWeight(64);
  second_builder.artifact.plan.steps.push_back(second_builder.artifact.plan.steps[0]);
  const auto first = Load(AddDoubledWeight(64));
  const auto second = Load(second_builder);
  const Floats w(64, 1);
  const std::array parameters = {Parameter{w.data(), 1}};
  std::shared_ptr<const Binding> a;
  std::shared_ptr<const Binding> b;
  ASSERT_TRUE(Bind(*first, parameters, 1, &a).ok());
  ASSERT_TRUE(Bind(*second, parameters, 1, &b).ok());
  EXPECT_EQ(a->prepared, b->prepared);
}

class StoredExecutableTest : public ExecutableTest {
 protected:
  // A process of its own: nothing is shared but the files.
  struct Process {
    std::unique_ptr<Device> device = Device::Create().value();
    std::shared_ptr<cpu::PreparedStore> store;
    std::unique_ptr<Executable> executable;
    std::shared_ptr<const Binding> binding;
  };
  Process Start(const PlanBuilder& builder) const {
    Process process;
    process.store = std::make_shared<cpu::PreparedStore>(
        cpu::PreparedStore::Options{folder_.path(), /*max_bytes=*/1 << 20, /*min_bytes=*/1});
    process.executable =
        Executable::Load(*process.device, builder.Bytes(), builder.artifact.request_key,
                         builder.Source(), process.store)
            .value();
    return process;
  }
  static bool BindsFromFile(Process& process, const Floats& w, std::uint64_t version) {
    const std::array parameters = {Parameter{w.data(), version}};
    EXPECT_TRUE(BindOn(*process.device, *process.executable, parameters, 2, &process.binding).ok());
    process.store->Flush(std::chrono::hours(1));
    return process.binding->prepared->is_from_file();
  }

  TempFolder folder_;
};

TEST_F(StoredExecutableTest, BindParameters_SameContentsInTheNextProcess_AreNotPreparedAgain) {
  const Floats w = Iota(1000, 5);
  const Floats copy = w;
  const Floats a = Iota(1000, 0);
  Process first = Start(AddDoubledWeight(1000));
  Process second = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  EXPECT_TRUE(BindsFromFile(second, copy, 7));
  EXPECT_EQ(RunOn(*second.device, *second.executable, *second.binding, a, copy, 2),
            RunOn(*first.device, *first.executable, *first.binding, a, w, 2));
}

TEST_F(StoredExecutableTest, BindParameters_OtherContents_ArePrepared) {
  Floats w = Iota(1000, 5);
  Process first = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  w[999] += 1;
  Process second = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(second, w, 1));
  EXPECT_EQ(RunOn(*second.device, *second.executable, *second.binding, Floats(1000, 0), w, 1)[999],
            2 * w[999]);
}

TEST_F(StoredExecutableTest, BindParameters_OtherWork_IsDone) {
  const Floats w = Iota(1000, 5);
  Process first = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  Process other = Start(AddDoubledWeight(999));
  EXPECT_FALSE(BindsFromFile(other, w, 1));
}

TEST_F(StoredExecutableTest, BindParameters_WeightsThatReplaceOthers_ArePreparedAndNotKept) {
  const Floats w = Iota(1000, 5);
  const Floats trained = Iota(1000, 6);
  Process first = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(first, w, 1));
  EXPECT_FALSE(BindsFromFile(first, trained, 2));
  EXPECT_FALSE(BindsFromFile(first, w, 3));
  Process second = Start(AddDoubledWeight(1000));
  EXPECT_FALSE(BindsFromFile(second, trained, 1));
}

TEST_F(ExecutableTest, BindParameters_WrongCount_InvalidArgument) {
  const auto executable = Load(AddDoubledWeight(64));
  std::shared_ptr<const Binding> binding;
  const Status status = Bind(*executable, {}, 1, &binding);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "0 parameters are given; the plan has 1.");
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

// Gives each element of the operand one more, and fails in call `fails_in`.
class AddsOne final : public Host {
 public:
  Status Call(std::size_t call, std::span<const void* const> operands,
              std::span<void* const> results, std::span<const std::int64_t> sizes) override {
    calls.push_back(call);
    if (call == fails_in) return Internal("It is enough.");
    const auto* from = static_cast<const float*>(operands[0]);
    auto* to = static_cast<float*>(results[0]);
    for (std::int64_t i = 0; i < sizes[0]; ++i) to[i] = from[i] + 1;
    return Ok();
  }

  std::vector<std::size_t> calls;
  std::size_t fails_in = SIZE_MAX;
};

// Calls before, between and after launches: x + 1, doubled, + 1, + 1, doubled, + 1 over n floats.
PlanBuilder WithHostCalls(std::int64_t n) {
  PlanBuilder builder;
  const TensorType type{DType::kF32, Shape{SymDim(n)}};
  builder.Input(type);
  builder.Output(type);
  const std::uint32_t add = builder.Kernel("add");
  const std::int64_t stride = (4 * n + 63) / 64 * 64;
  LaunchPlan& plan = builder.artifact.plan;
  plan.arena_bytes = 2 * stride;
  const BufferRef even = Arena(0, 4 * n);
  const BufferRef odd = Arena(stride, 4 * n);
  const auto host = [&](const BufferRef& from, const BufferRef& to) {
    return HostCall{"adds.one", {{type, from}}, {{type, to}}};
  };
  const auto doubled = [&](const BufferRef& from, const BufferRef& to) {
    stoker::Launch launch = PlanBuilder::Launch(add, n, {from, from, to}, {n});
    launch.min_tasks_per_chunk = 16;
    return launch;
  };
  plan.steps = {host(In(0, 4 * n), even), doubled(even, odd), host(odd, even),
                host(even, odd),          doubled(odd, even), host(even, Out(0, 4 * n))};
  return builder;
}

TEST_F(ExecutableTest, Run_HostCalls_RunInOrderOverTheSameMemory) {
  constexpr std::int64_t kCount = 5000;
  const auto executable = Load(WithHostCalls(kCount));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats in(kCount, 3);
  const std::array<const void*, 1> inputs = {in.data()};
  for (const int threads : {1, 2, 0}) {
    Floats out(kCount, -1);
    AddsOne host;
    Queue queue(*device_, threads);
    const std::array<void*, 1> outputs = {out.data()};
    const auto plan = executable->PlanFor({}).value();
    ASSERT_TRUE(executable->Run(*plan, *binding, {inputs, outputs}, queue, &host).ok());
    EXPECT_EQ(out, Floats(kCount, 21));
    EXPECT_EQ(host.calls, (std::vector<std::size_t>{0, 1, 2, 3}));
  }
}

TEST_F(ExecutableTest, Run_HostCallThatFails_EndsTheRunAndNotTheNext) {
  const auto executable = Load(WithHostCalls(64));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats in(64, 3);
  Floats out(64, -1);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  const auto plan = executable->PlanFor({}).value();
  AddsOne host;
  host.fails_in = 2;
  Queue queue(*device_, 1);
  const Status failed = executable->Run(*plan, *binding, {inputs, outputs}, queue, &host);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "It is enough.");
  EXPECT_EQ(host.calls, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(out, Floats(64, -1));
  host.fails_in = SIZE_MAX;
  ASSERT_TRUE(executable->Run(*plan, *binding, {inputs, outputs}, queue, &host).ok());
  EXPECT_EQ(out, Floats(64, 21));
}

TEST_F(ExecutableTest, Run_HostCallsWithoutAHost_AreRefusedByName) {
  const auto executable = Load(WithHostCalls(64));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats in(64, 3);
  Floats out(64, -1);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  const Status status =
      Call(*executable, *executable->PlanFor({}).value(), *binding, {inputs, outputs}, 1);
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(status.error().message,
            "The plan calls 'adds.one' of the host framework, and no host was given to run it.");
}

TEST_F(ExecutableTest, Profile_HostCalls_StandWhereTheyRan) {
  const auto executable = Load(WithHostCalls(64));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats in(64, 3);
  Floats out(64, -1);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  AddsOne host;
  Queue queue(*device_, 1);
  const auto profile =
      executable
          ->Profile(*executable->PlanFor({}).value(), *binding, {inputs, outputs}, queue, &host)
          .value();
  ASSERT_EQ(profile.size(), 6U);
  EXPECT_EQ(profile[0].label, "adds.one");
  EXPECT_EQ(profile[0].kernel, std::nullopt);
  EXPECT_EQ(profile[0].bytes, 2 * 4 * 64);
  EXPECT_EQ(profile[1].kernel, 0U);
  EXPECT_EQ(profile[5].label, "adds.one");
}

class RefusedLoad : public ExecutableTest {
 protected:
  Error LoadError(const std::string& bytes, const Digest& key, const BlobSource& blobs) {
    const auto loaded = Executable::Load(*device_, bytes, key, blobs);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  }

  const PlanBuilder builder_ = AddDoubledWeight(64);
  const Digest key_ = builder_.artifact.request_key;
};

TEST_F(RefusedLoad, DamagedArtifact_DataLossNamesBothDigests) {
  const std::string good = builder_.Bytes();
  std::string flipped = good;
  flipped[flipped.size() / 3] = static_cast<char>(flipped[flipped.size() / 3] ^ 4);
  for (const std::string& bytes : {good.substr(0, good.size() - 1), flipped, std::string("x")}) {
    const Error error = LoadError(bytes, key_, builder_.Source());
    EXPECT_EQ(error.code, ErrorCode::kDataLoss);
    EXPECT_NE(error.message.find(key_.ToHex()), std::string::npos);
    EXPECT_NE(error.message.find(Sha256Of(bytes).ToHex()), std::string::npos);
  }
}

TEST_F(RefusedLoad, ArtifactOfAnotherRequest_DataLoss) {
  const Digest other = Sha256Of("other");
  const Error error = LoadError(builder_.Bytes(), other, builder_.Source());
  EXPECT_EQ(error.code, ErrorCode::kDataLoss);
  EXPECT_EQ(error.message,
            "Artifact of request " + other.ToHex() + " was made for request " + key_.ToHex() + ".");
}

TEST_F(RefusedLoad, ArtifactForAnotherProcessor_FailedPrecondition) {
  PlanBuilder builder = AddDoubledWeight(64);
  builder.artifact.target = Target::Parse("cuda/sm_90a").value();
  const Error error = LoadError(builder.Bytes(), key_, builder.Source());
  EXPECT_EQ(error.code, ErrorCode::kFailedPrecondition);
  EXPECT_NE(error.message.find("Code for cuda/sm_90a needs a GPU"), std::string::npos);
}

TEST_F(RefusedLoad, DamagedBlobs_DataLossNamesTheBlob) {
  const Digest blob = builder_.artifact.kernels[0].blob;
  const std::string good = builder_.blobs.at(blob);
  std::string flipped = good;
  flipped[100] = static_cast<char>(flipped[100] ^ 1);
  for (const std::string& bytes : {good.substr(1), flipped}) {
    PlanBuilder damaged = builder_;
    damaged.blobs[blob] = bytes;
    const Error error = LoadError(builder_.Bytes(), key_, damaged.Source());
    EXPECT_EQ(error.code, ErrorCode::kDataLoss);
    EXPECT_NE(error.message.find("Kernel " + blob.ToHex()), std::string::npos) << error.message;
  }
}

TEST_F(RefusedLoad, DamagedConstant_DataLossNamesTheBlob) {
  PlanBuilder builder = AddDoubledWeight(64);
  builder.Constant("0123456789abcdef");
  const Digest blob = builder.artifact.constants[0].blob;
  const std::string bytes = builder.Bytes();
  builder.blobs[blob] = "0123456789abcdeF";
  const Error error = LoadError(bytes, key_, builder.Source());
  EXPECT_EQ(error.code, ErrorCode::kDataLoss);
  EXPECT_NE(error.message.find("Constant " + blob.ToHex()), std::string::npos) << error.message;
}

TEST_F(RefusedLoad, MissingBlob_KeepsTheSourcesCode) {
  const Error error = LoadError(builder_.Bytes(), key_, [](const Digest&) -> Result<std::string> {
    return NotFound("no such blob");
  });
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message,
            "Kernel " + builder_.artifact.kernels[0].blob.ToHex() + ": no such blob");
}

}  // namespace
}  // namespace stoker
