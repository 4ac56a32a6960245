#include "client/core/execution/content_sample.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace stoker {
namespace {

std::uint64_t SampleOfText(const std::string& text) {
  return SampleOf(std::array<const void*, 1>{text.data()}, std::array{text.size()});
}

TEST(ContentSample, SmallRegion_EveryByteCounts) {
  for (const std::size_t size : {1U, 7U, 8U, 9U, 127U, 128U, 1000U, 4096U, 65536U}) {
    std::string text(size, 'a');
    const std::uint64_t before = SampleOfText(text);
    EXPECT_EQ(SampleOfText(text), before);
    const std::size_t step = size > 4096 ? 17 : 1;
    for (std::size_t i = 0; i < size; i += step) {
      text[i] = 'b';
      EXPECT_NE(SampleOfText(text), before) << "byte " << i << " of " << size;
      text[i] = 'a';
    }
  }
}

TEST(ContentSample, SmallRegionBesideALargeOne_EveryByteCountsOfAFewWords) {
  const std::string large(70'000, 'a');
  std::string text(128, 'a');
  const auto sample = [&] {
    return SampleOf(std::array<const void*, 2>{large.data(), text.data()},
                    std::array{large.size(), text.size()});
  };
  const std::uint64_t before = sample();
  for (char& byte : text) {
    byte = 'b';
    EXPECT_NE(sample(), before);
    byte = 'a';
  }
}

TEST(ContentSample, LargeRegion_AnyTwelfthThatChangesIsSeen) {
  for (const std::size_t size : {65'537U, 65'544U, 70'000U, 1U << 20}) {
    const std::string text(size, 'a');
    const std::uint64_t before = SampleOfText(text);
    const std::size_t part = size / 12;
    for (std::size_t begin = 0; begin + part <= size; begin += part) {
      std::string changed = text;
      changed.replace(begin, part, part, 'b');
      EXPECT_NE(SampleOfText(changed), before) << begin << " of " << size;
    }
  }
}

TEST(ContentSample, EveryColumnBlockOfAMatrix_IsSeen) {
  constexpr std::size_t kRows = 768;
  constexpr std::size_t kRowBytes = 3072;
  const std::string matrix(kRows * kRowBytes, 'a');
  const std::uint64_t before = SampleOfText(matrix);
  for (std::size_t begin = 0; begin < kRowBytes; begin += kRowBytes / 4) {
    std::string changed = matrix;
    for (std::size_t row = 0; row < kRows; ++row) {
      changed.replace(row * kRowBytes + begin, kRowBytes / 4, kRowBytes / 4, 'b');
    }
    EXPECT_NE(SampleOfText(changed), before) << begin;
  }
}

TEST(ContentSample, OrderOfRegions_Counts) {
  const std::string a(200, 'a');
  const std::string b(200, 'b');
  const std::array<std::size_t, 2> sizes = {200, 200};
  EXPECT_NE(SampleOf(std::array<const void*, 2>{a.data(), b.data()}, sizes),
            SampleOf(std::array<const void*, 2>{b.data(), a.data()}, sizes));
}

TEST(WholeHash, LargeRegion_EveryByteCounts) {
  std::string text(1U << 20, 'a');
  const auto hash = [&] {
    return WholeHashOf(std::array<const void*, 1>{text.data()}, std::array{text.size()});
  };
  const std::uint64_t before = hash();
  for (std::size_t i = 0; i < text.size(); i += 9973) {
    text[i] = 'b';
    EXPECT_NE(hash(), before) << i;
    text[i] = 'a';
  }
  EXPECT_EQ(hash(), before);
}

TEST(ContentSample, EmptyRegion_IsNotRead) {
  EXPECT_EQ(SampleOf(std::array<const void*, 1>{nullptr}, std::array<std::size_t, 1>{0}),
            SampleOf({}, {}));
}

}  // namespace
}  // namespace stoker
