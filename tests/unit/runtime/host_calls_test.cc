#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "runtime/executable.h"
#include "tests/unit/runtime/executable_case.h"

namespace stoker {
namespace {

using cpu::Arena;
using cpu::In;
using cpu::Out;
using cpu::PlanBuilder;
using cpu::Queue;

// Gives each element of the operand one more, and fails in call `fails_in`.
class AddsOne final : public Host {
 public:
  Status Call(std::size_t call, std::span<const void* const> operands,
              std::span<void* const> results, std::span<const std::int64_t> sizes,
              stoker::Queue&) override {
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

class HostCallTest : public ExecutableTest {
 protected:
  // Over threes.
  void LoadAndBind(std::int64_t n) {
    executable_ = Load(WithHostCalls(n));
    ASSERT_TRUE(Bind(*executable_, {}, 0, &binding_).ok());
    in_.assign(static_cast<std::size_t>(n), 3);
    out_.assign(static_cast<std::size_t>(n), -1);
    plan_ = executable_->PlanFor({}).value();
  }
  Status RunWith(Host* host, int threads) {
    Queue queue(*device_, threads);
    return executable_->Run(*plan_, *binding_, {inputs(), outputs()}, queue, host);
  }
  std::span<const void* const> inputs() {
    input_ = in_.data();
    return {&input_, 1};
  }
  std::span<void* const> outputs() {
    output_ = out_.data();
    return {&output_, 1};
  }

  std::unique_ptr<Executable> executable_;
  std::shared_ptr<const Binding> binding_;
  std::shared_ptr<const ReadyPlan> plan_;
  Floats in_;
  Floats out_;

 private:
  const void* input_ = nullptr;
  void* output_ = nullptr;
};

TEST_F(HostCallTest, Run_HostCalls_RunInOrderOverTheSameMemory) {
  constexpr std::int64_t kCount = 5000;
  LoadAndBind(kCount);
  for (const int threads : {1, 2, 0}) {
    out_.assign(kCount, -1);
    AddsOne host;
    ASSERT_TRUE(RunWith(&host, threads).ok());
    EXPECT_EQ(out_, Floats(kCount, 21));
    EXPECT_EQ(host.calls, (std::vector<std::size_t>{0, 1, 2, 3}));
  }
}

TEST_F(HostCallTest, Run_OneThatFails_EndsTheRunAndNotTheNext) {
  LoadAndBind(64);
  AddsOne host;
  host.fails_in = 2;
  const Status failed = RunWith(&host, 1);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "It is enough.");
  EXPECT_EQ(host.calls, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(out_, Floats(64, -1));
  host.fails_in = SIZE_MAX;
  ASSERT_TRUE(RunWith(&host, 1).ok());
  EXPECT_EQ(out_, Floats(64, 21));
}

TEST_F(HostCallTest, Run_WithoutAHost_IsRefusedByName) {
  LoadAndBind(64);
  const Status status = RunWith(nullptr, 1);
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(status.error().message,
            "The plan calls 'adds.one' of the host framework, and no host was given to run it.");
}

TEST_F(HostCallTest, Profile_StandWhereTheyRan) {
  LoadAndBind(64);
  AddsOne host;
  Queue queue(*device_, 1);
  const auto profile =
      executable_->Profile(*plan_, *binding_, {inputs(), outputs()}, queue, &host).value();
  ASSERT_EQ(profile.size(), 6U);
  EXPECT_EQ(profile[0].label, "adds.one");
  EXPECT_EQ(profile[0].kernel, std::nullopt);
  EXPECT_EQ(profile[0].bytes, 2 * 4 * 64);
  EXPECT_EQ(profile[1].kernel, 0U);
  EXPECT_EQ(profile[5].label, "adds.one");
}

}  // namespace
}  // namespace stoker
