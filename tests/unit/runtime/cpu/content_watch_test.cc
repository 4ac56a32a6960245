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

class ContentWatchTest : public testing::Test {
 protected:
  ContentWatch Watch(std::vector<std::string>& regions, int threads = 2) {
    std::vector<Bytes> views;
    for (const std::string& region : regions) {
      views.push_back(std::as_bytes(std::span(region.data(), region.size())));
    }
    return ContentWatch(views, pool_, threads);
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
  for (int i = 0; i < 1000 * 5 && !watch.Changed(); ++i) watch.Look(watch.period() / 100);
  EXPECT_EQ(watch.Changed(), 3U);
}

TEST_F(ContentWatchTest, Look_TimeThatIsNotWorthAPiece_LooksAtNone) {
  std::vector<std::string> regions = Regions();
  ContentWatch watch = Watch(regions);
  regions[0][0] ^= 1;
  watch.Look(watch.period() / 2);
  EXPECT_FALSE(watch.Changed());
  watch.Look(watch.period() / 2 + nanoseconds(ContentWatch::kShare));
  EXPECT_EQ(watch.Changed(), 0U);
}

// Each of its threads looks for as long as one does alone.
TEST_F(ContentWatchTest, Look_CallsOfSeveralThreads_TakeAsLongForEachOfThem) {
  std::vector<std::string> regions = Regions();
  const std::int64_t threads = pool_.Gather(2).threads();
  EXPECT_EQ(Watch(regions).period(), threads * Watch(regions, 1).period());
}

// Far more memory than one look takes: the threads' looks together go on where the last one ended.
TEST_F(ContentWatchTest, Look_SeveralThreads_PassOverAllPiecesInTurn) {
  std::vector<std::string> regions = {std::string(kPieceBytes * 1000, 'a')};
  ContentWatch watch = Watch(regions);
  regions[0].back() ^= 1;
  int looks = 0;
  for (; looks < 100'000 && !watch.Changed(); ++looks) watch.Look(watch.period());
  EXPECT_EQ(watch.Changed(), 0U);
  EXPECT_GT(looks, 1);
}

TEST_F(ContentWatchTest, Look_NoRegions_NothingHappens) {
  std::vector<std::string> regions;
  ContentWatch watch = Watch(regions);
  watch.Look(kLong);
  EXPECT_FALSE(watch.Changed());
}

}  // namespace
}  // namespace stoker::cpu
