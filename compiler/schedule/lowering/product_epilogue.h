// What a body computes of a matrix product, as a library takes it along.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/body.h"
#include "protocol/artifact/matmul.h"

namespace stoker {

struct ProductEpilogue {
  double alpha = 1;
  MatmulActivation activation = MatmulActivation::kNone;
  // Of an element of each column, and of one for each element of the product.
  std::optional<Access> bias;
  std::optional<Access> matrix;
};

// Instruction `root` of `body`, over dims of which `n` are the columns: activation(alpha * input 0
// + matrix + bias), in any order. Nothing when it is not that, or when something is rounded on the
// way.
std::optional<ProductEpilogue> FindProductEpilogue(const Body& body, std::uint32_t root, int n);

}  // namespace stoker
