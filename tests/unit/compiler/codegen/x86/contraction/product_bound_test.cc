// The bound of products in compiler/NUMERICS.md, on elements that break shortcuts: formats that
// share a scale, sums that lose what is small, parts that overflow or underflow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/machine/machine.h"
#include "tests/unit/compiler/codegen/x86/contraction/contraction_case.h"

namespace stoker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ProductBoundTest : public testing::TestWithParam<Target> {};

INSTANTIATE_TEST_SUITE_P(Targets, ProductBoundTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

std::uint64_t Mixed(std::int64_t i, std::int64_t j, std::uint64_t seed) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15 +
                    static_cast<std::uint64_t>(j) * 0xc2b2ae3d27d4eb4f + seed;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 29)) * 0x94d049bb133111eb;
  return x ^ (x >> 32);
}

// In [-1, 1), with all the bits of an f32.
double Of(std::int64_t i, std::int64_t j, std::uint64_t seed) {
  return std::ldexp(static_cast<double>(Mixed(i, j, seed) >> 40), -23) - 1;
}
double Lhs(std::int64_t row, std::int64_t channel) { return Of(row, channel, 1); }
double Rhs(std::int64_t channel, std::int64_t column) { return Of(channel, column, 2); }

// A power of each channel, or of a row or column, from -most to most.
int PowerOf(std::int64_t channel, int most) {
  return static_cast<int>(Mixed(channel, 0, 3) % static_cast<std::uint64_t>(2 * most + 1)) - most;
}

// One channel is `scale` times the others; weights of every other column are zero there.
Terms Outlier(const std::string& name, double scale) {
  return {name,
          [=](std::int64_t row, std::int64_t channel) {
            return Lhs(row, channel) * (channel == 5 ? scale : 1);
          },
          [](std::int64_t channel, std::int64_t column) {
            return channel == 5 && column % 2 == 0 ? 0 : Rhs(channel, column);
          }};
}

// Rows and columns, or channels against each other, differ by powers of two up to 2^most.
Terms Balanced(const std::string& name, int most) {
  return {name,
          [=](std::int64_t row, std::int64_t channel) {
            return std::ldexp(Lhs(row, channel), PowerOf(channel, most));
          },
          [=](std::int64_t channel, std::int64_t column) {
            return std::ldexp(Rhs(channel, column), -PowerOf(channel, most));
          }};
}

Terms Cancelling() {
  return {"pairs that cancel but for their last bits",
          [](std::int64_t row, std::int64_t channel) { return Lhs(row, channel / 2); },
          [](std::int64_t channel, std::int64_t column) {
            const double value = Rhs(channel / 2, column);
            return channel % 2 == 0 ? value : -value * (1 + 0x1p-20);
          }};
}

Terms EqualSigns() {
  return {"equal signs",
          [](std::int64_t row, std::int64_t channel) { return std::abs(Lhs(row, channel)); },
          [](std::int64_t channel, std::int64_t column) { return std::abs(Rhs(channel, column)); }};
}

std::vector<Terms> FiniteTerms() {
  return {
      Outlier("a channel of 1e3", 1e3),
      Outlier("a channel of 1e8", 1e8),
      Outlier("a channel of 1e20", 1e20),
      Balanced("scales that balance over 30 decades", 50),
      Balanced("scales that balance over all powers", 125),
      {"rows and columns of their own scales",
       [](std::int64_t row, std::int64_t channel) {
         return std::ldexp(Lhs(row, channel), static_cast<int>(row % 7 - 3) * 20);
       },
       [](std::int64_t channel, std::int64_t column) {
         return std::ldexp(Rhs(channel, column), static_cast<int>(column % 5 - 2) * 15);
       }},
      Cancelling(),
      EqualSigns(),
      {"one-hot rows",
       [](std::int64_t row, std::int64_t channel) { return channel == row % 27 ? 1 : 0; }, Rhs},
      {"one-hot rows of the largest",
       [](std::int64_t row, std::int64_t channel) {
         return channel == row % 27 ? std::numeric_limits<float>::max() : 0;
       },
       [](std::int64_t channel, std::int64_t column) { return Rhs(channel, column); }},
      {"powers of two up to the limits",
       [](std::int64_t row, std::int64_t channel) {
         return std::ldexp(row % 2 == 0 ? 1 : -1, PowerOf(channel, 126));
       },
       [](std::int64_t channel, std::int64_t column) {
         return std::ldexp(Mixed(channel, column, 5) % 2 == 0 ? 1 : -1, -PowerOf(channel, 126));
       }},
      {"denormal numbers",
       [](std::int64_t row, std::int64_t channel) { return 0x1p-130 * Lhs(row, channel); },
       [](std::int64_t channel, std::int64_t column) { return 0x1p10 * Rhs(channel, column); }},
  };
}

