// Body: a straight line of scalar operations that a kernel evaluates at every iteration point (and
// code generation evaluates a vector of points at a time). Used by loop stages and by the epilogues
// of contractions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/access.h"
#include "protocol/graph/op_kind.h"

namespace stoker {

enum class BodyOp : std::uint8_t {
  kInput,      // A value from outside: see `input`.
  kConstant,   // `constant`, converted to dtype.
  kIndex,      // Iteration index of `dim`, i64.
  kSize,       // `size`, i64: not known before the launch.
  kLoad,       // access; args: the indirect indices (i64), then the predicate if has_predicate.
  kPointwise,  // `pointwise` applied to args, semantics of OPS.md.
};

enum class CompareDirection : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };

struct BodyInstr {
  BodyOp op = BodyOp::kConstant;
  DType dtype = DType::kF32;  // Of the result. f16/bf16 never occur: they are computed in f32.
  std::vector<std::uint32_t> args;  // Earlier instructions.

  OpKind pointwise = OpKind::kAdd;                     // kPointwise
  CompareDirection direction = CompareDirection::kEq;  // kPointwise compare
  std::string message;                                 // kPointwise require
  // kPointwise convert: kF16/kBF16 rounds to it, once. Functions of f32 that are computed in f64:
  // kF16/kBF16 is what the result is rounded to next, and it is right for that.
  DType round_to = DType::kF32;
  double constant = 0;            // kConstant, float dtypes
  std::int64_t int_constant = 0;  // kConstant, integer dtypes and bool
  int dim = 0;                    // kIndex
  SymDim size;                    // kSize
  Access access;                  // kLoad
  bool has_predicate = false;     // kLoad: reads only where the predicate (bool) is true, else 0.
  std::uint32_t input = 0;        // kInput
  friend bool operator==(const BodyInstr&, const BodyInstr&) = default;
};

struct Body {
  std::vector<BodyInstr> instrs;
};

// A value of a body written to memory, rounded to access.dtype.
struct Store {
  std::uint32_t value = 0;
  Access access;
};

std::string ToString(const Body& body);  // One instruction a line: "%3 = f32 add %1, %2".
std::string ToString(const Store& store);

}  // namespace stoker
