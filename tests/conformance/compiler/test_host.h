// A host framework for tests: whatever an extern_call names, it does the same.
#pragma once

#include <span>
#include <vector>

#include "protocol/artifact/launch_plan.h"
#include "protocol/graph/interpret/interpreter.h"
#include "runtime/host.h"

namespace stoker::test {

// Element i of result r becomes r and the sum of one element of each operand, whose place depends
// on i and r: what lies otherwise than row-major shows.
void Weave(std::span<const InterpreterTensor* const> operands,
           std::span<InterpreterTensor> results);

class TestHost final : public Host {
 public:
  explicit TestHost(const LaunchPlan& plan);
  Status Call(std::size_t call, std::span<const void* const> operands,
              std::span<void* const> results, std::span<const std::int64_t> sizes,
              Queue& queue) override;

 private:
  std::vector<HostCall> calls_;
};

}  // namespace stoker::test
