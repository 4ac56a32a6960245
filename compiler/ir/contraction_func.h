// ContractionFunc: C[b, m, n] = epilogue(sum over k of A[b, m, k] * B[b, k, n]), the form of matrix
// products and of convolutions (implicit GEMM over a channels-last input).
//
// m is a nest of dims (matmul: [M]; convolution: [N, OH, OW]), k is a nest of dims (matmul: [K];
// convolution: [KH, KW, C], neighbours merged where strides allow). A is read in place through
// strides; its last k dim has stride 1. A must be readable at every (m, k): convolutions read from
// a buffer with a zero halo, so there are no bounds checks. B is packed by a PackFunc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/loop_func.h"
#include "compiler/machine/packed_layout.h"

namespace stoker {

struct ContractionDim {
  SymDim extent;
  SymDim lhs_stride;  // Elements. 0 for a batch dim that A does not have.
};

struct ContractionBatchDim {
  SymDim extent;
  SymDim lhs_stride;    // Elements.
  bool rhs_has = true;  // False: B is shared over this dim.
};

// A window that sticks out of its image: A is zero at the indices i of m[m] and j of k[k] unless
// 0 <= i * stride + j * dilation - low < size. Sizes are constant.
struct Halo {
  std::size_t m = 0;
  std::size_t k = 0;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t low = 0;
  std::int64_t size = 0;
};

// Elements of `dtype` in one panel, padding included.
SymDim PanelElements(const PackedLayout& layout, const SymDim& k);

struct ContractionFunc {
  std::vector<ContractionBatchDim> batch;
  std::vector<ContractionDim> m;
  std::vector<ContractionDim> k;
  std::vector<Halo> halos;  // What may be left out of the sums; all of it is there to be read.
  SymDim n;
  DType lhs_dtype = DType::kF32;  // In memory.
  SymDim lhs_offset;              // Elements.
  PackedLayout rhs;
  // Of an f32, where it is multiplied in bf16 parts: 3, which are all of it, or 2.
  int parts = 3;
  DType accumulator = DType::kF32;  // f32 for f32/bf16/f16, f64 for f64, i32/i64 for integers.
  // Operands of the launch: 0 is A, 1 is packed B, the rest belong to the epilogue.
  std::vector<Operand> operands;
  // Iteration dims of the epilogue: batch dims, then m dims, then n. kInput 0 is the accumulator
  // at (batch, m, n). At least one store.
  Body epilogue;
  std::vector<Store> stores;
};

// Copies B into PackedLayout. `source` is an access over dims [batch..., k dims..., n] of operand
// 0; operand 1 is the packed buffer. `scale`, when has_scale, is an access over the same dims (of
// operand 2) multiplied in: batch norm folded into a convolution.
struct PackFunc {
  std::vector<SymDim> batch;
  std::vector<SymDim> k;
  SymDim n;
  Access source;
  PackedLayout layout;
  bool has_scale = false;
  Access scale;
};

// Whether f32 is multiplied in bf16 parts.
bool IsInParts(const ContractionFunc& func);
std::string ToString(const ContractionFunc& func);
Status Verify(const ContractionFunc& func);
std::string ToString(const PackFunc& func);
Status Verify(const PackFunc& func);
SymDim PackedElements(const PackFunc& func);  // Elements of the packed buffer, padding included.

}  // namespace stoker
