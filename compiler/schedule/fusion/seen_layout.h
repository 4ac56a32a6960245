// How a value has to lie in memory for those that see it through views.
#pragma once

#include <optional>
#include <span>

#include "compiler/analysis/reads.h"
#include "compiler/schedule/program/layout.h"

namespace stoker {

// The layout of what `views` look at (from the reader's side to the source's) in which the reader,
// who sees `rank` dims, finds the elements row-major; nothing where no layout is like that.
std::optional<Layout> LayoutSeenRowMajor(const Graph& graph, std::span<const NodeId> views,
                                         int rank);

// How the reader sees what lies in `layout`; nothing where it sees dims as one that do not step so.
std::optional<Layout> LayoutSeenOf(const Graph& graph, std::span<const NodeId> views,
                                   Layout layout);

// Those of `views` that lie behind the transposes at the reader's side: a library reads matrices by
// rows or by columns.
std::span<const NodeId> BehindTransposes(const Graph& graph, std::span<const NodeId> views);

// The layout of the source in which a matrix product reads it where it lies; nothing where that
// does not follow from the views, or follows from any layout.
std::optional<Layout> LayoutForProduct(const Graph& graph, const Read& read);

}  // namespace stoker
