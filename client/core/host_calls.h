// Ops of the host framework, which a C function runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "protocol/artifact/launch_plan.h"
#include "protocol/base/result.h"
#include "protocol/graph/interpreter.h"
#include "runtime/host.h"
#include "stoker/stoker.h"

namespace stoker {

class ForeignHost final : public Host {
 public:
  ForeignHost(stoker_host_fn call, void* context) : call_(call), context_(context) {}

  // FailedPrecondition where the function says that it failed: why is for its owner to know.
  Status Call(std::size_t call, std::span<const void* const> operands,
              std::span<void* const> results, std::span<const std::int64_t> sizes) override;

 private:
  const stoker_host_fn call_;
  void* const context_;
};

// What InterpretOptions::extern_call asks for: `graph`'s node as a host call of `plan`, which was
// compiled from the graph. Calls of one target and one type are the same.
Status InterpretHostCall(const Graph& graph, const LaunchPlan& plan, Host& host, const Node& node,
                         std::span<const InterpreterTensor* const> operands,
                         std::span<InterpreterTensor> results);

}  // namespace stoker
