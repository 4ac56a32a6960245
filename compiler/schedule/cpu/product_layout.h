// How packed B lies for a machine; see contraction_func.h.
#pragma once

#include "compiler/ir/contraction_func.h"
#include "protocol/base/dtype.h"
#include "protocol/key/compile_options.h"
#include "protocol/key/target.h"

namespace stoker {

// How a contraction of this dtype and these sizes multiplies on `target`.
struct ProductLayout {
  PackedLayout rhs;
  int parts = 3;  // See ContractionFunc.

  friend bool operator==(const ProductLayout&, const ProductLayout&) = default;
};
ProductLayout ChooseProductLayout(DType dtype, Numerics numerics, const SymDim& m, const SymDim& n,
                                  const SymDim& k, const Target& target);

}  // namespace stoker
