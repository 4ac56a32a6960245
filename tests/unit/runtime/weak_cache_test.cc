#include "runtime/weak_cache.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

class WeakCacheTest : public testing::Test {
 protected:
  Result<std::shared_ptr<const int>> Get(const Digest& digest) {
    return cache_.GetOrMake(digest, [&]() -> Result<std::shared_ptr<const int>> {
      return std::shared_ptr<const int>(std::make_shared<int>(++made_));
    });
  }

  const Digest a_ = Sha256Of("a");
  const Digest b_ = Sha256Of("b");
  WeakCache<int> cache_;
  int made_ = 0;
};

TEST_F(WeakCacheTest, GetOrMake_WhileInUse_MakesOnce) {
  const auto first = Get(a_).value();
  const auto second = Get(a_).value();
  EXPECT_EQ(first, second);
  EXPECT_EQ(made_, 1);
}

TEST_F(WeakCacheTest, GetOrMake_AfterLastUse_MakesAgain) {
  Get(a_).value().reset();
  EXPECT_TRUE(cache_.Keys().empty());
  EXPECT_EQ(*Get(a_).value(), 2);
}

TEST_F(WeakCacheTest, GetOrMake_MakerFails_CachesNothing) {
  const auto failed =
      cache_.GetOrMake(a_, []() -> Result<std::shared_ptr<const int>> { return DataLoss("bad"); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "bad");
  EXPECT_EQ(*Get(a_).value(), 1);
}

TEST_F(WeakCacheTest, Keys_ListsWhatIsAliveSorted) {
  const auto a = Get(a_).value();
  const auto b = Get(b_).value();
  const std::vector<Digest> expected = a_ < b_ ? std::vector{a_, b_} : std::vector{b_, a_};
  EXPECT_EQ(cache_.Keys(), expected);
}

}  // namespace
}  // namespace stoker
