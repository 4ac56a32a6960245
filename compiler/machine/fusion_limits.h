// FusionLimits: what fusion, and the choice of what is stored and what computed again, ask of a
// machine. The defaults are those of CPUs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

struct FusionLimits {
  // Matrix products of floats are calls of a library: it reads both factors where they lie, takes
  // along what MatmulOf names and nothing else, and runs in every call.
  bool products_are_calls = false;
  // At multiples of how many bytes the rows of a matrix begin that the library multiplies best, and
  // of how many their neighbours are that it loads at once.
  std::int64_t product_row_bytes = 1;
  // Products of so many operations, and so many for each byte of what has to be copied for that,
  // are made of padded factors where narrow ones lie otherwise.
  double min_padded_product = 0;
  double min_padded_product_intensity = 0;
  // More nodes than this in one kernel cost more compile time than they save.
  std::size_t max_group_nodes = 256;
  // A value is computed again in the kernel that reads it, rather than stored and loaded, while
  // that takes no more than so many loads and operations.
  int max_recompute_cost = 3;
  // The same, with what is loaded for it of no more bytes than it has itself.
  int max_recompute_cost_of_one = 3;
  // The same for what a kernel would compute whose results are each read at many points of others
  // (a scale for each channel of an image), where a launch costs more than to do so again.
  int max_spread_cost = 3;
  // A value is kept in a row for later stages of its kernel, rather than computed again, from so
  // many loads and operations on, as long as the row has no more elements than fast memory holds.
  int min_kept_cost = 3;
  std::int64_t max_kept_elements = 1 << 17;
  // An element costs as much at an index that is chosen for each point as at the point's own: what
  // is put together of slices of one value, as a rotation is, is read at one index, not at one of
  // each slice under its condition.
  bool reads_at_chosen_index = false;
  // A reduction over at least so many elements, whose rows together keep only one core busy, is
  // cut into two phases and not joined with what it reads or feeds. The first phase has as many
  // parts as divide it, several per core, so that a slow one does not hold up the others.
  std::int64_t min_split_reduction = 1 << 18;
  std::int64_t min_reduction_parts = 8;
  std::int64_t max_reduction_parts = 256;
  // The same for a reduction to several results: up to so many, as long as it is of rows (the last
  // dim is reduced) or of columns, and parts and results together make so many partial ones at
  // most.
  std::int64_t max_split_rows = 1;
  std::int64_t max_split_columns = 1;
  std::int64_t max_partial_results = 256;
  // So many columns are one block's, and of fewer elements in all it makes two phases of them where
  // a block would have at least so many. 0: there are no blocks.
  std::int64_t block_columns = 0;
  std::int64_t min_split_block = 0;
  // How memory is laid out: neighbours in a vector of so many f32, and how much slower lanes are
  // that are no neighbours.
  double vector_lanes = 16;
  double strided_cost = 4;
  // An image of which fewer neighbours along the contracted dims lie together is copied, channels
  // last with its halo of zeros, before a convolution reads it.
  std::int64_t min_contiguous_run = 8;
};

}  // namespace stoker
