#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <utility>

#include "runtime/executable.h"
#include "tests/unit/runtime/executable_case.h"

namespace stoker {
namespace {

using cpu::Arena;
using cpu::In;
using cpu::Out;
using cpu::PlanBuilder;
using cpu::Queue;

// Says how often a loop runs.
class GoesOn final : public Host {
 public:
  explicit GoesOn(int trips) : trips_(trips) {}

  Status Call(std::size_t, std::span<const void* const>, std::span<void* const> results,
              std::span<const std::int64_t>, stoker::Queue&) override {
    *static_cast<std::uint8_t*>(results[0]) = trips_-- > 0 ? 1 : 0;
    return Ok();
  }

 private:
  int trips_;
};

// a = 2 x; while the host says so: a = a + x; 2 a. All that in a loop that runs as often.
PlanBuilder WithLoops(std::int64_t n) {
  PlanBuilder builder;
  const TensorType type{DType::kF32, Shape{SymDim(n)}};
  const TensorType flag{DType::kBool, {}};
  builder.Input(type);
  builder.Output(type);
  const std::uint32_t twice = builder.Kernel("double");
  const std::uint32_t add = builder.Kernel("add");
  LaunchPlan& plan = builder.artifact.plan;
  const std::int64_t stride = (4 * n + 63) / 64 * 64;
  plan.arena_bytes = stride + 128;
  const BufferRef x = In(0, 4 * n);
  const BufferRef a = Arena(0, 4 * n);
  const BufferRef inner = Arena(stride, 1);
  const BufferRef outer = Arena(stride + 64, 1);
  stoker::Launch sum = PlanBuilder::Launch(add, n, {a, x, a}, {n});
  sum.min_tasks_per_chunk = 16;
  plan.steps = {HostCall{"outer", {}, {{flag, outer}}}, PlanBuilder::Launch(twice, n, {x, a}),
                HostCall{"inner", {}, {{flag, inner}}}, sum,
                PlanBuilder::Launch(twice, n, {a, Out(0, 4 * n)})};
  plan.loops = {{0, 1, 5, outer}, {2, 3, 4, inner}};
  return builder;
}

TEST_F(ExecutableTest, Run_Loops_RunWhileTheirConditionsHold) {
  constexpr std::int64_t kCount = 5000;
  const auto executable = Load(WithLoops(kCount));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats in(kCount, 3);
  const std::array<const void*, 1> inputs = {in.data()};
  const auto plan = executable->PlanFor({}).value();
  // The answers of the host: one outer trip with two inner ones; then none.
  for (const auto& [trips, expected] : {std::pair{0, -1.0F}, {1, 12.0F}, {3, 24.0F}}) {
    for (const int threads : {1, 2}) {
      Floats out(kCount, -1);
      GoesOn host(trips);
      Queue queue(*device_, threads);
      const std::array<void*, 1> outputs = {out.data()};
      ASSERT_TRUE(executable->Run(*plan, *binding, {inputs, outputs}, queue, &host).ok());
      EXPECT_EQ(out, Floats(kCount, expected)) << trips;
    }
  }
}

TEST_F(ExecutableTest, Profile_Loops_AddsTripsUp) {
  const auto executable = Load(WithLoops(64));
  std::shared_ptr<const Binding> binding;
  ASSERT_TRUE(Bind(*executable, {}, 0, &binding).ok());
  const Floats in(64, 3);
  Floats out(64, -1);
  const std::array<const void*, 1> inputs = {in.data()};
  const std::array<void*, 1> outputs = {out.data()};
  const auto plan = executable->PlanFor({}).value();
  Queue queue(*device_, 1);
  for (const int trips : {0, 3}) {
    GoesOn host(trips);
    const auto profile =
        executable->Profile(*plan, *binding, {inputs, outputs}, queue, &host).value();
    ASSERT_EQ(profile.size(), 5U);
    EXPECT_EQ(profile[3].label, "test launch");
    for (std::size_t i = 1; i < profile.size(); ++i) {
      EXPECT_EQ(profile[i].microseconds > 0, trips > 0) << i;
    }
  }
}

}  // namespace
}  // namespace stoker