// Terms whose sums are rounded the same way in a chain of any order: it errs by K / 2 or K / 4.
std::vector<Terms> AlikeTerms() {
  const auto one = [](std::int64_t, std::int64_t) { return 1; };
  return {
      {"equal terms", [](std::int64_t, std::int64_t) { return 0.7; }, one},
      // Of which every part of an f32 is as large as it can be.
      {"long runs of ones", [](std::int64_t, std::int64_t) { return 1 + 0x1p-7 - 0x1p-23; },
       [](std::int64_t channel, std::int64_t column) {
         return (1 + 0x1p-7 - 0x1p-23) * (Mixed(channel, column, 4) % 2 == 0 ? 1 : 0.5);
       }},
      {"terms that vary slowly",
       [](std::int64_t row, std::int64_t channel) {
         return 1 + 0x1p-14 * static_cast<double>(channel + row);
       },
       [](std::int64_t channel, std::int64_t) {
         return 0.7 - 0x1p-16 * static_cast<double>(channel);
       }},
      {"terms that are lost beside the first",
       [](std::int64_t, std::int64_t channel) { return channel == 0 ? 1 : 0x1.8p-25; }, one},
      {"terms that are lost beside one of each row",
       [](std::int64_t row, std::int64_t channel) {
         return channel == row * 5 ? 0x1p20 : 0x1.8p-5;
       },
       one},
  };
}

// Some rows and some columns have one special element: the others must not notice.
Terms Special(const std::string& name, double of_lhs, double of_rhs) {
  return {name,
          [=](std::int64_t row, std::int64_t channel) {
            const bool special = row % 5 == 2 && channel == static_cast<int>(Mixed(row, 0, 6) % 3);
            return special ? of_lhs : Lhs(row, channel);
          },
          [=](std::int64_t channel, std::int64_t column) {
            const bool special =
                column % 7 == 3 && channel == static_cast<int>(Mixed(0, column, 7) % 3);
            if (special) return of_rhs;
            return Mixed(channel, column, 8) % 3 == 0 ? 0.0 : Rhs(channel, column);
          }};
}

std::vector<Terms> SpecialTerms() {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return {Special("infinities", kInfinity, -kInfinity),
          Special("infinities beside denormal numbers", kInfinity, 0x1p-140),
          Special("denormal numbers beside infinities", 0x1p-140, -kInfinity),
          Special("the least numbers beside infinities", -0x1p-149, kInfinity),
          Special("NaN and infinities", std::nan(""), kInfinity),
          Special("the largest and denormal numbers", kLargest, -0x1p-149)};
}

struct Size {
  std::int64_t m, k;
};
// Rows around a register tile and around two, in every algorithm of the schedule; K odd, whole and
// in chunks.
constexpr Size kSizes[] = {{1, 768}, {15, 769}, {16, 33},  {17, 768},
                           {63, 27}, {64, 257}, {65, 1057}};
constexpr std::int64_t kColumns = 37;

TEST_P(ProductBoundTest, Matmul_FiniteTerms_EveryElementIsWithinItsBound) {
  for (const Size& size : kSizes) {
    ContractionCase c = Matmul(DType::kF32, size.m, kColumns, size.k);
    c.rhs_is_nk = size.m % 2 == 1;
    Check(c, GetParam(), FiniteTerms());
  }
}

// Of every length; those of f32 in parts are of 56 rows and more.
TEST_P(ProductBoundTest, Matmul_AlikeTerms_EveryElementIsWithinItsBound) {
  for (const Size& size : {Size{1, 1}, Size{2, 17}, Size{64, 27}, Size{16, 33}, Size{64, 65},
                           Size{15, 768}, Size{56, 769}, Size{16, 1030}, Size{57, 3072},
                           Size{64, 4608}, Size{56, 16384}, Size{15, 20000}}) {
    Check(Matmul(DType::kF32, size.m, 19, size.k), GetParam(), AlikeTerms());
  }
  for (const Size& size :
       {Size{1, 1}, Size{2, 17}, Size{15, 769}, Size{33, 3072}, Size{15, 20000}}) {
    Check(Matmul(DType::kBF16, size.m, 19, size.k), GetParam(), AlikeTerms());
  }
}

