// What every BlobStore must do, run on each store and each composed stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "cache/blob_store.h"
#include "tests/conformance/cache/stores.h"

namespace stoker {
namespace {

class BlobStoreConformance : public testing::TestWithParam<BlobStoreCase> {
 protected:
  // Bounded at kConformanceLimitBytes.
  std::unique_ptr<BlobStoreFixture> fixture_ = GetParam().make();
  BlobStore& store_ = fixture_->store();
};

std::string TestBytes(std::size_t size, char seed) {
  std::string bytes(size, '\0');
  const auto first = static_cast<unsigned char>(seed);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(first + i * 31 + i / 251);
  return bytes;
}

TEST_P(BlobStoreConformance, Get_Absent_IsNotFound) {
  const Result<Blob> blob = store_.Get(Sha256Of("absent"));
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.error().code, ErrorCode::kNotFound);
}

TEST_P(BlobStoreConformance, PutGet_EverySize_ReturnsTheSameBytes) {
  for (const std::size_t size : {0u, 1u, 31u, 4095u, 4096u, 65536u, 300000u}) {
    const std::string bytes = TestBytes(size, 'a');
    const Result<Digest> digest = PutBytes(store_, bytes, BlobKind::kKernel);
    ASSERT_TRUE(digest.ok()) << digest.error().message;
    EXPECT_EQ(*digest, Sha256Of(bytes));
    const Result<Blob> blob = store_.Get(*digest);
    ASSERT_TRUE(blob.ok()) << blob.error().message;
    EXPECT_EQ(blob->bytes(), bytes) << size;
  }
}

TEST_P(BlobStoreConformance, GetNow_GivesTheBlobOrNothing) {
  EXPECT_FALSE(store_.GetNow(Sha256Of("now")));
  ASSERT_TRUE(PutBytes(store_, "now", BlobKind::kKernel).ok());
  if (const auto blob = store_.GetNow(Sha256Of("now"))) {
    EXPECT_EQ(blob->bytes(), "now");
    EXPECT_EQ(blob->kind(), BlobKind::kKernel);
  }
  ASSERT_TRUE(store_.Delete(Sha256Of("now")).ok());
  EXPECT_FALSE(store_.GetNow(Sha256Of("now")));
}

TEST_P(BlobStoreConformance, Put_Twice_StoresOnce) {
  ASSERT_TRUE(PutBytes(store_, "twice", BlobKind::kGraph).ok());
  ASSERT_TRUE(PutBytes(store_, "twice", BlobKind::kGraph).ok());
  int count = 0;
  ASSERT_TRUE(store_.Visit([&](const BlobEntry&) { return ++count > 0; }).ok());
  EXPECT_EQ(count, 1);
}

TEST_P(BlobStoreConformance, Contains_FollowsPutAndDelete) {
  const Digest digest = Sha256Of("here");
  EXPECT_FALSE(*store_.Contains(digest));
  ASSERT_TRUE(PutBytes(store_, "here", BlobKind::kOther).ok());
  EXPECT_TRUE(*store_.Contains(digest));
  ASSERT_TRUE(store_.Delete(digest).ok());
  EXPECT_FALSE(*store_.Contains(digest));
  EXPECT_EQ(store_.Get(digest).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_.Delete(digest).error().code, ErrorCode::kNotFound);
}

TEST_P(BlobStoreConformance, Delete_Pinned_IsRefused) {
  const Digest digest = *PutBytes(store_, "pinned", BlobKind::kOther);
  {
    const BlobPin pin(store_, digest);
    EXPECT_EQ(store_.Delete(digest).error().code, ErrorCode::kFailedPrecondition);
    EXPECT_TRUE(store_.Get(digest).ok());
  }
  EXPECT_TRUE(store_.Delete(digest).ok());
}

TEST_P(BlobStoreConformance, Quarantine_MakesAMiss_AndAllowsANewPut) {
  const Digest digest = *PutBytes(store_, "foreign", BlobKind::kArtifact);
  ASSERT_TRUE(store_.Quarantine(digest, "a test").ok());
  EXPECT_FALSE(*store_.Contains(digest));
  EXPECT_EQ(store_.Get(digest).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_.Quarantine(digest, "a test").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(PutBytes(store_, "foreign", BlobKind::kArtifact).ok());
  EXPECT_EQ(store_.Get(digest)->bytes(), "foreign");
}

TEST_P(BlobStoreConformance, Quarantine_Pinned_IsDone) {
  const Digest digest = *PutBytes(store_, "foreign", BlobKind::kArtifact);
  const BlobPin pin(store_, digest);
  ASSERT_TRUE(store_.Quarantine(digest, "a test").ok());
  EXPECT_FALSE(*store_.Contains(digest));
}

TEST_P(BlobStoreConformance, Visit_SeesEveryBlobWithKindAndSize) {
  std::map<Digest, std::pair<BlobKind, std::uint64_t>> expected;
  for (const BlobKind kind : kBlobKinds) {
    const std::string bytes = TestBytes(100u + static_cast<std::size_t>(kind), 'v');
    expected[*PutBytes(store_, bytes, kind)] = {kind, bytes.size()};
  }
  std::map<Digest, std::pair<BlobKind, std::uint64_t>> seen;
  ASSERT_TRUE(store_
                  .Visit([&](const BlobEntry& entry) {
                    seen[entry.digest] = {entry.kind, entry.bytes};
                    return true;
                  })
                  .ok());
  EXPECT_EQ(seen, expected);
}

TEST_P(BlobStoreConformance, Visit_StopsWhenAsked) {
  ASSERT_TRUE(PutBytes(store_, "one", BlobKind::kOther).ok());
  ASSERT_TRUE(PutBytes(store_, "two", BlobKind::kOther).ok());
  int count = 0;
  ASSERT_TRUE(store_.Visit([&](const BlobEntry&) { return ++count < 1; }).ok());
  EXPECT_EQ(count, 1);
}

TEST_P(BlobStoreConformance, Put_LargerThanTheLimit_IsRefusedAndKeepsTheRest) {
  const Digest kept = *PutBytes(store_, "kept", BlobKind::kOther);
  const Result<Digest> refused =
      PutBytes(store_, TestBytes(kConformanceLimitBytes, 'x'), BlobKind::kOther);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(store_.Get(kept)->bytes(), "kept");
}

TEST_P(BlobStoreConformance, Put_BeyondTheLimit_EvictsTheLeastRecentlyUsed) {
  constexpr std::size_t kSize = kConformanceLimitBytes / 10;
  std::vector<Digest> digests;
  for (char i = 0; i < 9; ++i) {
    digests.push_back(*PutBytes(store_, TestBytes(kSize, i), BlobKind::kKernel));
  }
  ASSERT_TRUE(store_.Get(digests[0]).ok());  // Now digests[1] is the coldest.
  store_.Touch({&digests[1], 1});            // Now digests[2] is.
  const BlobPin pin(store_, digests[2]);     // Now digests[3] is the coldest that may leave.
  digests.push_back(*PutBytes(store_, TestBytes(kSize, 9), BlobKind::kKernel));
  std::vector<int> left;
  for (int i = 0; i < 10; ++i) {
    if (!*store_.Contains(digests[static_cast<std::size_t>(i)])) left.push_back(i);
  }
  EXPECT_THAT(left, testing::ElementsAre(3, 4));
}

TEST_P(BlobStoreConformance, Put_EverythingPinned_IsRefused) {
  constexpr std::size_t kSize = kConformanceLimitBytes / 4;
  std::vector<BlobPin> pins;
  std::vector<Digest> digests;
  for (char i = 0; i < 3; ++i) {
    digests.push_back(*PutBytes(store_, TestBytes(kSize, i), BlobKind::kKernel));
    pins.emplace_back(store_, digests.back());
  }
  const Result<Digest> refused = PutBytes(store_, TestBytes(kSize, 9), BlobKind::kKernel);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  for (const Digest& digest : digests) EXPECT_TRUE(store_.Get(digest).ok());
}

TEST_P(BlobStoreConformance, Pin_BeforePut_Protects) {
  constexpr std::size_t kSize = kConformanceLimitBytes / 10;
  const std::string bytes = TestBytes(kSize, 'p');
  const BlobPin pin(store_, Sha256Of(bytes));
  ASSERT_TRUE(PutBytes(store_, bytes, BlobKind::kKernel).ok());
  for (char i = 0; i < 20; ++i) {
    ASSERT_TRUE(PutBytes(store_, TestBytes(kSize, i), BlobKind::kKernel).ok());
  }
  EXPECT_TRUE(*store_.Contains(Sha256Of(bytes)));
}

TEST_P(BlobStoreConformance, HeldBlob_SurvivesDelete) {
  const Digest digest = *PutBytes(store_, "held", BlobKind::kOther);
  const Blob blob = *store_.Get(digest);
  ASSERT_TRUE(store_.Delete(digest).ok());
  EXPECT_EQ(blob.bytes(), "held");
}

TEST_P(BlobStoreConformance, Sync_AfterPuts_Succeeds) {
  ASSERT_TRUE(PutBytes(store_, "synced", BlobKind::kOther).ok());
  EXPECT_TRUE(store_.Sync().ok());
}

// Readers may miss what writers delete or the limit evicts, but never see other bytes.
TEST_P(BlobStoreConformance, ConcurrentUse_NeverShowsWrongBytes) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 150;
  constexpr std::size_t kNames = 24;
  constexpr std::size_t kSize = kConformanceLimitBytes / 16;
  std::vector<std::string> contents;
  std::vector<Digest> digests;
  for (std::size_t i = 0; i < kNames; ++i) {
    contents.push_back(TestBytes(kSize, static_cast<char>(i)));
    digests.push_back(Sha256Of(contents.back()));
  }
  std::atomic<int> wrong = 0;
  std::atomic<int> hits = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        const auto i = static_cast<std::size_t>(t * 7 + round * 5) % kNames;
        if (!PutBytes(store_, contents[i], BlobKind::kKernel).ok()) ++wrong;
        const Result<Blob> blob = store_.Get(digests[(i + 3) % kNames]);
        if (blob.ok()) {
          ++hits;
          if (blob->bytes() != contents[(i + 3) % kNames]) ++wrong;
        } else if (blob.error().code != ErrorCode::kNotFound) {
          ++wrong;
        }
        if (round % 16 == 0) {
          const Status deleted = store_.Delete(digests[i]);
          const bool pinned_or_gone =
              !deleted.ok() && (deleted.error().code == ErrorCode::kNotFound ||
                                deleted.error().code == ErrorCode::kFailedPrecondition);
          if (!deleted.ok() && !pinned_or_gone) ++wrong;
        }
        const BlobPin pin(store_, digests[(i + 1) % kNames]);
        store_.Touch(digests);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
  // Nothing that is listed is unreadable.
  std::vector<Digest> listed;
  ASSERT_TRUE(store_
                  .Visit([&](const BlobEntry& entry) {
                    listed.push_back(entry.digest);
                    return true;
                  })
                  .ok());
  for (const Digest& digest : listed) EXPECT_TRUE(store_.Get(digest).ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, BlobStoreConformance, testing::ValuesIn(BlobStoreCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stoker
