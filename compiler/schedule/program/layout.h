// Layout: how the elements of a value lie in memory: a permutation of its dims, a halo of zeros,
// and how far rows lie apart.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/analysis/index_space.h"
#include "protocol/graph/tensor_type.h"

namespace stoker {

struct Layout {
  std::vector<int> order;          // The value's dims, outermost first.
  std::vector<std::int64_t> low;   // Per dim: zeros before the first element ...
  std::vector<std::int64_t> high;  // ... and after the last.
  // Rows, along the innermost dim, begin at multiples of so many elements; in between is anything.
  std::int64_t row_multiple = 1;

  static Layout RowMajor(int rank);
  bool HasHalo() const;
  bool IsRowMajor() const;  // Without a halo or gaps.
  friend bool operator==(const Layout&, const Layout&) = default;
};

std::vector<SymDim> StridesOf(const Layout& layout, const Shape& shape);  // Per dim, in elements.
SymDim ElementsOf(const Layout& layout, const Shape& shape);              // Halo included.

// Where element `index` is, in elements from the start of the buffer.
IndexMap PhysicalIndex(const IndexSpace& space, const Layout& layout, const Shape& shape,
                       const ElementIndex& index);

// The layout without halo whose dims lie as the loops over `order` (dims of the space, outermost
// first) visit them.
Layout NaturalLayout(const ElementIndex& index, const std::vector<int>& order);

}  // namespace stoker
