// Program and memory plan -> LaunchPlan and its unique kernels.
#pragma once

#include <string>
#include <vector>

#include "compiler/pipeline.h"
#include "protocol/artifact/launch_plan.h"
#include "protocol/base/digest.h"

namespace stoker {

// A kernel that some launches share.
struct UniqueKernel {
  Digest key;             // Of the canonical text, the target and the toolchain.
  std::size_t step = 0;   // The first that has it.
  std::int64_t cost = 0;  // Rough share of the compile time.
};

struct PlannedLaunches {
  LaunchPlan plan;                    // Launch::kernel is an index into kernels.
  std::vector<UniqueKernel> kernels;  // Those of the pipeline, in its order.
};

// `toolchain`: KernelToolchain of the target.
PlannedLaunches PlanLaunches(const PipelineResult& pipeline, const Target& target,
                             std::string_view toolchain);

}  // namespace stoker
