#include "runtime/cpu/content/content_digest.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace stoker::cpu {
namespace {

class ContentDigestTest : public testing::Test {
 protected:
  Digest Of(const std::vector<std::string>& regions, int threads = 1) {
    std::vector<Bytes> views;
    for (const std::string& region : regions) {
      views.push_back(std::as_bytes(std::span(region.data(), region.size())));
    }
    ThreadPool::Team team = pool_.Gather(threads);
    return ContentDigest(views, team);
  }

  ThreadPool pool_;
};

std::string Noise(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

TEST_F(ContentDigestTest, NumberOfThreads_DoesNotMatter) {
  const std::vector<std::string> regions = {Noise((5 << 20) + 3), Noise(7), "", Noise(1 << 20)};
  EXPECT_EQ(Of(regions, 1), Of(regions, 2));
  EXPECT_EQ(Of(regions, 1), Of(regions, 0));
}

TEST_F(ContentDigestTest, EveryByteMatters) {
  const std::string base = Noise((2 << 20) + 5);
  const Digest digest = Of({base});
  for (const std::size_t at : {std::size_t{0}, std::size_t{1} << 20, base.size() - 1}) {
    std::string changed = base;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(Of({changed}), digest) << at;
  }
}

TEST_F(ContentDigestTest, ProcessorDoesNotMatter) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "This processor has no AVX2.";
  const std::string text = Noise(kPieceBytes);
  for (const std::size_t size :
       {0UL, 1UL, 16UL, 17UL, 128UL, 129UL, 240UL, 241UL, 4099UL, 65536UL}) {
    PieceHash plain;
    PieceHash wide;
    HashPiece(text.data(), size, plain.data());
    HashPieceAvx2(text.data(), size, wide.data());
    EXPECT_EQ(plain, wide) << size;
  }
}

TEST_F(ContentDigestTest, BoundariesAndOrderMatter) {
  EXPECT_NE(Of({"ab", "c"}), Of({"a", "bc"}));
  EXPECT_NE(Of({"ab", "c"}), Of({"c", "ab"}));
  EXPECT_NE(Of({"ab"}), Of({"ab", ""}));
  EXPECT_NE(Of({}), Of({""}));
}

}  // namespace
}  // namespace stoker::cpu
