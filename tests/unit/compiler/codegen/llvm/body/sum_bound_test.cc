// The bounds of sums and scans in compiler/NUMERICS.md, on terms that a chain or a shortcut loses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"
#include "tests/unit/compiler/codegen/test_array.h"

namespace stoker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class SumBoundTest : public testing::TestWithParam<Target> {};

INSTANTIATE_TEST_SUITE_P(Targets, SumBoundTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

double SpacingOf(DType dtype) { return dtype == DType::kF64 ? 0x1p-52 : 0x1p-23; }

// In [-1, 1), with all the bits of an f32.
double Noise(std::int64_t i) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15 + 1;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 29)) * 0x94d049bb133111eb;
  return std::ldexp(static_cast<double>((x ^ (x >> 32)) >> 40), -23) - 1;
}

struct Terms {
  std::string name;
  std::function<double(std::int64_t i)> at;  // Term i of a sum.
};

std::vector<Terms> FiniteTerms() {
  return {
      {"ones", [](std::int64_t) { return 1; }},
      {"equal terms", [](std::int64_t) { return 0.1; }},
      {"terms that vary slowly",
       [](std::int64_t i) { return 0.7 + 0x1p-20 * static_cast<double>(i); }},
      {"noise", Noise},
      {"noise far from zero", [](std::int64_t i) { return 1e4 + Noise(i); }},
      {"terms that are lost beside the first",
       [](std::int64_t i) { return i == 0 ? 1 : 0x1.8p-25; }},
      {"terms that are lost beside one of them",
       [](std::int64_t i) { return i == 5 ? 0x1p20 : 0x1.8p-5; }},
      {"pairs that cancel but for their last bits",
       [](std::int64_t i) { return i % 2 == 0 ? Noise(i) : -Noise(i - 1) * (1 + 0x1p-20); }},
      {"terms of all scales",
       [](std::int64_t i) { return std::ldexp(Noise(i), static_cast<int>(i * 37 % 121) - 60); }},
      {"denormal numbers", [](std::int64_t i) { return 0x1p-130 * Noise(i); }},
  };
}

std::vector<Terms> SpecialTerms() {
  const auto with = [](std::string name, double first, double second) {
    return Terms{std::move(name), [=](std::int64_t i) {
                   return i == 3 ? first : i == 40 ? second : Noise(i);
                 }};
  };
  return {with("infinity", kInfinity, kInfinity), with("negative infinity", -kInfinity, 1),
          with("both infinities", kInfinity, -kInfinity), with("NaN", kNaN, 1),
          with("NaN and infinity", kInfinity, kNaN)};
}

// The sum over some dims of a row-major tensor.
struct SumCase {
  std::vector<std::int64_t> sizes;
  std::vector<std::size_t> over;
  DType dtype = DType::kF32;
  bool symbolic = false;

  bool Reduces(std::size_t dim) const {
    return std::find(over.begin(), over.end(), dim) != over.end();
  }
};

class SumOfCase {
 public:
  explicit SumOfCase(const SumCase& c)
      : case_(c), sum_type_(c.dtype == DType::kF64 ? DType::kF64 : DType::kF32) {
    std::int64_t stride = 1;
    std::vector<std::int64_t> strides(c.sizes.size());
    for (std::size_t dim = c.sizes.size(); dim-- > 0;) {
      strides[dim] = stride;
      stride *= c.sizes[dim];
    }
    for (const bool reduced : {false, true}) {
      for (std::size_t dim = 0; dim < c.sizes.size(); ++dim) {
        if (c.Reduces(dim) == reduced) dims_.push_back({c.sizes[dim], strides[dim]});
      }
    }
    num_kept_ = c.sizes.size() - c.over.size();
    x_ = std::make_unique<TestArray>(c.dtype, stride);
    sums_ = std::make_unique<TestArray>(sum_type_, Count(0, num_kept_));
  }

