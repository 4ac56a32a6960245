#include "client/core/execution/loaded_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "client/core/execution/host_calls.h"
#include "protocol/graph/build/graph_builder.h"
#include "tests/unit/allocation_count.h"
#include "tests/unit/runtime/cpu/test_plans.h"

namespace stoker {
namespace {

using cpu::PlanBuilder;
using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Obtained ObtainedOf(const PlanBuilder& builder) {
  auto bundle = std::make_shared<ArtifactBundle>();
  bundle->artifact_bytes = builder.Bytes();
  bundle->artifact = builder.artifact;
  for (const auto& [digest, bytes] : builder.blobs) {
    bundle->blobs[digest] = std::make_shared<const std::string>(bytes);
  }
  Obtained obtained;
  obtained.request_key = builder.artifact.request_key;
  obtained.bundle = std::move(bundle);
  return obtained;
}

std::unique_ptr<LoadedExecutable> Load(const PlanBuilder& builder,
                                       std::optional<Graph> verified_against = std::nullopt) {
  auto loaded = LoadedExecutable::Load(*JobDevice::Named("cpu").value(), ObtainedOf(builder),
                                       std::move(verified_against), nullptr);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(loaded).value();
}

// out = in + in over s0 floats.
PlanBuilder DoubledOfAnySize() {
  PlanBuilder builder;
  const SymDim n = SymDim::Symbol(0);
  const TensorType type{DType::kF32, Shape{n}};
  builder.Input(type);
  builder.Output(type);
  const std::uint32_t add = builder.Kernel("add");
  const SymDim bytes = SymDim(4) * n;
  builder.artifact.plan.steps = {
      PlanBuilder::Launch(add, n, {cpu::In(0, bytes), cpu::In(0, bytes), cpu::Out(0, bytes)}, {n})};
  Guard bind;
  bind.kind = GuardKind::kBindSymbol;
  bind.dim = 0;
  Guard range;
  range.kind = GuardKind::kSizeRange;
  range.dim = 0;
  range.value = 1;
  range.limit = 1000;
  builder.artifact.guards = GuardSet({bind, range});
  return builder;
}

std::vector<float> Doubled(LoadedExecutable& executable, std::int64_t n) {
  const std::vector<float> in(static_cast<std::size_t>(n), static_cast<float>(n));
  std::vector<float> out(in.size(), -1);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  const Status status = executable.Run(inputs, std::array{n}, outputs, nullptr);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return out;
}

TEST(LoadedExecutable, Run_SizesInTurn_EachGetsItsOwn) {
  const auto executable = Load(DoubledOfAnySize());
  for (const std::int64_t n : {3, 100, 3, 7, 100}) {
    EXPECT_THAT(Doubled(*executable, n), Each(static_cast<float>(2 * n)));
  }
}

TEST(LoadedExecutable, Run_MoreSizesThanFramesAreKept_StaysRight) {
  PlanBuilder builder = DoubledOfAnySize();
  // So many launches that some thirty frames are as many bytes as are kept.
  auto& steps = builder.artifact.plan.steps;
  steps.resize(2000, steps.front());
  const auto executable = Load(builder);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 1; n <= 100; ++n) {
      ASSERT_THAT(Doubled(*executable, n), Each(static_cast<float>(2 * n)));
    }
  }
}

TEST(LoadedExecutable, Run_GuardFails_NamesItAndRunsOtherSizesAfterwards) {
  const auto executable = Load(DoubledOfAnySize());
  std::vector<float> data(2000);
  const std::array<const void*, 1> inputs = {data.data()};
  const std::array<void*, 1> outputs = {data.data()};
  const Status status =
      executable->Run(inputs, std::array<std::int64_t, 1>{2000}, outputs, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("input 0 size 0"));
  EXPECT_THAT(Doubled(*executable, 3), Each(6.0F));
}

