#include "runtime/cpu/content/content_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace stoker::cpu {
namespace {

using std::chrono::nanoseconds;

// Long enough for one round over everything here.
constexpr std::chrono::hours kLong{1};

// For one piece.
nanoseconds OnePiece(const ContentWatch& watch) { return nanoseconds(watch.share() * 10'000); }

class ContentWatchTest : public testing::Test {
 protected:
  ContentWatch Watch(std::vector<std::string>& regions, int threads = 2) {
    std::vector<Bytes> views;
    for (const std::string& region : regions) {
      views.push_back(std::as_bytes(std::span(region.data(), region.size())));
    }
    ThreadPool::Team team = pool_.Gather(threads);
    return ContentWatch(views, team);
  }

  ThreadPool pool_;
};

std::vector<std::string> Regions() {
  return {std::string(kPieceBytes * 2 + 3, 'a'), "", std::string(7, 'b'),
          std::string(kPieceBytes, 'c')};
}

TEST_F(ContentWatchTest, Look_NothingChanged_SaysSo) {
  std::vector<std::string> regions = Regions();
  ContentWatch watch = Watch(regions);
  for (int i = 0; i < 10; ++i) watch.Look(kLong);
  EXPECT_FALSE(watch.Changed());
}

TEST_F(ContentWatchTest, Look_AnyByteChanged_NamesItsRegion) {
  for (const auto& [region, at] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 0}, {0, kPieceBytes}, {0, kPieceBytes * 2 + 2}, {2, 6}, {3, kPieceBytes - 1}}) {
    std::vector<std::string> regions = Regions();
    ContentWatch watch = Watch(regions);
    regions[region][at] ^= 1;
    EXPECT_FALSE(watch.Changed());
    watch.Look(kLong);
    EXPECT_EQ(watch.Changed(), region) << at;
  }
}

TEST_F(ContentWatchTest, Look_ShortCalls_HaveLookedAtAllTogether) {
  std::vector<std::string> regions = Regions();
  ContentWatch watch = Watch(regions);
  regions[3][5] ^= 1;
  for (int i = 0; i < 1000 * 5 && !watch.Changed(); ++i) watch.Look(OnePiece(watch) / 100);
  EXPECT_EQ(watch.Changed(), 3U);
}

TEST_F(ContentWatchTest, Look_TimeThatIsNotWorthAPiece_LooksAtNone) {
  std::vector<std::string> regions = Regions();
  ContentWatch watch = Watch(regions);
  regions[0][0] ^= 1;
  watch.Look(OnePiece(watch) / 2);
  EXPECT_FALSE(watch.Changed());
  watch.Look(OnePiece(watch) / 2 + nanoseconds(watch.share()));
  EXPECT_EQ(watch.Changed(), 0U);
}

TEST_F(ContentWatchTest, Look_CallsOfSeveralThreads_TakeAHundredthOfOneProcessor) {
  std::vector<std::string> regions = Regions();
  EXPECT_EQ(Watch(regions, 1).share(), ContentWatch::kShare);
  const std::int64_t threads = pool_.Gather(2).threads();
  EXPECT_EQ(Watch(regions).share(), threads * ContentWatch::kShare);
}

TEST_F(ContentWatchTest, Look_NoRegions_NothingHappens) {
  std::vector<std::string> regions;
  ContentWatch watch = Watch(regions);
  watch.Look(kLong);
  EXPECT_FALSE(watch.Changed());
}

}  // namespace
}  // namespace stoker::cpu
