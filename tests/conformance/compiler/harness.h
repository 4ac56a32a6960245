// Runs a graph through the compiler and the CPU runtime, and beside the interpreter in float64: for
// every target of x86_targets.h that this processor runs. For one of the others, which follows from
// the graph, it is compiled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "protocol/graph/graph.h"
#include "protocol/graph/interpret/interpreter.h"
#include "tests/conformance/compiler/tensors.h"

namespace stoker::test {

struct Outcome {
  std::string error;          // Empty: every output is within the tolerance.
  Artifact artifact;          // For this machine.
  std::size_t kernels = 0;    // Unique.
  std::size_t schedules = 0;  // Of CheckCandidates: other than the default ones, over all targets.
};

// `inputs`: one per graph input. Each call of the executable is made twice, so that what one leaves
// behind in the arena shows in the next; the second on one thread, which must give the same bits.
Outcome CompareWithInterpreter(const Graph& graph, const std::vector<InterpreterTensor>& inputs,
                               const Tolerance& tolerance = {}, int threads = 2);

// The same for several calls of one artifact, which bind symbols differently.
Outcome CompareCallsWithInterpreter(const Graph& graph,
                                    const std::vector<std::vector<InterpreterTensor>>& calls,
                                    const Tolerance& tolerance = {}, int threads = 2);

// The same for a graph in text form with inputs drawn from `seed`: floats from a normal
// distribution, integers small and not negative, bools by a coin.
Outcome CheckText(std::string_view text, std::uint64_t seed = 1, const Tolerance& tolerance = {});

// The same for each schedule that Candidates gives for a kernel of the graph, one at a time, with
// how many there were in `schedules`.
Outcome CheckCandidates(std::string_view text, std::uint64_t seed = 1);

// Seeds first, first + 1, ...: `count` of them, or what STOKER_SEEDS=first:count says.
std::vector<std::uint64_t> Seeds(std::uint64_t first, std::uint64_t count);

// Launch labels of the calls, in order.
std::vector<std::string> LabelsOf(const Artifact& artifact);

}  // namespace stoker::test
