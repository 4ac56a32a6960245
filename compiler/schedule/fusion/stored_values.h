// Which values of a grouped graph are in memory, and which kernels compute again where they need
// them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/analysis/reads.h"
#include "compiler/machine/fusion_limits.h"
#include "compiler/schedule/fusion/group.h"
#include "compiler/schedule/program/layout.h"

namespace stoker {

struct StoredValues {
  std::vector<bool> stored;        // Per value; results of views and constants never are.
  std::vector<bool> read_by_call;  // Per value: a launch of `launches` reads it.
  // Per value: how its convolutions, else the host framework, products that a library computes, or
  // loops over many more points, want it.
  std::vector<std::optional<Layout>> wanted;
  std::vector<bool> wanted_by_products;  // Per value: by these alone.
};

StoredValues FindStoredValues(const Graph& graph, const Reads& reads, const Grouping& grouping,
                              const FusionLimits& limits);

// The layout in which convolution `node` reads its input: channels last, with the zeros its padding
// needs around it. Requires constant spatial sizes, no negative padding, no dilation of the input.
Layout ConvolutionInputLayout(const Graph& graph, const Node& node);

// Whether only contractions read the node's result, as their right operand, and packing makes it on
// the way: a product of a matrix and a scale, or matrices side by side.
bool IsMadeByPacking(const Graph& graph, const Reads& reads, const Node& node);

}  // namespace stoker