  LoopFunc Func() const {
    LoopFunc func;
    func.num_outer = static_cast<int>(num_kept_);
    func.operands = {{case_.dtype, false, false}, {sum_type_, true, false}};
    IndexMap x;
    IndexMap sums;
    SymDim stride = 1;
    Stage sum;
    Reduction reduction = {0, 0, ReduceKind::kAdd, sum_type_, {}};
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      const int dim = static_cast<int>(i);
      func.dims.push_back(case_.symbolic ? SymDim::Symbol(static_cast<std::uint32_t>(i))
                                         : SymDim(dims_[i].size));
      x.terms.push_back(Affine({{dim, dims_[i].stride}}).terms.front());
      if (i >= num_kept_) sum.loops.push_back(dim);
    }
    for (std::size_t i = num_kept_; i-- > 0;) {
      const IndexMap term = Affine({{static_cast<int>(i), stride}});
      sums.terms.insert(sums.terms.begin(), term.terms.front());
      stride = stride * SymDim(dims_[i].size);
    }
    reduction.over = sum.loops;
    reduction.value = BodyBuilder(sum.body).Load(At(0, case_.dtype, x));
    sum.reductions = {reduction};
    Stage store;
    store.stores = {{BodyBuilder(store.body).Input(0, sum_type_), At(1, sum_type_, sums)}};
    func.stages = {sum, store};
    return func;
  }

  void Check(const LoadedKernel& kernel, const Terms& terms) {
    const std::int64_t kept = Count(0, num_kept_);
    const std::int64_t count = Count(num_kept_, dims_.size());
    for (std::int64_t sum = 0; sum < kept; ++sum) {
      for (std::int64_t i = 0; i < count; ++i) x_->Set(Offset(sum, i), terms.at(i + sum % 3));
    }
    SymBindings symbols;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      symbols[static_cast<std::uint32_t>(i)] = dims_[i].size;
    }
    kernel.Run({x_->data(), sums_->data()}, symbols, 2);
    for (std::int64_t sum = 0; sum < kept; ++sum) {
      long double expected = 0;
      long double magnitude = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const double x = x_->Get(Offset(sum, i));
        expected += x;
        magnitude += std::abs(x);
      }
      const double found = sums_->Get(sum);
      if (!std::isfinite(static_cast<double>(expected))) {
        EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected)
            << terms.name << ": " << found << " in place of " << expected;
        continue;
      }
      const double error = static_cast<double>(std::abs(found - expected));
      const double bound = Multiple() * SpacingOf(sum_type_) * static_cast<double>(magnitude);
      ASSERT_LE(error, bound) << terms.name << ", sum " << sum << " of " << count << " terms";
    }
  }

 private:
  struct Dim {
    std::int64_t size;
    std::int64_t stride;
  };

  std::int64_t Count(std::size_t begin, std::size_t end) const {
    std::int64_t count = 1;
    for (std::size_t i = begin; i < end; ++i) count *= dims_[i].size;
    return count;
  }

  std::int64_t Offset(std::int64_t sum, std::int64_t term) const {
    std::int64_t offset = 0;
    for (std::size_t i = dims_.size(); i-- > 0;) {
      std::int64_t& flat = i >= num_kept_ ? term : sum;
      offset += flat % dims_[i].size * dims_[i].stride;
      flat /= dims_[i].size;
    }
    return offset;
  }

  // What NUMERICS.md allows, of a spacing and the sum of magnitudes.
  double Multiple() const {
    double of_dims = 6;
    for (std::size_t i = num_kept_; i < dims_.size(); ++i) {
      of_dims += std::max(30.0, 4 * std::pow(static_cast<double>(dims_[i].size), 0.25));
    }
    const auto count = static_cast<double>(Count(num_kept_, dims_.size()));
    return std::min(2 * std::sqrt(count), of_dims);
  }

  SumCase case_;
  DType sum_type_;
  std::vector<Dim> dims_;  // The kept ones, then the reduced ones.
  std::size_t num_kept_ = 0;
  std::unique_ptr<TestArray> x_;
  std::unique_ptr<TestArray> sums_;
};

void Check(const SumCase& c, const Target& target, const std::vector<Terms>& all) {
  SumOfCase sum(c);
  const LoopFunc func = sum.Func();
  const auto kernel = LoadedKernel::Make(func, target);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message << "\n" << ToString(func);
  if (!(*kernel)->Runs()) return;
  for (const Terms& terms : all) {
    SCOPED_TRACE(ToString(func));
    sum.Check(**kernel, terms);
  }
}

