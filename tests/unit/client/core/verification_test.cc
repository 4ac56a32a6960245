#include "client/core/execution/verification.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stoker {
namespace {

InterpreterTensor Floats(DType dtype, std::vector<double> elements) {
  const auto size = static_cast<std::int64_t>(elements.size());
  return {dtype, {size}, std::move(elements)};
}

struct Row {
  std::string name;
  DType dtype;
  std::vector<double> actual, expected;
  std::string error;  // Empty: it passes.
};

class VerifyOutputRow : public testing::TestWithParam<Row> {};

TEST_P(VerifyOutputRow, PassesOrSaysWhatIsWrong) {
  const Row& row = GetParam();
  const Status status =
      VerifyOutput(1, Floats(row.dtype, row.actual), Floats(row.dtype, row.expected));
  EXPECT_EQ(status.ok() ? "" : status.error().message, row.error);
}

constexpr double kNaN = NAN;

INSTANTIATE_TEST_SUITE_P(
    Table, VerifyOutputRow,
    testing::Values(
        Row{"Equal", DType::kF32, {1, -2, 0}, {1, -2, 0}, ""},
        Row{"Nothing", DType::kF32, {}, {}, ""},
        Row{"Rounded", DType::kF32, {1.00001, 2}, {1, 2}, ""},
        Row{"RoundedF64",
            DType::kF64,
            {1.0000001, 2},
            {1, 2},
            "Output 1 element [0] is 1, and the interpreter's 1: the output is off by 4.47214e-08 "
            "of its length, more than 1e-10."},
        Row{"RoundedBF16", DType::kBF16, {1.03125, 2}, {1, 2}, ""},
        Row{"Wrong",
            DType::kF32,
            {1, 3},
            {1, 2},
            "Output 1 element [1] is 3, and the interpreter's 2: the output is off by 0.447214 of "
            "its length, more than 0.0001."},
        Row{"NaNForANumber",
            DType::kF32,
            {1, kNaN},
            {1, 2},
            "Output 1 element [1] is nan, and the interpreter's 2: the output is off by inf of its "
            "length, more than 0.0001."},
        Row{"NaNForNaN", DType::kF32, {1, kNaN}, {1, kNaN}, ""},
        Row{"BeyondF32", DType::kF32, {INFINITY}, {1e39}, ""},
        Row{"NotZero",
            DType::kF32,
            {1e-3},
            {0},
            "Output 1 element [0] is 0.001, and the interpreter's 0: the output is off by inf of "
            "its length, more than 0.0001."},
        Row{"FlushedToZero", DType::kF32, {0}, {1e-39}, ""}),
    [](const auto& row) { return row.param.name; });

TEST(VerifyOutput, Numerics_AllowMoreInF32) {
  const InterpreterTensor expected = Floats(DType::kF32, {1, 2});
  const auto passes = [&](double off, Numerics numerics) {
    return VerifyOutput(0, Floats(DType::kF32, {1 + off, 2}), expected, numerics).ok();
  };
  EXPECT_FALSE(passes(1e-3, Numerics::kHighest));
  EXPECT_TRUE(passes(1e-3, Numerics::kHigh));
  EXPECT_FALSE(passes(1e-2, Numerics::kHigh));
  EXPECT_TRUE(passes(1e-2, Numerics::kMedium));
  EXPECT_FALSE(passes(0.2, Numerics::kMedium));
}

TEST(VerifyOutput, OneElementOfMany_IsSeen) {
  std::vector<double> expected(1000000, 1);
  std::vector<double> actual = expected;
  actual[123456] = 1.02;
  InterpreterTensor a{DType::kF32, {1000, 1000}, actual};
  InterpreterTensor e{DType::kF32, {1000, 1000}, expected};
  EXPECT_EQ(VerifyOutput(0, a, e).error().message,
            "Output 0 element [123,456] is 1.02, and the interpreter's 1: it is off by 0.01 of its "
            "size and the mean, more than 0.0032.");
}

TEST(VerifyOutput, Integers_MustBeEqual) {
  const std::int64_t large = std::int64_t{1} << 60;
  const InterpreterTensor expected{DType::kI64, {2}, std::vector<std::int64_t>{7, large}};
  EXPECT_TRUE(VerifyOutput(0, expected, expected).ok());
  const InterpreterTensor actual{DType::kI64, {2}, std::vector<std::int64_t>{7, large + 1}};
  EXPECT_EQ(VerifyOutput(0, actual, expected).error().message,
            "Output 0 element [1] is 1152921504606846977, and the interpreter's "
            "1152921504606846976: integers must be equal.");
}

}  // namespace
}  // namespace stoker
