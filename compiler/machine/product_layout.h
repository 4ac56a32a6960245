// Product, ProductLayout: a matrix product to be, and in which form its operands multiply fastest.
#pragma once

#include "compiler/machine/packed_layout.h"
#include "protocol/graph/dim/sym_dim.h"
#include "protocol/key/compile_options.h"

namespace stoker {

// Of m by k and k by n, or so many points of a convolution.
struct Product {
  DType dtype = DType::kF32;
  Numerics numerics = Numerics::kHighest;
  SymDim m;
  SymDim n;
  SymDim k;
};

struct ProductLayout {
  PackedLayout rhs;
  int parts = 3;  // See ContractionFunc.

  friend bool operator==(const ProductLayout&, const ProductLayout&) = default;
};

}  // namespace stoker
