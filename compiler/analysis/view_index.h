// Views as index maps: which element of a view is which element of what it looks at.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/analysis/index_space.h"
#include "protocol/graph/graph.h"

namespace stoker {

// The operand's element that the view's element `result` is. Nothing when a reshape in between is
// not an index expression over `space`.
std::optional<ElementIndex> PullThroughView(const Graph& graph, const Node& view,
                                            const ElementIndex& result, const IndexSpace& space);

// The view's element that the operand's element `operand` becomes. A slice has none. The new dims
// of a broadcast run over `free_dims` of the space, whose extents must be theirs, in order.
std::optional<ElementIndex> PushThroughView(const Graph& graph, const Node& view,
                                            const ElementIndex& operand, const IndexSpace& space,
                                            std::span<const int> free_dims);

// Index of the same element in a tensor of other sizes, in row-major order.
std::optional<ElementIndex> Reindex(const IndexSpace& space, const ElementIndex& index,
                                    std::span<const SymDim> from, std::span<const SymDim> to);

}  // namespace stoker
