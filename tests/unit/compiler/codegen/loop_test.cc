// Loop kernels: shapes, tails, strides, reductions, chained stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"

namespace stoker {
namespace {

// out = softmax of the rows of x.
LoopFunc Softmax(SymDim rows, SymDim columns) {
  LoopFunc func;
  func.dims = {rows, columns};
  func.num_outer = 1;
  func.operands = {{DType::kF32, false, false}, {DType::kF32, true, false}};
  const IndexMap index = Affine({{0, columns}, {1, 1}});
  Stage max;
  max.loops = {1};
  BodyBuilder m(max.body);
  const std::uint32_t x0 = m.Load(At(0, DType::kF32, index));
  max.reductions = {{0, x0, ReduceKind::kMaximum, DType::kF32, {1}}};
  Stage sum;
  sum.loops = {1};
  BodyBuilder s(sum.body);
  const std::uint32_t x1 = s.Load(At(0, DType::kF32, index));
  const std::uint32_t shifted = s.Op(OpKind::kSubtract, {x1, s.Input(0, DType::kF32)});
  const std::uint32_t e = s.Op(OpKind::kExponential, {shifted});
  sum.temporaries = {{1, e, DType::kF32}};
  sum.reductions = {{2, e, ReduceKind::kAdd, DType::kF32, {1}}};
  Stage divide;
  divide.loops = {1};
  BodyBuilder d(divide.body);
  const std::uint32_t t = d.Input(1, DType::kF32);
  const std::uint32_t q = d.Op(OpKind::kDivide, {t, d.Input(2, DType::kF32)});
  divide.stores = {{q, At(1, DType::kF32, index)}};
  func.stages = {max, sum, divide};
  return func;
}

class LoopTest : public testing::TestWithParam<Target> {
 protected:
  static std::vector<float> Random(std::size_t count) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-4, 4);
    std::vector<float> values(count);
    for (float& value : values) value = uniform(random);
    return values;
  }
};

TEST_P(LoopTest, Softmax_EveryTail_MatchesDouble) {
  for (const bool symbolic : {false, true}) {
    for (std::int64_t columns = 1; columns <= 140; columns += columns < 70 ? 1 : 23) {
      const std::int64_t rows = 3;
      const LoopFunc func =
          symbolic ? Softmax(SymDim::Symbol(0), SymDim::Symbol(1)) : Softmax(rows, columns);
      auto kernel = LoadedKernel::Make(func, GetParam());
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      const auto size = static_cast<std::size_t>(rows * columns);
      const std::vector<float> in = Random(size);
      GuardedBuffer x(size * 4);
      GuardedBuffer y(size * 4);
      std::memcpy(x.data(), in.data(), size * 4);
      (*kernel)->Run({x.data(), y.data()}, {{0, rows}, {1, columns}}, 2);
      const float* out = static_cast<const float*>(y.data());
      for (std::size_t r = 0; r < 3; ++r) {
        double sum = 0;
        const auto n = static_cast<std::size_t>(columns);
        for (std::size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(in[r * n + i]));
        for (std::size_t i = 0; i < n; ++i) {
          const double expected = std::exp(static_cast<double>(in[r * n + i])) / sum;
          ASSERT_NEAR(static_cast<double>(out[r * n + i]), expected, 2e-6 * expected)
              << columns << " columns, element " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LoopTest, testing::ValuesIn(RunnableTargets()),
                         [](const auto& param) { return TestNameOf(param.param); });

}  // namespace
}  // namespace stoker