// Around the lanes, the vectors and the runs of a loop; over rows, columns, both, several dims.
std::vector<SumCase> Cases() {
  std::vector<SumCase> cases;
  for (const std::int64_t n : {1, 15, 17, 33, 50, 64, 257, 1030, 5003, 70001}) {
    cases.push_back({{3, n}, {1}});
    cases.push_back({{n, 1}, {0}});
    cases.push_back({{n, 3}, {0}});
    if (n < 5000) cases.push_back({{n, 37}, {0}});
  }
  for (const std::int64_t n : {3, 16, 40, 700}) {
    cases.push_back({{n, 5, 300}, {0, 2}});
    cases.push_back({{2, n, 20}, {1, 2}});
    cases.push_back({{n, 4, 9, 17}, {0, 2}});
    cases.push_back({{3, n, 1100}, {1, 2}});
  }
  return cases;
}

TEST_P(SumBoundTest, Sum_FiniteTerms_EveryElementIsWithinItsBound) {
  for (SumCase c : Cases()) {
    for (const bool symbolic : {false, true}) {
      c.symbolic = symbolic;
      Check(c, GetParam(), FiniteTerms());
    }
  }
}

TEST_P(SumBoundTest, SumOfOtherFloats_FiniteTerms_EveryElementIsWithinItsBound) {
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    for (SumCase c :
         {SumCase{{3, 5003}, {1}}, SumCase{{5003, 3}, {0}}, SumCase{{40, 5, 300}, {0, 2}}}) {
      c.dtype = dtype;
      std::vector<Terms> terms = FiniteTerms();
      if (dtype == DType::kF16)
        std::erase_if(terms, [](const Terms& t) { return t.at(5) > 65504; });
      Check(c, GetParam(), terms);
    }
  }
}

TEST_P(SumBoundTest, LongSum_FiniteTerms_EveryElementIsWithinItsBound) {
  for (const bool symbolic : {false, true}) {
    SumCase c{{1'000'000, 2}, {0}};
    c.symbolic = symbolic;
    Check(c, GetParam(), FiniteTerms());
    c.sizes = {2, 3'000'000};
    c.over = {1};
    Check(c, GetParam(), {FiniteTerms()[1], FiniteTerms()[4]});
  }
}

TEST_P(SumBoundTest, Sum_SpecialTerms_AreAsInIeee) {
  for (SumCase c : {SumCase{{3, 50}, {1}}, SumCase{{3, 1030}, {1}}, SumCase{{50, 37}, {0}},
                    SumCase{{700, 3}, {0}}, SumCase{{40, 2, 30}, {0, 2}}}) {
    for (const bool symbolic : {false, true}) {
      c.symbolic = symbolic;
      Check(c, GetParam(), SpecialTerms());
    }
  }
}

// ---- Scans

// Runs a scan of [rows, extent], or of [extent, rows] along the columns.
class ScanRun {
 public:
  ScanRun(ReduceKind kind, DType dtype, std::int64_t extent, bool columns)
      : extent_(extent), columns_(columns), x_(dtype, kRows * extent), y_(dtype, kRows * extent) {
    func_.outer = {kRows};
    func_.extent = extent;
    func_.kind = kind;
    func_.dtype = ScanType(kind, dtype);
    const IndexMap index = columns ? Affine({{0, 1}, {1, kRows}}) : Affine({{0, extent}, {1, 1}});
    func_.input = At(0, dtype, index);
    func_.output = At(1, dtype, index);
  }

