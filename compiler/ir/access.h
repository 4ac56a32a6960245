// Where a kernel reads or writes: an affine map from iteration indices to an element of a buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/base/dtype.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

// coefficient * ((i[dim] / divisor) % modulus); modulus 0: no modulo. divisor 1 and modulus 0 is
// the affine case that vectorizes; the others arise from reshapes that merge strided dims.
struct IndexTerm {
  int dim = 0;
  SymDim coefficient;
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;
  friend bool operator==(const IndexTerm&, const IndexTerm&) = default;
};

// An element offset: offset + sum of terms. Terms are sorted by dim.
struct IndexMap {
  SymDim offset;
  std::vector<IndexTerm> terms;

  SymDim CoefficientOf(int dim) const;  // Of the affine terms; 0 when absent.
  bool IsAffine() const;
  std::string ToString() const;  // "768*i0 + i1 + 12".
  friend bool operator==(const IndexMap&, const IndexMap&) = default;
};

// One use of a kernel operand. The element type in memory is `dtype`; bodies see f16 and bf16 as
// f32.
struct Access {
  std::uint32_t operand = 0;
  DType dtype = DType::kF32;
  IndexMap index;
  // Data-dependent part (gather): indirect[k] is multiplied with the k-th i64 argument of the load.
  std::vector<SymDim> indirect;
  friend bool operator==(const Access&, const Access&) = default;
};

}  // namespace stoker
