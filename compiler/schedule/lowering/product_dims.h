// FlattenProduct: the dims of a matrix product as a library counts them: one each for the batch,
// rows, columns and contracted elements.
#pragma once

#include <optional>
#include <vector>

#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

enum class ProductOperand : std::uint8_t { kA, kB, kC, kD };

// One dim, and how many elements each operand lies apart along it: 0 where it does not have it.
struct ProductDim {
  SymDim extent;
  SymDim a;
  SymDim b;
  SymDim c;
  SymDim d;
};

// Outermost first.
struct ProductDims {
  std::vector<ProductDim> batch;
  std::vector<ProductDim> m;
  std::vector<ProductDim> n;
  std::vector<ProductDim> k;
};

struct FlatMatrix {
  SymDim leading;
  SymDim batch_stride;
  bool by_columns = false;
};

struct FlatProduct {
  SymDim batch = 1;
  SymDim m = 1;
  SymDim n = 1;
  SymDim k = 1;
  FlatMatrix a;
  FlatMatrix b;
  FlatMatrix c;  // As D, where there is none.
  FlatMatrix d;
};

// Nothing, and `*blamed`, where an operand has to lie otherwise for it: A and B with neighbours
// along a dim of the matrix, C and D along rows, and all with one step along each dim. An outer dim
// of the rows may be a batch that shares B, and a batch that shares B more rows.
std::optional<FlatProduct> FlattenProduct(ProductDims dims, ProductOperand* blamed);

}  // namespace stoker
