#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/compiler/codegen/x86/contraction/contraction_case.h"

namespace stoker {
namespace {

class ContractionTest : public testing::TestWithParam<Target> {};

INSTANTIATE_TEST_SUITE_P(Targets, ContractionTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

constexpr DType kFloats[] = {DType::kF32, DType::kBF16, DType::kF16};

TEST_P(ContractionTest, Matmul_AnySize_MatchesDoubleSums) {
  struct Size {
    std::int64_t m, n, k;
  };
  constexpr Size kSizes[] = {{1, 1, 1},    {1, 33, 7},   {3, 16, 64},  {17, 65, 31},
                             {14, 32, 96}, {29, 48, 33}, {5, 1000, 2}, {64, 70, 128}};
  for (const DType dtype : kFloats) {
    for (const Size& size : kSizes) {
      for (const bool nk : {false, true}) {
        ContractionCase c = Matmul(dtype, size.m, size.n, size.k);
        c.rhs_is_nk = nk;
        Check(c, GetParam());
      }
    }
  }
}

TEST_P(ContractionTest, Matmul_IntegersAndDouble_AreExactOrClose) {
  for (const DType dtype :
       {DType::kF64, DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8}) {
    ContractionCase c = Matmul(dtype, 19, 37, 23);
    Check(c, GetParam());
    c.rhs_is_nk = true;
    Check(c, GetParam());
  }
}

TEST_P(ContractionTest, Epilogue_BiasResidualGelu_IsApplied) {
  for (const DType dtype : kFloats) {
    for (const DType output : {DType::kF32, DType::kBF16}) {
      for (const Epilogue epilogue :
           {Epilogue::kBias, Epilogue::kBiasResidual, Epilogue::kBiasGelu}) {
        for (const std::int64_t n : {32, 41}) {
          ContractionCase c = Matmul(dtype, 37, n, 64);
          c.output = output;
          c.epilogue = epilogue;
          Check(c, GetParam());
        }
      }
    }
  }
}

TEST_P(ContractionTest, Batch_SharedOrNot_MatchesDoubleSums) {
  for (const DType dtype : kFloats) {
    ContractionCase c = Matmul(dtype, 9, 20, 32);
    c.batch = {2, 3};
    Check(c, GetParam());
    c.rhs_has = {false, true};
    c.tasks_per_call = 1;
    Check(c, GetParam());
    c.rhs_has = {true, false};
    Check(c, GetParam());
  }
}

TEST_P(ContractionTest, Lhs_Strided_ReadsOnlyItsElements) {
  for (const DType dtype : kFloats) {
    ContractionCase c = Matmul(dtype, 31, 40, 64);
    c.m_strides = {100};
    Check(c, GetParam());
    // Two row dims that do not merge, the inner one narrow.
    c.m = {5, 3};
    c.m_strides = {300, 80};
    Check(c, GetParam());
    c.m = {4, 2, 7};
    c.m_strides = {2000, 70, 200};
    Check(c, GetParam());
  }
}

TEST_P(ContractionTest, Convolution_WindowStrideChannels_MatchesDoubleSums) {
  for (const DType dtype : kFloats) {
    Check(Convolution(dtype, 2, 7, 7, 32, 3, 1, 40), GetParam());
    Check(Convolution(dtype, 1, 6, 15, 3, 5, 2, 33), GetParam());
    Check(Convolution(dtype, 1, 4, 29, 64, 1, 2, 64), GetParam());
    ContractionCase c = Convolution(dtype, 3, 5, 4, 16, 3, 1, 17);
    c.has_scale = true;
    c.epilogue = Epilogue::kBiasResidual;
    Check(c, GetParam());
  }
}

// Windows that lie outside of the image as a whole are among these.
TEST_P(ContractionTest, Convolution_OfAnyHalo_MatchesDoubleSums) {
  std::mt19937_64 random(5);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int i = 0; i < 40; ++i) {
    const DType dtype = kFloats[static_cast<std::size_t>(i) % std::size(kFloats)];
    PaddedWindow window{draw(1, 4), draw(1, 3), draw(1, 2), draw(0, 5), draw(0, 5)};
    PaddedImage image{draw(1, 2), draw(1, 17), draw(1, 17), 16 * draw(1, 6)};
    if (i % 3 == 0) image.channels = draw(1, 70);
    if (i % 4 == 0) window = {3, 1, 1, 1, 1};
    const std::int64_t reach = (window.size - 1) * window.dilation + 1;
    image.h = std::max(image.h, reach);
    image.w = std::max(image.w, reach);
    ContractionCase c = PaddedConvolution(dtype, image, window, draw(1, 70));
    if (i % 5 == 0) c.tasks_per_call = 1;
    Check(c, GetParam());
  }
}

// A line of the image is a unit's: lines above and below take no part in its sums.
TEST_P(ContractionTest, Convolution_LinesAndColumnsOfZeros_AreNotRead) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    // Tiles take two units together, or copy rows.
    if (dtype == DType::kF32 && GetParam().Has("amx_bf16")) continue;
    for (const PaddedWindow& window : {PaddedWindow{3, 1, 1, 1, 1}, PaddedWindow{5, 2, 2, 4, 3}}) {
      ContractionCase c = PaddedConvolution(dtype, {2, 12, 30, 32}, window, 33);
      c.halos.pop_back();
      c.outside = std::nan("");
      Check(c, GetParam());
    }
    // Of a narrow image, columns to the left and to the right neither.
    ContractionCase narrow = PaddedConvolution(dtype, {2, 5, 9, 64}, {3, 1, 1, 1, 1}, 33);
    narrow.outside = std::nan("");
    Check(narrow, GetParam());
  }
}

