// The stages of the compiler whose results golden files hold, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/base/result.h"
#include "protocol/graph/graph.h"

namespace stoker::golden {

// What the stage makes of `graph`, as text. A stage is the name of one graph pass (simplify, ...),
// or what the pipeline has after all passes: graph, groups, loops (the kernels' IR), schedules,
// assembly, memory, plan. A target may follow after a space; otherwise it is cpu/x86-64-v4.
Result<std::string> PrintStage(std::string_view stage, const Graph& graph);

}  // namespace stoker::golden
