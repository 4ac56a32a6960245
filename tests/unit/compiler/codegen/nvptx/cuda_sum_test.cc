// The bound of sums in compiler/NUMERICS.md, on terms that a chain loses, as threads of a GPU add
// them up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"
#include "tests/unit/compiler/codegen/test_array.h"

namespace stoker {
namespace {

// In [-1, 1), with all the bits of an f32.
double Noise(std::int64_t i) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15 + 1;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9;
  return std::ldexp(static_cast<double>((x ^ (x >> 32)) >> 40), -23) - 1;
}

struct Terms {
  const char* name;
  std::function<double(std::int64_t i)> at;
};

const std::vector<Terms>& AllTerms() {
  static const std::vector<Terms> terms = {
      {"equal terms", [](std::int64_t) { return 0.1; }},
      {"noise far from zero", [](std::int64_t i) { return 1e4 + Noise(i); }},
      {"terms that are lost beside the first",
       [](std::int64_t i) { return i == 0 ? 1 : 0x1.8p-25; }},
      {"pairs that cancel but for their last bits",
       [](std::int64_t i) { return i % 2 == 0 ? Noise(i) : -Noise(i - 1) * (1 + 0x1p-20); }},
      {"terms of all scales",
       [](std::int64_t i) { return std::ldexp(Noise(i), static_cast<int>(i * 37 % 121) - 60); }},
  };
  return terms;
}

struct SumCase {
  const char* name;
  std::int64_t terms;
  std::int64_t sums;
  bool is_columns;  // The terms of a sum lie `sums` apart, not together.
  bool is_symbolic;
};

LoopFunc FuncOf(const SumCase& c) {
  LoopFunc func;
  const SymDim terms = c.is_symbolic ? SymDim::Symbol(0) : SymDim(c.terms);
  func.dims = {c.sums, terms};
  func.num_outer = 1;
  func.operands = {{DType::kF32, false, false}, {DType::kF32, true, false}};
  if (c.is_columns) {
    func.dims = {terms, c.sums};
    func.num_outer = 0;
  }
  const int over = c.is_columns ? 0 : 1;
  Stage sum;
  sum.loops = c.is_columns ? std::vector<int>{0, 1} : std::vector<int>{1};
  BodyBuilder s(sum.body);
  sum.reductions = {{0,
                     s.Load(At(0, DType::kF32, Affine({{0, func.dims[1]}, {1, 1}}))),
                     Combine::kAdd,
                     DType::kF32,
                     {over}}};
  Stage store;
  if (c.is_columns) store.loops = {1};
  BodyBuilder t(store.body);
  store.stores = {{t.Input(0, DType::kF32), At(1, DType::kF32, Affine({{1 - over, 1}}))}};
  func.stages = {sum, store};
  return func;
}

class CudaSumTest : public testing::TestWithParam<SumCase> {};

TEST_P(CudaSumTest, EverySchedule_KeepsTheBound) {
  const SumCase& c = GetParam();
  const Target target = Target::Parse("cuda/sm_90a").value();
  const auto n = static_cast<double>(c.terms);
  const double bound =
      std::min(2 * std::sqrt(n), 6 + std::max(30.0, 4 * std::sqrt(std::sqrt(n)))) * 0x1p-23;
  const auto candidates = Candidates(FuncOf(c), target).value();
  for (const ScheduledKernel& scheduled : candidates) {
    SCOPED_TRACE(ToString(scheduled));
    const auto kernel = EmulatedKernel::Make(scheduled, target).value();
    TestArray x(DType::kF32, c.terms * c.sums);
    TestArray sums(DType::kF32, c.sums);
    for (const Terms& terms : AllTerms()) {
      const auto place = [&](std::int64_t sum, std::int64_t i) {
        return c.is_columns ? i * c.sums + sum : sum * c.terms + i;
      };
      for (std::int64_t sum = 0; sum < c.sums; ++sum) {
        for (std::int64_t i = 0; i < c.terms; ++i) x.Set(place(sum, i), terms.at(i));
      }
      sums.Fill(-1);
      kernel->Run({x.data(), sums.data()}, {{0, c.terms}});
      for (std::int64_t sum = 0; sum < c.sums; ++sum) {
        long double exact = 0;
        long double sizes = 0;
        for (std::int64_t i = 0; i < c.terms; ++i) {
          exact += x.Get(place(sum, i));
          sizes += std::abs(x.Get(place(sum, i)));
        }
        const auto off = static_cast<double>(std::abs(sums.Get(sum) - exact));
        EXPECT_LE(off, bound * static_cast<double>(sizes)) << terms.name << ", sum " << sum;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaSumTest,
                         testing::Values(SumCase{"Short", 7, 3, false, false},
                                         SumCase{"Row", 300, 2, false, false},
                                         SumCase{"LongRow", 16384, 1, false, false},
                                         SumCase{"StreamedRow", 200000, 1, false, false},
                                         SumCase{"SymbolicRow", 50001, 1, false, true},
                                         SumCase{"Column", 300, 8, true, false},
                                         SumCase{"LongColumn", 20000, 4, true, false},
                                         SumCase{"SymbolicColumn", 5003, 5, true, true}),
                         [](const auto& info) { return info.param.name; });

// A column as PyTorch's reduction adds it up on a GPU: 16 threads, each with four sums of every
// fourth of its terms; these in turn, then the threads' as a tree.
float AsPyTorch(const std::function<float(std::int64_t)>& term, std::int64_t terms) {
  constexpr std::int64_t kThreads = 16;
  constexpr std::int64_t kSums = 4;
  float threads[kThreads];
  for (std::int64_t t = 0; t < kThreads; ++t) {
    float sums[kSums] = {};
    for (std::int64_t i = 0; t + i * kThreads < terms; ++i) {
      sums[i % kSums] += term(t + i * kThreads);
    }
    threads[t] = ((sums[0] + sums[1]) + sums[2]) + sums[3];
  }
  for (std::int64_t n = kThreads / 2; n > 0; n /= 2) {
    for (std::int64_t t = 0; t < n; ++t) threads[t] += threads[t + n];
  }
  return threads[0];
}

// The gradient of a bias is a sum over all rows of a batch: its terms have both signs, so that the
// bound says little of it.
TEST(CudaNoiseTest, ColumnsOfNoise_AreAsExactAsPyTorchs) {
  const SumCase c{"Noise", 4096, 64, true, false};
  const Target target = Target::Parse("cuda/sm_90a").value();
  const auto kernel =
      EmulatedKernel::Make(ScheduleKernel(FuncOf(c), target).value(), target).value();
  TestArray x(DType::kF32, c.terms * c.sums);
  TestArray sums(DType::kF32, c.sums);
  for (std::int64_t i = 0; i < c.terms * c.sums; ++i) x.Set(i, Noise(i));
  kernel->Run({x.data(), sums.data()}, {});
  double ours = 0;
  double theirs = 0;
  for (std::int64_t sum = 0; sum < c.sums; ++sum) {
    double exact = 0;
    for (std::int64_t i = 0; i < c.terms; ++i) exact += x.Get(i * c.sums + sum);
    const float other = AsPyTorch(
        [&](std::int64_t i) { return static_cast<float>(x.Get(i * c.sums + sum)); }, c.terms);
    ours += std::pow(sums.Get(sum) - exact, 2);
    theirs += std::pow(other - exact, 2);
  }
  std::printf("  off by %.2g, PyTorch's order by %.2g\n", std::sqrt(ours / 64),
              std::sqrt(theirs / 64));
  EXPECT_LE(std::sqrt(ours), 1.1 * std::sqrt(theirs));
}

}  // namespace
}  // namespace stoker