// Lines with few products, beside which not all of an epilogue that tiles have put off can run.
TEST_P(ContractionTest, Convolution_LinesThatAreMostlyZeros_MatchesDoubleSums) {
  for (const std::int64_t tasks_per_call : {std::int64_t{2}, INT64_MAX}) {
    ContractionCase c = PaddedConvolution(DType::kBF16, {2, 3, 13, 32}, {4, 1, 1, 3, 3}, 96);
    c.tasks_per_call = tasks_per_call;
    Check(c, GetParam());
  }
}

// B larger than all that a block of rows may be, and B that leaves room for few rows beside it.
TEST_P(ContractionTest, Convolution_SeveralBlocksOfCopiedRows_MatchesDoubleSums) {
  for (const std::int64_t tasks_per_call : {std::int64_t{3}, INT64_MAX}) {
    ContractionCase small = Convolution(DType::kBF16, 3, 7, 7, 512, 3, 1, 144);
    ContractionCase stem = Convolution(DType::kBF16, 1, 12, 50, 3, 7, 2, 64);
    for (ContractionCase* c : {&small, &stem}) {
      c->epilogue = Epilogue::kBiasResidual;
      c->tasks_per_call = tasks_per_call;
      Check(*c, GetParam());
    }
  }
}

TEST_P(ContractionTest, Depth_Large_IsSummedInParts) {
  for (const DType dtype : kFloats) {
    Check(Matmul(dtype, 18, 34, 17001), GetParam());
    Check(Matmul(dtype, 3, 34, 4099), GetParam());
  }
}

// Enough rows, columns and depth for f32 in bf16 parts; K whole, in equal chunks, in unequal ones.
TEST_P(ContractionTest, ManyRows_AnyDepth_MatchesDoubleSums) {
  for (const std::int64_t k : {32, 100, 1056, 1536, 3104}) {
    for (const std::int64_t m : {33, 128, 250}) {
      ContractionCase c = Matmul(DType::kF32, m, 70, k);
      c.rhs_is_nk = m == 128;
      c.epilogue = Epilogue::kBias;
      c.tasks_per_call = m == 250 ? 1 : c.tasks_per_call;
      Check(c, GetParam());
    }
  }
  Check(Matmul(DType::kF16, 50, 40, 90), GetParam());
  Check(Convolution(DType::kF32, 2, 7, 9, 256, 3, 1, 40), GetParam());
  Check(Convolution(DType::kF32, 1, 9, 20, 64, 3, 2, 64), GetParam());
}

