// The text form of symbol facts in stoker_compile_options.
#pragma once

#include <string_view>

#include "protocol/base/result.h"
#include "protocol/graph/graph.h"
#include "protocol/guard/shape_signature.h"

namespace stoker {

// "s0:min=2,max=512,div=8,hint=128;s1:..." -> a signature with one fact per symbol of the graph;
// symbols that are not mentioned get no facts.
Result<ShapeSignature> ParseSymbolFacts(const Graph& graph, std::string_view text);

}  // namespace stoker
