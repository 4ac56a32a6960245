// Instructions of a body that are one function together, for emitters that have it.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/body.h"

namespace stoker::codegen {

// Is it that operation on numbers of f32?
inline bool IsF32(const BodyInstr& instr, OpKind kind) {
  return instr.op == BodyOp::kPointwise && instr.pointwise == kind && instr.dtype == DType::kF32;
}

// All of f32; numbers of instructions.

// x, of 1 + erf(x).
std::optional<std::uint32_t> OnePlusErfOf(const Body& body, const BodyInstr& instr);

// x, of x / 2 * (1 + erf(x / sqrt(2))), its factors in any order.
std::optional<std::uint32_t> GeluOf(const Body& body, const BodyInstr& instr);

// x * y + z, with the signs.
struct MultiplyAdd {
  std::uint32_t x, y, z;
  bool negates_product;
  bool negates_z;
};
// Of a sum or a difference of a product and what is none. A product with a constant is not taken:
// it is rounded before the sum (NUMERICS.md).
std::optional<MultiplyAdd> MultiplyAddOf(const Body& body, const BodyInstr& instr);

}  // namespace stoker::codegen