  // check(found, chain in f64, sum of magnitudes, number) for each element of a row of such terms.
  void Check(const Target& target, const Terms& terms,
             const std::function<void(double, double, double, double)>& check) {
    const auto kernel = LoadedKernel::Make(func_, target);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    if (!(*kernel)->Runs()) return;
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t i = 0; i < extent_; ++i) x_.Set(PlaceOf(row, i), terms.at(i + row));
    }
    (*kernel)->Run({x_.data(), y_.data()});
    for (std::int64_t row = 0; row < kRows; ++row) {
      const bool multiplies = func_.kind == ReduceKind::kMultiply;
      double chain = multiplies ? 1 : 0;
      double magnitude = 0;
      for (std::int64_t i = 0; i < extent_; ++i) {
        const double x = x_.Get(PlaceOf(row, i));
        chain = multiplies ? chain * x : chain + x;
        magnitude += std::abs(x);
        SCOPED_TRACE(terms.name + ", element " + std::to_string(i));
        check(y_.Get(PlaceOf(row, i)), chain, magnitude, static_cast<double>(i + 1));
        if (testing::Test::HasFailure()) return;
      }
    }
  }

 private:
  static constexpr std::int64_t kRows = 5;

  std::int64_t PlaceOf(std::int64_t row, std::int64_t i) const {
    return columns_ ? i * kRows + row : row * extent_ + i;
  }

  std::int64_t extent_;
  bool columns_;
  TestArray x_;
  TestArray y_;
  ScanFunc func_;
};

TEST_P(SumBoundTest, ScanOfSums_AnyTerms_EveryElementIsWithinItsBound) {
  std::vector<Terms> all = FiniteTerms();
  for (Terms& terms : SpecialTerms()) all.push_back(std::move(terms));
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const bool columns : {false, true}) {
      ScanRun scan(ReduceKind::kAdd, dtype, 4099, columns);
      for (const Terms& terms : all) {
        scan.Check(GetParam(), terms,
                   [&](double found, double chain, double magnitude, double number) {
                     if (!std::isfinite(chain)) {
                       EXPECT_TRUE(std::isnan(chain) ? std::isnan(found) : found == chain);
                       return;
                     }
                     // The chain errs as well.
                     double bound = number * 0x1p-52 * magnitude;
                     if (dtype == DType::kF32) bound += 0x1p-24 * std::abs(chain) + 0x1p-150;
                     EXPECT_LE(std::abs(found - chain), bound);
                   });
      }
    }
  }
}

// What a chain in f64 gives, also where some of its factors overflow or vanish by themselves.
TEST_P(SumBoundTest, ScanOfProducts_FactorsBeyondTheRange_AreThoseOfOneChain) {
  const std::vector<Terms> all = {
      {"near one", [](std::int64_t i) { return 1 + 0x1p-6 * Noise(i); }},
      {"small, then large", [](std::int64_t i) { return i % 40 < 20 ? 1e-30 : 1e30; }},
      {"large, then small", [](std::int64_t i) { return i % 40 < 20 ? 1e30 : 1e-30; }},
      {"in turn", [](std::int64_t i) { return i % 2 == 0 ? 1e38 : 1e-38; }},
      {"a zero", [](std::int64_t i) { return i == 21 ? 0 : 1e30; }},
      {"a zero behind an overflow", [](std::int64_t i) { return i == 70 ? 0 : 1e30; }},
      {"an infinity", [](std::int64_t i) { return i == 21 ? kInfinity : 0.5; }},
      {"an infinity behind a zero",
       [](std::int64_t i) { return i == 21   ? 0
                                   : i == 60 ? kInfinity
                                             : 2; }},
      {"NaN", [](std::int64_t i) { return i == 33 ? kNaN : 1.5; }},
      {"vanishing", [](std::int64_t i) { return 0.25 + 0x1p-3 * Noise(i); }},
  };
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const bool columns : {false, true}) {
      ScanRun scan(ReduceKind::kMultiply, dtype, 700, columns);
      for (const Terms& terms : all) {
        scan.Check(GetParam(), terms, [&](double found, double chain, double, double number) {
          const bool single = dtype == DType::kF32;
          const double expected = single ? static_cast<double>(static_cast<float>(chain)) : chain;
          if (!std::isfinite(expected)) {
            EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected)
                << found << " in place of " << expected;
            return;
          }
          const double relative = number * 0x1p-52 + (single ? 0x1p-23 : 0);
          const double least = single ? 0x1p-149 : 0x1p-1074 * number;
          EXPECT_LE(std::abs(found - expected), relative * std::abs(expected) + least);
        });
      }
    }
  }
}

}  // namespace
}  // namespace stoker
