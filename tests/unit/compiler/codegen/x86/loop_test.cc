// Loop kernels: shapes, tails, strides, reductions, chained stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"
#include "tests/unit/compiler/codegen/sample_funcs.h"

namespace stoker {
namespace {

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
      const LoopFunc func = symbolic
                                ? SoftmaxFunc(SymDim::Symbol(0), SymDim::Symbol(1), DType::kF32)
                                : SoftmaxFunc(rows, columns, DType::kF32);
      auto kernel = LoadedKernel::Make(func, GetParam());
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      if (!(*kernel)->Runs()) continue;
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

INSTANTIATE_TEST_SUITE_P(Targets, LoopTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

}  // namespace
}  // namespace stoker
