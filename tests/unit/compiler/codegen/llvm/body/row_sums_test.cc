#include "compiler/codegen/llvm/body/row_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker::codegen {
namespace {

BodyInstr Input(std::uint32_t id) {
  BodyInstr instr;
  instr.op = BodyOp::kInput;
  instr.input = id;
  return instr;
}

BodyInstr Pointwise(OpKind kind, std::vector<std::uint32_t> args) {
  BodyInstr instr;
  instr.op = BodyOp::kPointwise;
  instr.pointwise = kind;
  instr.args = std::move(args);
  return instr;
}

TEST(RowSums, SumsAndWhatIsMadeOfThem_NothingElse) {
  LoopFunc func;
  Stage& first = func.stages.emplace_back();
  first.body.instrs.emplace_back();
  first.reductions = {{0, 0, Combine::kMaximum, DType::kF32, {1}, false},
                      {1, 0, Combine::kAdd, DType::kF32, {1}, false},
                      {2, 0, Combine::kMultiply, DType::kF32, {1}, false},
                      {3, 0, Combine::kMaximum, DType::kF32, {1}, true}};
  Stage& second = func.stages.emplace_back();
  second.body.instrs = {Input(0), Input(1), Pointwise(OpKind::kSqrt, {0}),
                        Pointwise(OpKind::kMaximum, {0, 1}), Pointwise(OpKind::kNegate, {3})};
  second.temporaries = {{4, 2, DType::kF32}, {5, 4, DType::kF32}};
  EXPECT_THAT(RowSums(func).sums, testing::ElementsAre(1, 5));
}

TEST(RowSums, ExponentialsAndWhatIsMasked_NothingElse) {
  LoopFunc func;
  Stage& stage = func.stages.emplace_back();
  stage.body.instrs = {Input(9),
                       Pointwise(OpKind::kExponential, {0}),
                       BodyInstr(),
                       Pointwise(OpKind::kSelect, {0, 1, 2}),
                       Pointwise(OpKind::kSelect, {0, 1, 0}),
                       Pointwise(OpKind::kMultiply, {1, 1})};
  for (std::uint32_t id = 0; id < 6; ++id) stage.temporaries.push_back({id, id, DType::kF32});
  EXPECT_THAT(RowSums(func).exponentials, testing::ElementsAre(1, 3));
}

}  // namespace
}  // namespace stoker::codegen
