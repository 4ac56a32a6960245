#include "cache/policy/tiered_blob_store.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/unit/cache/fake_blob_store.h"
#include "tests/unit/wait_until.h"

namespace stoker {
namespace {

class TieredBlobStoreTest : public testing::TestWithParam<Authority> {
 protected:
  TieredBlobStoreTest() {
    auto front = std::make_unique<FakeBlobStore>();
    auto back = std::make_unique<FakeBlobStore>();
    front_ = front.get();
    back_ = back.get();
    authority_ = GetParam() == Authority::kFront ? front_ : back_;
    other_ = GetParam() == Authority::kFront ? back_ : front_;
    tiered_ = std::make_unique<TieredBlobStore>(std::move(front), std::move(back), GetParam());
  }

  FakeBlobStore* front_;
  FakeBlobStore* back_;
  FakeBlobStore* authority_;
  FakeBlobStore* other_;
  std::unique_ptr<TieredBlobStore> tiered_;
};

TEST_P(TieredBlobStoreTest, Get_OnlyInBack_FillsFrontWithItsKind) {
  const Digest digest = *PutBytes(*back_, "kernel", BlobKind::kKernel);
  EXPECT_EQ(tiered_->Get(digest)->bytes(), "kernel");
  EXPECT_EQ(front_->Get(digest)->kind(), BlobKind::kKernel);
  EXPECT_EQ(tiered_->Get(digest)->bytes(), "kernel");
  EXPECT_EQ(back_->gets, 1);
}

TEST_P(TieredBlobStoreTest, Get_InFront_TouchesBack) {
  const Digest digest = *PutBytes(*tiered_, "kernel", BlobKind::kKernel);
  ASSERT_TRUE(tiered_->Get(digest).ok());
  EXPECT_EQ(back_->gets, 0);
  EXPECT_EQ(back_->touched, 1u);
}

TEST_P(TieredBlobStoreTest, Get_BackLies_IsAMissAndQuarantined) {
  const Digest digest = *PutBytes(*back_, "kernel", BlobKind::kKernel);
  back_->lies = true;
  EXPECT_EQ(tiered_->Get(digest).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(*back_->Contains(digest));
  EXPECT_FALSE(*front_->Contains(digest));
}

TEST_P(TieredBlobStoreTest, Get_BackIsAway_SaysSo) {
  back_->failure = Unavailable("away");
  EXPECT_EQ(tiered_->Get(Sha256Of("kernel")).error().code, ErrorCode::kUnavailable);
}

TEST_P(TieredBlobStoreTest, Get_FrontHasNoRoom_AnswersAnyway) {
  const Digest digest = *PutBytes(*back_, "kernel", BlobKind::kKernel);
  front_->failure = ResourceExhausted("full");
  EXPECT_EQ(tiered_->Get(digest)->bytes(), "kernel");
}

TEST_P(TieredBlobStoreTest, Get_Concurrent_ReadsBackOnce) {
  constexpr int kThreads = 6;
  const Digest digest = *PutBytes(*back_, "kernel", BlobKind::kKernel);
  back_->on_get = [&] {
    WaitUntil("all others share it", [&] { return tiered_->shared_fill_count() == kThreads - 1; });
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] { EXPECT_EQ(tiered_->Get(digest)->bytes(), "kernel"); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(back_->gets, 1);
}

TEST_P(TieredBlobStoreTest, Put_GoesToBoth) {
  const Digest digest = *PutBytes(*tiered_, "kernel", BlobKind::kKernel);
  EXPECT_TRUE(*front_->Contains(digest));
  EXPECT_TRUE(*back_->Contains(digest));
}

TEST_P(TieredBlobStoreTest, Put_AuthorityRefuses_IsRefusedEverywhere) {
  authority_->failure = ResourceExhausted("full");
  EXPECT_EQ(PutBytes(*tiered_, "kernel", BlobKind::kKernel).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_FALSE(*other_->Contains(Sha256Of("kernel")));
}

TEST_P(TieredBlobStoreTest, Put_OtherRefuses_Succeeds) {
  other_->failure = Unavailable("away");
  EXPECT_TRUE(PutBytes(*tiered_, "kernel", BlobKind::kKernel).ok());
  EXPECT_TRUE(*authority_->Contains(Sha256Of("kernel")));
}

TEST_P(TieredBlobStoreTest, Delete_TakesFromBoth) {
  const Digest digest = *PutBytes(*tiered_, "kernel", BlobKind::kKernel);
  ASSERT_TRUE(tiered_->Delete(digest).ok());
  EXPECT_FALSE(*front_->Contains(digest));
  EXPECT_FALSE(*back_->Contains(digest));
}

TEST_P(TieredBlobStoreTest, Delete_OnlyInOneTier_Succeeds) {
  for (FakeBlobStore* tier : {front_, back_}) {
    const Digest digest = *PutBytes(*tier, "kernel", BlobKind::kKernel);
    EXPECT_TRUE(tiered_->Delete(digest).ok());
    EXPECT_FALSE(*tier->Contains(digest));
  }
}

TEST_P(TieredBlobStoreTest, Contains_EitherTier_IsTrue) {
  const Digest front = *PutBytes(*front_, "front", BlobKind::kKernel);
  const Digest back = *PutBytes(*back_, "back", BlobKind::kKernel);
  EXPECT_TRUE(*tiered_->Contains(front));
  EXPECT_TRUE(*tiered_->Contains(back));
  EXPECT_FALSE(*tiered_->Contains(Sha256Of("nowhere")));
}

INSTANTIATE_TEST_SUITE_P(Authorities, TieredBlobStoreTest,
                         testing::Values(Authority::kFront, Authority::kBack),
                         [](const auto& info) {
                           return info.param == Authority::kFront ? "Front" : "Back";
                         });

}  // namespace
}  // namespace stoker
