#include "compiler/codegen/llvm/body/row_formulas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "compiler/codegen/nvptx/hidden_errors.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/nvptx/thread_emulation.h"
#include "tests/unit/compiler/codegen/test_array.h"

namespace stoker {
namespace {

constexpr std::int64_t kSize = 64;  // Of a row.
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// softmax(x * scale).
LoopFunc SoftmaxOf(std::int64_t rows, DType dtype, double scale, DType to = DType::kBF16) {
  LoopFunc func;
  func.dims = {rows, kSize};
  func.num_outer = 1;
  func.operands = {{dtype, false, false}, {to, true, false}};
  const IndexMap at = Affine({{0, kSize}, {1, 1}});
  Stage most, sum, share;
  most.loops = sum.loops = share.loops = {1};
  BodyBuilder m(most.body);
  const std::uint32_t x =
      m.Op(OpKind::kMultiply, {m.Load(At(0, dtype, at)), m.Constant(DType::kF32, scale)});
  most.temporaries = {{0, x, DType::kF32}};
  most.reductions = {{1, x, Combine::kMaximum, DType::kF32, {1}}};
  BodyBuilder s(sum.body);
  const std::uint32_t below =
      s.Op(OpKind::kSubtract, {s.Input(0, DType::kF32), s.Input(1, DType::kF32)});
  const std::uint32_t e = s.Op(OpKind::kExponential, {below});
  sum.temporaries = {{2, e, DType::kF32}};
  sum.reductions = {{3, e, Combine::kAdd, DType::kF32, {1}}};
  BodyBuilder q(share.body);
  share.stores = {
      {q.Op(OpKind::kDivide, {q.Input(2, DType::kF32), q.Input(3, DType::kF32)}), At(1, to, at)}};
  func.stages = {most, sum, share};
  return func;
}

codegen::RowFormulas FormulasOf(const LoopFunc& func) {
  const codegen::HiddenErrors hidden(func);
  return {func,
          [&](const Stage& stage, std::uint32_t instr) { return bool{hidden.Of(stage)[instr]}; }};
}

std::optional<codegen::RowFormulas::Exponential> FoundIn(const LoopFunc& func) {
  return FormulasOf(func).ExponentialOf(func.stages[1].body.instrs[3]);
}

TEST(RowFormulas, Softmax_IsFound_WithItsScale) {
  const LoopFunc func = SoftmaxOf(2, DType::kBF16, 0.5);
  const auto found = FoundIn(func);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scale, 0.5);
  EXPECT_TRUE(found->is_16_bit);
  const codegen::RowFormulas formulas = FormulasOf(func);
  EXPECT_EQ(formulas.ValueOf(0, 2), 0U);
  EXPECT_EQ(formulas.ValueOf(1, 2), 0U);
  EXPECT_EQ(formulas.ValueOf(2, 3), 3U);
  EXPECT_TRUE(formulas.IsShare(func.stages[2].body, func.stages[2].body.instrs[2]));
  EXPECT_FALSE(FoundIn(SoftmaxOf(2, DType::kF32, 0.5))->is_16_bit);
  EXPECT_EQ(FoundIn(SoftmaxOf(2, DType::kBF16, -0.5))->scale, 1);
  EXPECT_EQ(FoundIn(SoftmaxOf(2, DType::kBF16, 2))->scale, 1);
  const LoopFunc single = SoftmaxOf(2, DType::kBF16, 0.5, DType::kF32);
  EXPECT_FALSE(FoundIn(single));
  EXPECT_EQ(FormulasOf(single).ValueOf(0, 2), 2U);
}

TEST(RowFormulas, WhatShowsMoreThanShares_IsNotFound) {
  const std::function<void(LoopFunc&)> changes[] = {
      // The sum, an exponential and what is made of them go elsewhere.
      [](LoopFunc& f) {
        f.stages[2].stores.push_back({1, f.stages[2].stores[0].access});
      },
      [](LoopFunc& f) { f.stages[2].stores[0].value = 0; },
      [](LoopFunc& f) {
        f.stages[1].stores = {{3, f.stages[2].stores[0].access}};
      },
      [](LoopFunc& f) { BodyBuilder(f.stages[2].body).Op(OpKind::kLog, {1}); },
      // It is no sum, or not less the largest.
      [](LoopFunc& f) { f.stages[1].reductions[0].kind = Combine::kMaximum; },
      [](LoopFunc& f) { f.stages[0].reductions[0].kind = Combine::kMinimum; },
      [](LoopFunc& f) { f.stages[0].reductions[0].value = 0; },
      [](LoopFunc& f) {
        f.stages[2].body.instrs[2].args = {1, 0};
      },
  };
  for (const auto& change : changes) {
    LoopFunc func = SoftmaxOf(2, DType::kBF16, 0.5);
    change(func);
    EXPECT_FALSE(FoundIn(func)) << ToString(func);
  }
}

TEST(RowFormulas, ScaledRowsThatOthersRead_KeepTheirScale) {
  LoopFunc func = SoftmaxOf(2, DType::kBF16, 0.5);
  BodyBuilder(func.stages[2].body).Input(1, DType::kF32);
  ASSERT_TRUE(FoundIn(func));
  EXPECT_EQ(FoundIn(func)->scale, 1);
}

// d = x - sum(x) / 64, and (d - sum(d) / 64) / sqrt(v), `kind` and `over` in place of the second
// sum and 1 / 64, `first` of the first sum.
LoopFunc NormalizedBy(Combine kind, double over, OpKind root, Combine first = Combine::kAdd) {
  LoopFunc func;
  func.dims = {2, kSize};
  func.num_outer = 1;
  func.operands = {{DType::kF32, false, false}, {DType::kF32, true, false}};
  const IndexMap at = Affine({{0, kSize}, {1, 1}});
  Stage sum, differences, result;
  sum.loops = differences.loops = result.loops = {1};
  const auto less_its_mean = [](BodyBuilder& body, std::uint32_t x, double of) {
    const std::uint32_t mean = body.Op(
        OpKind::kMultiply, {body.Input(x + 1, DType::kF32), body.Constant(DType::kF32, of)});
    return body.Op(OpKind::kSubtract, {body.Input(x, DType::kF32), mean});
  };
  BodyBuilder s(sum.body);
  const std::uint32_t x = s.Load(At(0, DType::kF32, at));
  sum.temporaries = {{0, x, DType::kF32}};
  sum.reductions = {{1, x, first, DType::kF32, {1}}};
  BodyBuilder d(differences.body);
  const std::uint32_t difference = less_its_mean(d, 0, 0x1p-6);
  differences.temporaries = {{2, difference, DType::kF32}};
  differences.reductions = {{3, difference, kind, DType::kF32, {1}}};
  BodyBuilder r(result.body);
  const std::uint32_t twice = less_its_mean(r, 2, over);
  const std::uint32_t scale = r.Op(root, {r.Constant(DType::kF32, 2)});
  result.stores = {{r.Op(OpKind::kMultiply, {twice, scale}), At(1, DType::kF32, at)}};
  func.stages = {sum, differences, result};
  return func;
}

TEST(RowFormulas, NormalizedRows_AreDifferencesLessTheirMean) {
  const auto found = [](const LoopFunc& func) {
    const Body& body = func.stages.back().body;
    return FormulasOf(func).NormalizedOf(body, body.instrs.back()).has_value();
  };
  EXPECT_TRUE(found(NormalizedBy(Combine::kAdd, 0x1p-6, OpKind::kRsqrt)));
  EXPECT_FALSE(found(NormalizedBy(Combine::kAdd, 0x1p-5, OpKind::kRsqrt)));
  EXPECT_FALSE(found(NormalizedBy(Combine::kMaximum, 0x1p-6, OpKind::kRsqrt)));
  EXPECT_FALSE(found(NormalizedBy(Combine::kAdd, 0x1p-6, OpKind::kSqrt)));
  // What is no difference from a mean may be as near to it as numbers are to each other.
  EXPECT_FALSE(found(NormalizedBy(Combine::kAdd, 0x1p-6, OpKind::kRsqrt, Combine::kMaximum)));
}

// ---- Results

struct Row {
  const char* name;
  std::function<double(std::int64_t i)> at;
};

double Noise(std::int64_t i) { return std::sin(static_cast<double>(i * i)); }

const Row kRows[] = {
    {"noise", [](std::int64_t i) { return 3 * Noise(i); }},
    {"noise far from zero", [](std::int64_t i) { return 1e4 + 200 * Noise(i); }},
    {"a wide row", [](std::int64_t i) { return 90 * Noise(i); }},
    {"large numbers", [](std::int64_t i) { return -1e9 - static_cast<double>(i % 3) * 4e6; }},
    {"larger ones", [](std::int64_t i) { return 0x1p30 * (1 + static_cast<double>(i % 4) / 128); }},
    {"equal largest numbers", [](std::int64_t) { return 0x1.fep127; }},
    {"the largest of both signs", [](std::int64_t i) { return i % 2 ? 0x1.fep127 : -0x1.fep127; }},
    {"equal lowest numbers", [](std::int64_t) { return -0x1.fep127; }},
    {"infinities below", [](std::int64_t i) { return i % 5 ? Noise(i) : -kInfinity; }},
    {"nothing but infinities", [](std::int64_t) { return -kInfinity; }},
    {"an infinity above", [](std::int64_t i) { return i == 9 ? kInfinity : Noise(i); }},
    {"no number", [](std::int64_t i) { return i == 9 ? std::nan("") : Noise(i); }},
    {"subnormal numbers", [](std::int64_t i) { return static_cast<double>(i) * 0x1p-133; }},
};

// As f32 has the differences.
std::vector<double> SharesOf(const std::vector<float>& x) {
  float most = -std::numeric_limits<float>::infinity();
  for (const float each : x) most = std::isnan(each) || each > most ? each : most;
  std::vector<double> shares;
  double sum = 0;
  for (const float each : x) sum += shares.emplace_back(std::exp(double{each - most}));
  for (double& share : shares) share /= sum;
  return shares;
}

// By what part of itself, of shares that are no less than 2^-126, a result may be off.
double PartOf(DType to) { return to == DType::kF32 ? 0x1p-16 : 0x1.02p-8; }

void CheckShares(DType dtype, double scale, DType to) {
  const Target target = Target::Parse("cuda/sm_90a").value();
  const auto rows = static_cast<std::int64_t>(std::size(kRows));
  const LoopFunc func = SoftmaxOf(rows, dtype, scale, to);
  TestArray x(dtype, rows * kSize), y(to, rows * kSize);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.Set(i, kRows[i / kSize].at(i % kSize));
  const auto kernel = EmulatedKernel::Make(Candidates(func, target)->front(), target).value();
  kernel->Run({x.data(), y.data()});
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<float> scaled;
    for (std::int64_t i = 0; i < kSize; ++i) {
      scaled.push_back(static_cast<float>(x.Get(row * kSize + i)) * static_cast<float>(scale));
    }
    const std::vector<double> exact = SharesOf(scaled);
    for (std::int64_t i = 0; i < kSize; ++i) {
      const double share = exact[static_cast<std::size_t>(i)];
      const double actual = y.Get(row * kSize + i);
      EXPECT_EQ(std::isnan(actual), std::isnan(share)) << kRows[row].name << " " << scale;
      EXPECT_FALSE(std::fabs(actual - share) > share * PartOf(to) + 0x1p-126)
          << Name(dtype) << ", " << kRows[row].name << " times " << scale << ": " << actual
          << " for " << share;
    }
  }
}

TEST(RowFormulas, Shares_AreThoseOfF32_RoundedOnce) {
  for (const DType dtype : {DType::kBF16, DType::kF32, DType::kF16}) {
    for (const double scale : {1.0, 0.5, 0.3, 0.125, 0x1p-70, 2.0}) {
      CheckShares(dtype, scale, DType::kBF16);
    }
    CheckShares(dtype, 0.3, DType::kF32);
  }
}

}  // namespace
}  // namespace stoker