TEST(LoadedExecutable, Run_OutputThatIsAnInput_IsCopied) {
  PlanBuilder builder = DoubledOfAnySize();
  builder.artifact.plan.outputs.push_back(OutputSpec{builder.artifact.plan.inputs[0], 0});
  const auto executable = Load(builder);
  const std::vector<float> in = {1, 2, 3};
  std::vector<float> doubled(3);
  std::vector<float> same(3);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<std::int64_t, 1> sizes = {3};
  ASSERT_TRUE(
      executable->Run(inputs, sizes, std::array<void*, 2>{doubled.data(), same.data()}, nullptr)
          .ok());
  EXPECT_EQ(doubled, (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(same, in);
  EXPECT_TRUE(
      executable->Run(inputs, sizes, std::array<void*, 2>{doubled.data(), nullptr}, nullptr).ok());
}

// The same, made in the memory of the input.
PlanBuilder DoubledInPlace() {
  PlanBuilder builder = DoubledOfAnySize();
  LaunchPlan& plan = builder.artifact.plan;
  plan.outputs[0].updates_input = 0;
  for (BufferRef& buffer : std::get<Launch>(plan.steps[0]).buffers) {
    buffer.kind = BufferKind::kOutput;
  }
  return builder;
}

Status RunInPlace(LoadedExecutable& executable, std::vector<float>& data) {
  const std::array<const void*, 1> inputs = {data.data()};
  const std::array<void*, 1> outputs = {nullptr};
  return executable.Run(inputs, std::array{static_cast<std::int64_t>(data.size())}, outputs,
                        nullptr);
}

TEST(LoadedExecutable, Run_OutputThatUpdatesAnInput_IsMadeThere) {
  const auto executable = Load(DoubledInPlace());
  EXPECT_THAT(executable->DescribeJson(), HasSubstr(R"("updates_input":0)"));
  std::vector<float> data = {1, 2, 3};
  ASSERT_TRUE(RunInPlace(*executable, data).ok());
  EXPECT_EQ(data, (std::vector<float>{2, 4, 6}));
}

TEST(LoadedExecutable, Run_UpdatedInputThatSharesMemory_IsNamedAndStaysAsItIs) {
  PlanBuilder builder = DoubledInPlace();
  builder.Input(builder.artifact.plan.inputs[0]);
  const auto executable = Load(builder);
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  const std::array<void*, 1> outputs = {nullptr};
  const auto run = [&](float* other) {
    const std::array<const void*, 2> inputs = {data.data(), other};
    return executable->Run(inputs, std::array<std::int64_t, 1>{3}, outputs, nullptr);
  };
  for (const int first : {0, 1, 2}) {
    const Status status = run(data.data() + first);
    ASSERT_FALSE(status.ok()) << first;
    EXPECT_EQ(status.error().message,
              "Input 0, which the call updates, shares memory with input 1.");
  }
  EXPECT_EQ(data, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(run(data.data() + 3).ok());
  EXPECT_EQ(data, (std::vector<float>{2, 4, 6, 4, 5, 6}));
}

TEST(LoadedExecutable, Run_NullInput_IsNamed) {
  const auto executable = Load(DoubledOfAnySize());
  float out = 0;
  const std::array<const void*, 1> inputs = {nullptr};
  const std::array<void*, 1> outputs = {&out};
  const Status status = executable->Run(inputs, std::array<std::int64_t, 1>{1}, outputs, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "Input 0 is NULL.");
}

TEST(LoadedExecutable, Run_BeforeBind_SaysSo) {
  const auto executable = Load(cpu::AddDoubledWeight(8));
  std::vector<float> data(8);
  const std::array<const void*, 2> inputs = {data.data(), nullptr};
  const std::array<void*, 1> outputs = {data.data()};
  const Status status = executable->Run(inputs, {}, outputs, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "The graph's 1 parameters are not bound.");
}

// One operation on x and x, which are f32[s0].
Graph WithItself(OpKind kind) {
  GraphBuilder builder("g");
  const ValueId x = builder.Input({DType::kF32, Shape{SymDim::Symbol(0)}});
  const ValueId result = builder.Add(kind, std::array{x, x});
  return builder.Build(std::array{result}).value();
}

TEST(LoadedExecutable, Run_VerifiedAndRight_PassesAndIsComparedOnce) {
  const auto executable = Load(DoubledOfAnySize(), WithItself(OpKind::kAdd));
  EXPECT_THAT(executable->DescribeJson(), HasSubstr(R"("verification":"pending")"));
  for (const std::int64_t n : {3, 100}) {
    EXPECT_THAT(Doubled(*executable, n), Each(static_cast<float>(2 * n)));
    EXPECT_THAT(executable->DescribeJson(), HasSubstr(R"("verification":"verified")"));
  }
}

Graph InPlace(OpKind kind) {
  GraphBuilder builder("g");
  const ValueId x = builder.Input({DType::kF32, Shape{SymDim::Symbol(0)}});
  const ValueId result = builder.Add(kind, std::array{x, x});
  return builder.Build(std::array{result}, std::array{InputUpdate{0, 0}}).value();
}

TEST(LoadedExecutable, Run_VerifiedInPlace_IsComparedWithWhatTheInputHeld) {
  const auto executable = Load(DoubledInPlace(), InPlace(OpKind::kAdd));
  std::vector<float> data = {1, 2, 3};
  const Status status = RunInPlace(*executable, data);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(data, (std::vector<float>{2, 4, 6}));
  EXPECT_THAT(executable->DescribeJson(), HasSubstr(R"("verification":"verified")"));
}

// What is refused is run by the host framework, on the same inputs.
TEST(LoadedExecutable, Run_VerifiedInPlaceAndWrong_LeavesTheInputAsItWas) {
  const auto executable = Load(DoubledInPlace(), InPlace(OpKind::kMultiply));
  std::vector<float> data = {2, 3};
  for (int call = 0; call < 2; ++call) {
    EXPECT_FALSE(RunInPlace(*executable, data).ok());
    EXPECT_EQ(data, (std::vector<float>{2, 3}));
  }
}

// The kernel adds where the graph multiplies.
TEST(LoadedExecutable, Run_VerifiedAndWrong_IsRefusedInEveryCall) {
  const auto executable = Load(DoubledOfAnySize(), WithItself(OpKind::kMultiply));
  const std::vector<float> in = {2, 3};
  std::vector<float> out(2);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  for (int call = 0; call < 2; ++call) {
    const Status status = executable->Run(inputs, std::array<std::int64_t, 1>{2}, outputs, nullptr);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
    EXPECT_THAT(status.error().message, StartsWith("Verification refuses artifact "));
    EXPECT_THAT(status.error().message,
                EndsWith(": Output 0 element [1] is 6, and the interpreter's 9: the output is off "
                         "by 0.304604 of its length, more than 0.0001."));
    EXPECT_THAT(executable->DescribeJson(), HasSubstr(R"("verification":"refused")"));
  }
}

// What DoubledOfAnySize gives, and one more: out = host(in + in).
PlanBuilder DoubledAndOneMore() {
  PlanBuilder builder = DoubledOfAnySize();
  LaunchPlan& plan = builder.artifact.plan;
  const TensorType type = plan.inputs[0];
  const SymDim bytes = SymDim(4) * SymDim::Symbol(0);
  plan.arena_bytes = bytes;
  std::get<Launch>(plan.steps[0]).buffers[2] = cpu::Arena(0, bytes);
  plan.steps.push_back(
      HostCall{"one more", {{type, cpu::Arena(0, bytes)}}, {{type, cpu::Out(0, bytes)}}});
  return builder;
}

Graph DoubledAndOneMoreGraph() {
  GraphBuilder builder("g");
  const TensorType type{DType::kF32, Shape{SymDim::Symbol(0)}};
  const ValueId x = builder.Input(type);
  const ValueId doubled = builder.Add(OpKind::kAdd, std::array{x, x});
  Attributes attributes;
  attributes.Set(AttrName::kTarget, std::string("one more"));
  const ValueId result =
      builder.Add(OpKind::kExternCall, std::array{doubled}, std::move(attributes), type);
  return builder.Build(std::array{result}).value();
}

// Counts its calls in *context; beyond the tenth it fails.
std::int32_t OneMore(void* context, std::size_t call, const void* const* operands,
                     void* const* results, const std::int64_t* sizes) {
  if (call != 0 || ++*static_cast<int*>(context) > 10) return 1;
  for (std::int64_t i = 0; i < sizes[0]; ++i) {
    static_cast<float*>(results[0])[i] = static_cast<const float*>(operands[0])[i] + 1;
  }
  return 0;
}

TEST(LoadedExecutable, Run_HostCall_IsTheFunctionThatWasSet) {
  const auto executable = Load(DoubledAndOneMore());
  EXPECT_THAT(
      executable->DescribeJson(),
      HasSubstr(
          R"("host_calls":[{"target":"one more","operands":["f32[s0]"],"results":["f32[s0]"]}])"));
  int calls = 0;
  executable->SetHost(std::make_unique<ForeignHost>(OneMore, &calls));
  for (std::int64_t n = 1; n <= 10; ++n) {
    EXPECT_THAT(Doubled(*executable, n), Each(static_cast<float>(2 * n + 1)));
  }
  EXPECT_EQ(calls, 10);
  std::vector<float> data(3);
  const std::array<const void*, 1> inputs = {data.data()};
  const std::array<void*, 1> outputs = {data.data()};
  const Status failed = executable->Run(inputs, std::array<std::int64_t, 1>{3}, outputs, nullptr);
  EXPECT_EQ(failed.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(failed.error().message, "The host framework failed in host call 0.");
  executable->SetHost(nullptr);
  const Status nobody = executable->Run(inputs, std::array<std::int64_t, 1>{3}, outputs, nullptr);
  EXPECT_EQ(nobody.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(nobody.error().message, HasSubstr("'one more' of the host framework"));
}

// Notes the addresses of its call.
struct Noted {
  std::vector<const void*> addresses;
  int calls = 0;
};

std::int32_t OneMoreNoted(void* context, std::size_t call, const void* const* operands,
                          void* const* results, const std::int64_t* sizes) {
  auto& noted = *static_cast<Noted*>(context);
  noted.addresses = {operands[0], results[0]};
  return OneMore(&noted.calls, call, operands, results, sizes);
}

TEST(LoadedExecutable, Run_HostCallThatIsKept_IsGivenToTheQueueInItsPlaceAlone) {
  const auto executable = Load(DoubledAndOneMore());
  Noted noted;
  executable->SetHost(std::make_unique<ForeignHost>(OneMoreNoted, &noted));
  std::vector<float> in(3, 1);
  std::vector<float> out(3);
  const auto run = [&] {
    return executable->Run(std::array<const void*, 1>{in.data()}, std::array<std::int64_t, 1>{3},
                           std::array<void*, 1>{out.data()}, nullptr);
  };
  ASSERT_TRUE(run().ok());
  ForeignHost& host = *executable->host();
  std::vector<const void*> elsewhere = noted.addresses;
  elsewhere[1] = in.data();
  const auto recording = std::make_shared<const Recording>();
  const std::vector<std::int64_t> sizes = {3, 3};
  const std::vector<std::int64_t> others = {3, 2};
  host.Keep(0, {elsewhere, {}}, recording);
  host.Keep(0, {noted.addresses, others}, recording);
  host.Keep(7, {noted.addresses, {}}, recording);
  const std::size_t before = ForeignHost::KeptCalls();
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(noted.calls, 2);
  EXPECT_EQ(ForeignHost::KeptCalls(), before);
  host.Keep(0, {noted.addresses, sizes}, {});
  host.Keep(0, {noted.addresses, sizes}, {});  // In place of the other.
  Status given = run();                        // Cores have no such kernels.
  EXPECT_EQ(given.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(noted.calls, 2);
  EXPECT_EQ(ForeignHost::KeptCalls(), before + 1);
  host.Forget();
  host.Keep(0, {noted.addresses, {}}, {});  // Of whatever sizes it is.
  given = run();
  EXPECT_EQ(given.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(ForeignHost::KeptCalls(), before + 2);
  host.Forget();
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(noted.calls, 3);
  int given_to = 0;
  const auto give = [&](void*) {
    ++given_to;
    return Ok();
  };
  EXPECT_FALSE(executable->RecordHostCall(0, {noted.addresses, sizes}, give).value());
  EXPECT_EQ(given_to, 0);
  executable->SetHost(nullptr);
  EXPECT_EQ(executable->RecordHostCall(0, {noted.addresses, sizes}, give).error().code,
            ErrorCode::kFailedPrecondition);
}

TEST(LoadedExecutable, Run_HostCall_IsInterpretedByTheSameFunction) {
  const auto executable = Load(DoubledAndOneMore(), DoubledAndOneMoreGraph());
  int calls = 0;
  executable->SetHost(std::make_unique<ForeignHost>(OneMore, &calls));
  EXPECT_THAT(Doubled(*executable, 4), Each(9.0F));
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(executable->DescribeJson(), HasSubstr(R"("verification":"verified")"));
}

// One more; the second time, which is when the first run is compared, it runs the executable
// itself.
struct Again {
  LoadedExecutable* executable;
  int calls = 0;
};

std::int32_t OneMoreAndAgain(void* context, std::size_t call, const void* const* operands,
                             void* const* results, const std::int64_t* sizes) {
  auto& again = *static_cast<Again*>(context);
  if (++again.calls == 2) EXPECT_THAT(Doubled(*again.executable, 2), Each(5.0F));
  int calls = 0;
  return OneMore(&calls, call, operands, results, sizes);
}

TEST(LoadedExecutable, Run_HostCallThatIsInterpreted_MayRunTheExecutable) {
  const auto executable = Load(DoubledAndOneMore(), DoubledAndOneMoreGraph());
  Again again{executable.get()};
  executable->SetHost(std::make_unique<ForeignHost>(OneMoreAndAgain, &again));
  EXPECT_THAT(Doubled(*executable, 4), Each(9.0F));
  EXPECT_EQ(again.calls, 4);
  EXPECT_THAT(executable->DescribeJson(), HasSubstr(R"("verification":"verified")"));
}

TEST(LoadedExecutable, Run_WarmHostCall_AllocatesNothing) {
  const auto executable = Load(DoubledAndOneMore());
  int calls = 0;
  executable->SetHost(std::make_unique<ForeignHost>(OneMore, &calls));
  const std::vector<float> in(64, 5);
  std::vector<float> out(64);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  const std::array<std::int64_t, 1> sizes = {64};
  ASSERT_TRUE(executable->Run(inputs, sizes, outputs, nullptr).ok());
  const std::int64_t before = AllocationCount();
  const bool ran = executable->Run(inputs, sizes, outputs, nullptr).ok();
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_TRUE(ran);
}

TEST(LoadedExecutable, Run_FromManyThreads_GivesEachItsOwnResult) {
  const auto executable = Load(DoubledOfAnySize());
  std::vector<std::thread> threads;
  for (std::int64_t n = 1; n <= 4; ++n) {
    threads.emplace_back([&executable, n] {
      for (int i = 0; i < 200; ++i) {
        ASSERT_THAT(Doubled(*executable, n), Each(static_cast<float>(2 * n)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LoadedExecutable, Run_FromManyThreads_WhileItPreparesAnew) {
  // Large, so that preparing takes a while.
  constexpr std::int64_t kSize = 1 << 18;
  const auto executable = Load(cpu::AddDoubledWeight(kSize));
  const std::vector<float> weight(kSize, 2);
  for (std::int64_t version = 1; version <= 5; ++version) {
    // Made under a new version: on trial, and stale in the midst of the calls.
    ASSERT_TRUE(
        executable->Bind(std::array<const void*, 1>{weight.data()}, std::array{version}, nullptr)
            .ok());
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n) {
      threads.emplace_back([&executable, n] {
        const std::vector<float> in(kSize, static_cast<float>(n));
        std::vector<float> out(kSize);
        for (int call = 0; call < 2 * Prepared::kCallsOnTrial; ++call) {
          const std::array<const void*, 2> inputs = {in.data(), nullptr};
          const Status status =
              executable->Run(inputs, {}, std::array<void*, 1>{out.data()}, nullptr);
          ASSERT_TRUE(status.ok()) << status.error().message;
          ASSERT_EQ(out.back(), static_cast<float>(n + 4));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(LoadedExecutable, Run_InAProcessForkedWhileItPrepares) {
  constexpr std::int64_t kSize = 1 << 18;
  const auto executable = Load(cpu::AddDoubledWeight(kSize));
  const std::vector<float> weight(kSize, 2);
  const std::vector<float> in(kSize, 1);
  std::int64_t version = 0;
  const auto bind = [&] {
    return executable->Bind(std::array<const void*, 1>{weight.data()}, std::array{++version},
                            nullptr);
  };
  const auto run = [&] {
    std::vector<float> out(kSize);
    const std::array<const void*, 2> inputs = {in.data(), nullptr};
    const Status status = executable->Run(inputs, {}, std::array<void*, 1>{out.data()}, nullptr);
    return status.ok() && out.back() == 5;
  };
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) EXPECT_TRUE(bind().ok());
  });
  for (int n = 0; n < 20; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);  // Ends a child that waits for a thread which is not there.
      _exit(bind().ok() && run() ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ends = true;
  other.join();
}

TEST(LoadedExecutable, Run_WarmStatic_AllocatesNothing) {
  const auto executable = Load(cpu::AddDoubledWeight(4096));
  const std::vector<float> weight(4096, 1);
  const std::array<const void*, 1> parameters = {weight.data()};
  ASSERT_TRUE(executable->Bind(parameters, std::array<std::int64_t, 1>{1}, nullptr).ok());
  const std::vector<float> in(4096, 5);
  std::vector<float> out(4096);
  const std::array<const void*, 2> inputs = {in.data(), nullptr};
  const std::array<void*, 1> outputs = {out.data()};
  ASSERT_TRUE(executable->Run(inputs, {}, outputs, nullptr).ok());
  const std::int64_t before = AllocationCount();
  const bool ran = executable->Run(inputs, {}, outputs, nullptr).ok();
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_TRUE(ran);
  EXPECT_THAT(out, Each(7.0F));
}

TEST(LoadedExecutable, Run_WarmSymbolic_AllocatesNothing) {
  const auto executable = Load(DoubledOfAnySize());
  for (const std::int64_t n : {3, 100}) Doubled(*executable, n);
  const std::vector<float> in(100, 5);
  std::vector<float> out(100);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  for (const std::int64_t n : {3, 100, 3}) {
    const std::int64_t before = AllocationCount();
    const bool ran = executable->Run(inputs, std::array{n}, outputs, nullptr).ok();
    EXPECT_EQ(AllocationCount(), before) << n;
    EXPECT_TRUE(ran);
  }
}

TEST(AllocationCount, SeesAnAllocation) {
  const std::int64_t before = AllocationCount();
  // Called by name: the compiler may leave out what a new-expression allocates.
  ::operator delete(::operator new(10));
  EXPECT_EQ(AllocationCount(), before + 1);
}

}  // namespace
}  // namespace stoker