TEST_P(ProductBoundTest, MatmulOfSymbolicSizes_AlikeTerms_EveryElementIsWithinItsBound) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    for (const Size& size : {Size{5, 9}, Size{3, 768}, Size{15, 5003}}) {
      ContractionCase c = Matmul(dtype, size.m, 19, size.k);
      c.symbolic = true;
      Check(c, GetParam(), AlikeTerms());
    }
  }
  // Of several dims, of which the last one is longer and shorter than a run.
  for (const std::vector<std::int64_t>& k : {std::vector<std::int64_t>{3, 700}, {900, 6}, {4, 8}}) {
    ContractionCase c = Matmul(DType::kF32, 9, 19, 1);
    c.k = k;
    c.k_strides = {k[1] + 2, 1};
    c.symbolic = true;
    Check(c, GetParam(), AlikeTerms());
  }
}

TEST_P(ProductBoundTest, F64_AnyTerms_EveryElementIsWithinItsBound) {
  std::vector<Terms> terms = AlikeTerms();
  terms.push_back({"terms that are lost beside the first",
                   [](std::int64_t, std::int64_t channel) { return channel == 0 ? 1 : 0x1.8p-54; },
                   [](std::int64_t, std::int64_t) { return 1; }});
  terms.push_back(Cancelling());
  for (const Size& size : {Size{1, 3072}, Size{15, 769}, Size{64, 100}}) {
    Check(Matmul(DType::kF64, size.m, 19, size.k), GetParam(), terms);
  }
}

TEST_P(ProductBoundTest, Matmul_SpecialTerms_AreAsInIeee) {
  for (const Size& size : kSizes) {
    Check(Matmul(DType::kF32, size.m, kColumns, size.k), GetParam(), SpecialTerms());
  }
}

// Those that keep what they are as bf16: the largest numbers become infinite, and what AMX takes
// for zero makes NaN of an infinity.
std::vector<Terms> OfBF16(std::vector<Terms> all) {
  std::erase_if(all, [](const Terms& terms) {
    return terms.name.find("largest") != std::string::npos ||
           terms.name.find("beside infinities") != std::string::npos ||
           terms.name == "infinities beside denormal numbers";
  });
  return all;
}

TEST_P(ProductBoundTest, Matmul_LowerNumerics_LoseNoMoreThanTheyMay) {
  for (const Numerics numerics : {Numerics::kHigh, Numerics::kMedium}) {
    for (const Size& size : {Size{1, 96}, Size{17, 33}, Size{65, 257}}) {
      ContractionCase c = Matmul(DType::kF32, size.m, kColumns, size.k);
      c.numerics = numerics;
      const auto machine = MachineOf(GetParam()).value();
      const auto layout_with = [&](Numerics asked) {
        return machine->LayoutOf({DType::kF32, asked, size.m, kColumns, size.k});
      };
      if (layout_with(numerics) == layout_with(Numerics::kHighest)) continue;
      const bool is_rounded = numerics == Numerics::kMedium;
      Check(c, GetParam(), is_rounded ? OfBF16(FiniteTerms()) : FiniteTerms());
      Check(c, GetParam(), is_rounded ? OfBF16(SpecialTerms()) : SpecialTerms());
    }
  }
}

TEST_P(ProductBoundTest, Convolution_AnyTerms_EveryElementIsWithinItsBound) {
  std::vector<Terms> terms = AlikeTerms();
  for (Terms& each :
       std::vector<Terms>{Outlier("a channel of 1e3", 1e3), Outlier("a channel of 1e20", 1e20),
                          Balanced("scales that balance over 30 decades", 50), Cancelling(),
                          EqualSigns(), Special("infinities", kInfinity, -kInfinity)}) {
    terms.push_back(std::move(each));
  }
  Check(Convolution(DType::kF32, 1, 7, 12, 64, 3, 1, kColumns), GetParam(), terms);
  Check(Convolution(DType::kF32, 2, 6, 15, 3, 5, 2, kColumns), GetParam(), terms);
  // More channels than a run has terms, and one pixel a run, or several.
  Check(Convolution(DType::kF32, 1, 4, 14, 256, 3, 1, 19), GetParam(), terms);
  Check(Convolution(DType::kF32, 1, 4, 15, 32, 3, 1, 19), GetParam(), terms);
}

TEST_P(ProductBoundTest, NarrowTypes_FiniteTerms_AreSummedInF32AndRoundedOnce) {
  const std::vector<Terms> terms = {Outlier("a channel of 1e3", 1e3), Balanced("balanced", 6),
                                    Cancelling(), EqualSigns()};
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const Size& size : kSizes) {
      for (const DType output : {DType::kF32, dtype}) {
        ContractionCase c = Matmul(dtype, size.m, kColumns, size.k);
        c.output = output;
        Check(c, GetParam(), terms);
      }
    }
  }
}

}  // namespace
}  // namespace stoker
