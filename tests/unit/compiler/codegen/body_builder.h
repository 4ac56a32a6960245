// Short forms for bodies and index maps in tests.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker {

// offset + sum of coefficient * i_dim.
IndexMap Affine(std::initializer_list<std::pair<int, SymDim>> terms, SymDim offset = 0);
Access At(std::uint32_t operand, DType dtype, IndexMap index);

// Appends instructions to a body; each call gives the instruction's number.
class BodyBuilder {
 public:
  explicit BodyBuilder(Body& body) : body_(body) {}

  std::uint32_t Input(std::uint32_t id, DType dtype);
  std::uint32_t Constant(DType dtype, double value);
  std::uint32_t Index(int dim);
  std::uint32_t Load(Access access, std::vector<std::uint32_t> indirect = {});
  // Whether the last argument of a load is its predicate.
  void SetPredicated(std::uint32_t load, bool predicated);
  // The result has the dtype of the last argument, or bool where the operation says so.
  std::uint32_t Op(OpKind kind, std::vector<std::uint32_t> args);
  std::uint32_t Compare(CompareDirection direction, std::uint32_t x, std::uint32_t y);
  std::uint32_t Convert(DType to, std::uint32_t x, DType round_to = DType::kF32);

 private:
  std::uint32_t Append(BodyInstr instr);

  Body& body_;
};

}  // namespace stoker