// What is stored of a row ends where its elements do, however few are left of a vector.
TEST_P(ContractionTest, NarrowOutput_OneColumnInAVector_WritesNoOther) {
  for (const DType dtype : kFloats) {
    for (const DType output : {DType::kBF16, DType::kF16}) {
      for (const std::int64_t n : {1, 17, 33}) {
        ContractionCase c = Matmul(dtype, 16, n, 48);
        c.output = output;
        c.batch = {2};
        Check(c, GetParam());
      }
    }
  }
}

// Parts of f32 must give what whole elements give.
TEST_P(ContractionTest, NotFinite_Elements_GiveWhatMultiplyAddsGive) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t k : {64, 2048}) {
    for (const float special : {infinity, -infinity, std::nanf(""), 3e38F, 1e-42F}) {
      for (const bool in_lhs : {true, false}) {
        ContractionCase c = Matmul(DType::kF32, 50, 40, k);
        c.special = special;
        c.special_in_lhs = in_lhs;
        Check(c, GetParam());
      }
    }
  }
}

TEST_P(ContractionTest, Tasks_OneAtATime_GiveTheSame) {
  for (const DType dtype : kFloats) {
    ContractionCase c = Matmul(dtype, 150, 100, 200);
    c.tasks_per_call = 1;
    Check(c, GetParam());
    c.k = {37};
    c.tasks_per_call = 3;
    Check(c, GetParam());
  }
}

TEST_P(ContractionTest, Threads_AnyNumber_GiveTheSameBits) {
  for (const DType dtype : kFloats) {
    ContractionCase c = Matmul(dtype, 150, 100, 200);
    c.epilogue = Epilogue::kBiasResidual;
    CheckSameForThreads(c, GetParam());
    c.symbolic = true;
    CheckSameForThreads(c, GetParam());
    CheckSameForThreads(Matmul(dtype, 70, 330, 2080), GetParam());  // In chunks of K.
    CheckSameForThreads(Matmul(dtype, 170, 40, 2080), GetParam());  // Tiles too.
    CheckSameForThreads(Convolution(dtype, 2, 17, 16, 32, 3, 1, 70), GetParam());
    c = Matmul(dtype, 33, 40, 64);
    c.batch = {3};
    CheckSameForThreads(c, GetParam());
  }
}

TEST_P(ContractionTest, SymbolicSizes_OneKernel_ServesThem) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t m : {14, 45}) {
      for (const std::int64_t k : {1, 2051}) {
        ContractionCase c = Matmul(dtype, m, 35, k);
        c.symbolic = true;
        c.epilogue = Epilogue::kBias;
        Check(c, GetParam());
        c.batch = {2};
        c.rhs_is_nk = true;
        Check(c, GetParam());
      }
    }
  }
}

// A lone pair of units, blocks of which the last has fewer, and panels that several blocks read.
TEST_P(ContractionTest, SymbolicRows_OfFewAndManyUnits_MatchDoubleSums) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t m : {1, 16, 17, 33, 61, 290, 404}) {
      for (const std::int64_t k : {27, 200}) {
        ContractionCase c = Matmul(dtype, m, 70, k);
        c.symbolic_rows = true;
        Check(c, GetParam());
      }
    }
    for (const std::int64_t m : {20, 404}) {
      ContractionCase c = Matmul(dtype, m, 70, 96);
      c.symbolic_rows = true;
      CheckSameForThreads(c, GetParam());
    }
  }
}

