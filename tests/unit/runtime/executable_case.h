// ExecutableTest: artifacts of PlanBuilder on the processor cores, bound and called.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "runtime/cpu/queue.h"
#include "runtime/executable.h"
#include "tests/unit/runtime/cpu/test_plans.h"

namespace stoker {

using Floats = std::vector<float>;

inline Floats Iota(std::size_t n, float first) {
  Floats values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class ExecutableTest : public testing::Test {
 protected:
  std::unique_ptr<Executable> Load(const cpu::PlanBuilder& builder) {
    auto loaded =
        Executable::Load(*device_, builder.Bytes(), builder.artifact.request_key, builder.Source());
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return std::move(loaded).value();
  }

  static Status BindOn(cpu::Device& device, Executable& executable,
                       std::span<const Parameter> parameters, int threads,
                       std::shared_ptr<const Binding>* binding) {
    cpu::Queue queue(device, threads);
    return executable.BindParameters(parameters, queue, binding);
  }
  Status Bind(Executable& executable, std::span<const Parameter> parameters, int threads,
              std::shared_ptr<const Binding>* binding) const {
    return BindOn(*device_, executable, parameters, threads, binding);
  }

  Status Call(Executable& executable, const ReadyPlan& plan, const Binding& binding,
              const stoker::Call& call, int threads) const {
    cpu::Queue queue(*device_, threads);
    return executable.Run(plan, binding, call, queue);
  }

  // One input, one parameter, one output of n floats.
  static Floats RunOn(cpu::Device& device, Executable& executable, const Binding& binding,
                      const Floats& a, const Floats& w, int threads) {
    Floats out(a.size(), -1);
    const auto plan = executable.PlanFor({}).value();
    const std::array<const void*, 2> inputs = {a.data(), w.data()};
    const std::array<void*, 1> outputs = {out.data()};
    cpu::Queue queue(device, threads);
    const Status status = executable.Run(*plan, binding, {inputs, outputs}, queue);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return out;
  }
  Floats Run(Executable& executable, const Binding& binding, const Floats& a, const Floats& w,
             int threads) const {
    return RunOn(*device_, executable, binding, a, w, threads);
  }

  const std::unique_ptr<cpu::Device> device_ = cpu::Device::Create().value();
};

}  // namespace stoker
