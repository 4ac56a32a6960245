// Conversions to f16 and bf16 round once, from every type that has more digits than f32. The values
// lie at the middle of two neighbors and as near to it as the type allows: rounding to f32 first
// makes those on either side a middle.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "protocol/base/float16.h"
#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"

namespace stoker {
namespace {

struct Conversion {
  DType from;
  DType to;
};

constexpr Conversion kConversions[] = {
    {DType::kF64, DType::kF16},  {DType::kF64, DType::kBF16}, {DType::kF32, DType::kF16},
    {DType::kF32, DType::kBF16}, {DType::kI64, DType::kF16},  {DType::kI64, DType::kBF16},
    {DType::kI32, DType::kF16},  {DType::kI32, DType::kBF16},
};

struct Sample {
  double real = 0;
  std::int64_t integer = 0;
  std::uint16_t expected = 0;
};

// The positive number with these bits; for those of infinity what would follow the largest one.
double ValueOf(DType dtype, std::uint16_t bits) {
  if (dtype == DType::kF16) {
    return bits == 0x7c00 ? 65536 : static_cast<double>(FloatFromF16(bits));
  }
  return bits == 0x7f80 ? 0x1p128 : static_cast<double>(FloatFromBF16(bits));
}

std::vector<Sample> SamplesOf(const Conversion& c) {
  const std::uint16_t infinity = c.to == DType::kF16 ? 0x7c00 : 0x7f80;
  const double limit = c.from == DType::kI64 ? 0x1p63 : c.from == DType::kI32 ? 0x1p31 : INFINITY;
  std::vector<Sample> samples;
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const double middle = (ValueOf(c.to, low) + ValueOf(c.to, low + 1)) / 2;
    const auto high = static_cast<std::uint16_t>(low + 1);
    const auto even = static_cast<std::uint16_t>(low % 2 == 0 ? low : high);
    if (IsFloat(c.from)) {
      const auto toward = [&](double end) {
        if (c.from == DType::kF64) return std::nextafter(middle, end);
        return static_cast<double>(
            std::nextafter(static_cast<float>(middle), static_cast<float>(end)));
      };
      samples.push_back({toward(0), 0, low});
      samples.push_back({middle, 0, even});
      samples.push_back({toward(INFINITY), 0, high});
    } else if (middle >= 256 && middle < limit && middle == std::floor(middle)) {
      const auto integer = static_cast<std::int64_t>(middle);
      samples.push_back({0, integer - 1, low});
      samples.push_back({0, integer, even});
      samples.push_back({0, integer + 1, high});
    }
  }
  const std::size_t positive = samples.size();
  for (std::size_t i = 0; i < positive; ++i) {
    const Sample& s = samples[i];
    samples.push_back({-s.real, -s.integer, static_cast<std::uint16_t>(s.expected | 0x8000)});
  }
  return samples;
}

LoopFunc FuncOf(const Conversion& c, std::int64_t size) {
  LoopFunc func;
  func.dims = {size};
  func.operands = {{c.from, false, false}, {c.to, true, false}};
  Stage stage;
  stage.loops = {0};
  BodyBuilder body(stage.body);
  const std::uint32_t x = body.Load(At(0, c.from, Affine({{0, 1}})));
  stage.stores = {{body.Convert(DType::kF32, x, c.to), At(1, c.to, Affine({{0, 1}}))}};
  func.stages = {stage};
  return func;
}

class ConversionTest : public testing::TestWithParam<Target> {};

TEST_P(ConversionTest, AroundEveryMiddle_RoundsOnce) {
  for (const Conversion& c : kConversions) {
    SCOPED_TRACE(std::string(Name(c.from)) + " to " + std::string(Name(c.to)));
    const std::vector<Sample> samples = SamplesOf(c);
    ASSERT_GT(samples.size(), 1000U);
    auto kernel =
        LoadedKernel::Make(FuncOf(c, static_cast<std::int64_t>(samples.size())), GetParam());
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    if (!(*kernel)->Runs()) continue;
    GuardedBuffer in(samples.size() * static_cast<std::size_t>(SizeInBytes(c.from)));
    GuardedBuffer out(samples.size() * 2);
    const auto fill = [&]<typename T>(T) {
      auto* to = static_cast<T*>(in.data());
      for (const Sample& s : samples) {
        *to++ = IsFloat(c.from) ? static_cast<T>(s.real) : static_cast<T>(s.integer);
      }
    };
    if (c.from == DType::kF64) fill(double{});
    if (c.from == DType::kF32) fill(float{});
    if (c.from == DType::kI64) fill(std::int64_t{});
    if (c.from == DType::kI32) fill(std::int32_t{});
    (*kernel)->Run({in.data(), out.data()});
    int failures = 0;
    for (std::size_t i = 0; i < samples.size() && failures < 3; ++i) {
      const std::uint16_t got = static_cast<const std::uint16_t*>(out.data())[i];
      if (got == samples[i].expected) continue;
      ++failures;
      ADD_FAILURE() << std::hexfloat << samples[i].real << " or " << std::dec << samples[i].integer
                    << " gives " << std::hex << got << ", not " << samples[i].expected;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ConversionTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

}  // namespace
}  // namespace stoker