// Copied where their lines would crowd one set of the first-level cache; a block may begin with the
// last unit, which takes rows along that lie before it.
TEST_P(ContractionTest, Rows_WholePagesApart_MatchDoubleSums) {
  for (const DType dtype : kFloats) {
    const std::int64_t k = 4096 / SizeInBytes(dtype);
    for (const std::int64_t m : {1, 9, 14, 53}) {
      for (const bool symbolic_rows : {false, true}) {
        ContractionCase c = Matmul(dtype, m, 33, k);
        c.symbolic_rows = symbolic_rows;
        c.tasks_per_call = m == 53 ? 1 : c.tasks_per_call;
        Check(c, GetParam());
      }
    }
    ContractionCase c = Matmul(dtype, 53, 70, k);
    c.symbolic_rows = true;
    CheckSameForThreads(c, GetParam());
    c = Matmul(dtype, 40, 33, k);
    c.symbolic_rows = true;
    c.batch = {2};
    Check(c, GetParam());
  }
}

TEST_P(ContractionTest, Scale_FoldedIntoPacking_MultipliesColumns) {
  for (const DType dtype : kFloats) {
    for (const bool nk : {false, true}) {
      ContractionCase c = Matmul(dtype, 9, 45, 70);
      c.rhs_is_nk = nk;
      c.has_scale = true;
      Check(c, GetParam());
    }
  }
}

TEST_P(ContractionTest, RandomShapes_MatchDoubleSums) {
  std::mt19937_64 random(11);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 12; ++i) {
    ContractionCase c = Matmul(kFloats[pick(0, 2)], pick(1, 80), pick(1, 120), pick(1, 200));
    c.rhs_is_nk = pick(0, 1) == 1;
    c.epilogue = static_cast<Epilogue>(pick(0, 3));
    c.symbolic = pick(0, 3) == 0;
    if (pick(0, 2) == 0) c.batch = {pick(1, 3)};
    if (pick(0, 2) == 0 && !c.symbolic) c.m_strides = {c.k[0] + pick(0, 40)};
    if (!c.m_strides.empty()) c.batch.clear();
    c.tasks_per_call = pick(1, 4);
    Check(c, GetParam());
  }
}

class TileEmulationTest : public testing::TestWithParam<Target> {};

// With STOKER_EMULATE_TILES, too: what is compared is asked for.
std::vector<Target> TargetsWithTilesHere() {
  std::vector<Target> targets;
  const Target host = Target::Host().value();
  for (const Target& target : X86Targets()) {
    if (target.Has("amx_bf16") && target.CheckRunsOn(host).ok()) targets.push_back(target);
  }
  return targets;
}

TEST_P(TileEmulationTest, EveryProduct_GivesTheProcessorsBits) {
  const auto power = [](std::int64_t place) { return static_cast<int>(place * 13 % 61) - 30; };
  const Terms wide = {
      "a wide range",
      [&](std::int64_t row, std::int64_t channel) {
        return std::ldexp(1.0 + static_cast<double>((row + channel) % 5) / 7, power(channel));
      },
      [&](std::int64_t channel, std::int64_t column) {
        return std::ldexp(1.0 - static_cast<double>((channel + column) % 3) / 5, power(column));
      }};
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    for (const std::int64_t k : {7, 64, 300}) {
      ContractionCase c = Matmul(dtype, 37, 70, k);
      CheckSameResult(c, GetParam());
      CheckSameResult(c, GetParam(), &wide);
    }
    for (const float special : {std::numeric_limits<float>::infinity(), NAN, 1e-40F, 0x1p-126F}) {
      ContractionCase c = Matmul(dtype, 37, 70, 64);
      c.special = special;
      CheckSameResult(c, GetParam());
    }
  }
}

// A processor without tiles has nothing to compare with.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TileEmulationTest);
INSTANTIATE_TEST_SUITE_P(Targets, TileEmulationTest, testing::ValuesIn(TargetsWithTilesHere()),
                         [](const auto& param) { return TestNameOf(param.param); });

}  // namespace
}  // namespace stoker
