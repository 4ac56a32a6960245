// Graphs whose outputs are made in the memory of their inputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/base/result.h"
#include "protocol/graph/graph.h"

namespace stoker::test {

// `graph`, some of whose outputs update inputs of their types, chosen at random; *count is added
// how many.
Result<Graph> WithUpdates(const Graph& graph, std::uint64_t seed, std::size_t* count);

}  // namespace stoker::test
