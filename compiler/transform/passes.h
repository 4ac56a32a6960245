// Graph passes. Each is a function Graph -> Graph in a file of its own name; the order in which
// they run, and why, is in pipeline.cc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/machine/fusion_limits.h"
#include "protocol/graph/graph.h"

namespace stoker {

// Writes ops that the scheduler does not know in terms of others: values without elements and
// reductions of nothing become constants, convolutions of dilated inputs or with negative padding
// read an explicit pad, scatters have indices of 32 or 64 bits, random bits are arithmetic, and of
// more than kMaxConcatenated operands parts are concatenated first.
inline constexpr std::size_t kMaxConcatenated = 32;
Result<Graph> CanonicalizeOps(const Graph& graph);

// A scan becomes a while that counts its rows. Unimplemented where their number is not known.
Result<Graph> ExpandScans(const Graph& graph);

// Where matrix products are calls of a library, which multiplies floats alone: those of integers
// become sums of products.
Result<Graph> ExpandProducts(const Graph& graph, const FusionLimits& limits);

// A matrix product of which one dim stands for several, of which an inner one has a size that
// varies (the rows of a batch of sequences), becomes one over these, and what follows it point by
// point has them, too. A place along the one dim is none along the others for any index expression:
// what follows would need a copy. The same where products are calls of a library and the dims are
// those of a transposed operand, which it reads in their order in memory.
Result<Graph> SplitProductDims(const Graph& graph, const FusionLimits& limits);

// Computes nodes of constants: all splats, and dense constants up to kMaxFoldedElements.
inline constexpr std::int64_t kMaxFoldedElements = 1024;
Result<Graph> FoldConstants(const Graph& graph);

// Identities, inverses, and chains of views and conversions.
Result<Graph> Simplify(const Graph& graph);

// (convolution * s1 - m) * s2 + b, with factors and addends that follow from parameters and vary
// over the output channels alone (a batch norm), becomes convolution * s + b; in f32 and f64 s
// moves on into the weights. The same for matrix products.
Result<Graph> FoldScaling(const Graph& graph);

// Matrix products of one left operand with several weights (queries, keys and values), each with a
// bias or none, become one with the weights side by side, of which the others are slices.
Result<Graph> MergeSiblings(const Graph& graph);

// A sum of small matrix products of computed operands (a weight's gradient over the steps of a
// recurrent network) becomes one product, with the operands' terms side by side.
Result<Graph> MergeSummands(const Graph& graph);

// Where products are calls of a library that reads neighbours in pieces of so many bytes: narrow
// factors of large products are padded with zeros along the dims along which they lie, to whole
// pieces, and the product with them.
Result<Graph> PadProducts(const Graph& graph, const FusionLimits& limits);

// Reductions to one element of as many as `limits` says run in two phases, so that every core has a
// part of the first.
Result<Graph> SplitReductions(const Graph& graph, const FusionLimits& limits);

}  // namespace stoker
