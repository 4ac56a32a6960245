// What the verifier of loop functions refuses, and by what name.
#include "compiler/ir/loop_func.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/compiler/codegen/sample_funcs.h"

namespace stoker {
namespace {

TEST(LoopFuncTest, Verify_Samples_AreValid) {
  for (const LoopFunc& func :
       {CopyFunc(3, 4, DType::kBF16), SoftmaxFunc(SymDim::Symbol(0), 4, DType::kF32),
        LayerNormFunc(3, 4, DType::kF32), ColumnSumFunc(3, 4, DType::kF64)}) {
    const Status status = Verify(func);
    EXPECT_TRUE(status.ok()) << status.error().message << "\n" << ToString(func);
  }
}

struct Damage {
  const char* name;
  std::function<void(LoopFunc&)> apply;  // To a softmax.
  const char* message;
};

class LoopFuncDamageTest : public testing::TestWithParam<Damage> {};

TEST_P(LoopFuncDamageTest, Verify_Damaged_SaysWhat) {
  LoopFunc func = SoftmaxFunc(3, 4, DType::kF32);
  GetParam().apply(func);
  const Status status = Verify(func);
  ASSERT_FALSE(status.ok()) << ToString(func);
  EXPECT_THAT(status.error().message, testing::HasSubstr(GetParam().message));
}

// Softmax: stage 0 reduces to 0; stage 1 is load, input, subtract, exponential with temporary 1 and
// reduction 2; stage 2 is input, input, divide and a store.
INSTANTIATE_TEST_SUITE_P(
    Damages, LoopFuncDamageTest,
    testing::Values(
        Damage{"OuterBeyondDims", [](LoopFunc& f) { f.num_outer = 3; }, "3 outer dims of 2"},
        Damage{"LoopOverOuterDim", [](LoopFunc& f) { f.stages[0].loops = {0}; },
               "stage 0: loop over dim 0"},
        Damage{"LoopTwice",
               [](LoopFunc& f) {
                 f.stages[0].loops = {1, 1};
               },
               "twice"},
        Damage{"AccessOutsideLoops",
               [](LoopFunc& f) {
                 f.stages[0].loops.clear();
                 f.stages[0].reductions.clear();
               },
               "dim 1 is not a loop of this stage"},
        Damage{"AccessToNoOperand",
               [](LoopFunc& f) { f.stages[0].body.instrs[0].access.operand = 9; },
               "operand 9 of 2"},
        Damage{"AccessAsOtherDType",
               [](LoopFunc& f) { f.stages[0].body.instrs[0].access.dtype = DType::kI32; },
               "operand 0 as i32"},
        Damage{"AccessOverNoDim",
               [](LoopFunc& f) { f.stages[0].body.instrs[0].access.index.terms[0].dim = 5; },
               "dim 5"},
        Damage{"DivisionByZero",
               [](LoopFunc& f) { f.stages[0].body.instrs[0].access.index.terms[0].divisor = 0; },
               "divides by less than 1"},
        Damage{"HalfInRegister",
               [](LoopFunc& f) { f.stages[0].body.instrs[0].dtype = DType::kBF16; },
               "16-bit floats in f32"},
        Damage{"ArgumentNotBefore", [](LoopFunc& f) { f.stages[1].body.instrs[2].args[0] = 3; },
               "%2: argument %3 is not defined before"},
        Damage{"InputUnknown", [](LoopFunc& f) { f.stages[1].body.instrs[1].input = 8; },
               "no input 8 here"},
        Damage{"InputOfOtherDType",
               [](LoopFunc& f) { f.stages[1].body.instrs[1].dtype = DType::kF64; },
               "input has dtype f32"},
        Damage{"TemporaryOutsideItsLoops",
               [](LoopFunc& f) {
                 f.stages[2].loops.clear();
                 f.stages[2].stores[0].access.index.terms.pop_back();
               },
               "no input 1 here"},
        Damage{"NotPointwise",
               [](LoopFunc& f) { f.stages[1].body.instrs[3].pointwise = OpKind::kReduce; },
               "reduce is not a pointwise"},
        Damage{"TooManyArguments",
               [](LoopFunc& f) {
                 f.stages[1].body.instrs[3].args = {0, 1};
               },
               "exponential has 2 arguments"},
        Damage{"ResultOfOtherDType",
               [](LoopFunc& f) { f.stages[1].body.instrs[3].pointwise = OpKind::kIsNan; },
               "is_nan has the wrong dtype"},
        Damage{"StoreToInput", [](LoopFunc& f) { f.stages[2].stores[0].access.operand = 0; },
               "not marked as written"},
        Damage{"StoreOfNoValue", [](LoopFunc& f) { f.stages[2].stores[0].value = 7; },
               "no such value"},
        Damage{"ReductionOverNoLoop", [](LoopFunc& f) { f.stages[1].reductions[0].over = {0}; },
               "over dim 0, not a loop"},
        Damage{"IdTwice", [](LoopFunc& f) { f.stages[1].reductions[0].id = 0; },
               "id 0 is defined twice"}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace stoker
