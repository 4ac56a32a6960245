// AttentionFunc: softmax(q k^T * scale + mask) v without materializing the score matrix (online
// softmax, Milakov and Gimelshein 2018; tiling as in FlashAttention, Dao et al. 2022).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "compiler/ir/loop_func.h"

namespace stoker {

// Element (b, h, row, d) is at offset + b*strides[0] + h*strides[1] + row*strides[2] +
// d*strides[3].
struct AttentionOperand {
  DType dtype = DType::kF32;
  SymDim offset;
  std::array<SymDim, 4> strides;
};

struct AttentionFunc {
  SymDim batch, heads, kv_heads, queries, keys;  // B, H, Hk, S, T
  std::int64_t head_dim = 0;                     // D, of q and k
  std::int64_t value_dim = 0;                    // Dv
  double scale = 1;
  bool causal = false;
  bool has_mask = false;
  // Launch buffers: 0 q, 1 k, 2 v, 3 out, 4 mask if any.
  AttentionOperand q, k, v, out;
  AttentionOperand mask;  // Stride 0 where the mask broadcasts; dtype bool or a float type.
};

std::uint32_t NumOperands(const AttentionFunc& func);
std::string ToString(const AttentionFunc& func);
Status Verify(const AttentionFunc& func);

}  // namespace stoker
