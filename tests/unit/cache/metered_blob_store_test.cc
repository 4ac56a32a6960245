#include "cache/policy/metered_blob_store.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/cache/fake_blob_store.h"

namespace stoker {
namespace {

TEST(LatencyHistogram, Record_CountsInTheSmallestBucketThatHolds) {
  LatencyHistogram histogram;
  histogram.Record(0);
  histogram.Record(1000);
  histogram.Record(1001);
  histogram.Record(std::int64_t{1} << 60);
  const LatencySnapshot snapshot = histogram.snapshot();
  EXPECT_EQ(snapshot.counts[0], 2u);
  EXPECT_EQ(snapshot.counts[1], 1u);
  EXPECT_EQ(snapshot.counts[kLatencyBuckets - 1], 1u);
  EXPECT_EQ(snapshot.total_ns, 2001 + (std::int64_t{1} << 60));
}

TEST(MeteredBlobStore, EveryCall_IsCounted) {
  auto inner = std::make_unique<FakeBlobStore>();
  FakeBlobStore& fake = *inner;
  std::int64_t now_ns = 0;
  MeteredBlobStore store(std::move(inner), [&] { return now_ns += 3000; });

  const Digest kept = *PutBytes(store, "kept!", BlobKind::kKernel);
  const Digest deleted = *PutBytes(store, "deleted", BlobKind::kKernel);
  const Digest foreign = *PutBytes(store, "foreign", BlobKind::kKernel);
  ASSERT_TRUE(store.Get(kept).ok());
  ASSERT_TRUE(store.Get(kept).ok());
  ASSERT_TRUE(store.Delete(deleted).ok());
  ASSERT_FALSE(store.Delete(deleted).ok());
  ASSERT_FALSE(store.Get(deleted).ok());
  ASSERT_TRUE(store.Quarantine(foreign, "a test").ok());
  fake.failure = Unavailable("away");
  ASSERT_FALSE(store.Get(kept).ok());
  ASSERT_FALSE(PutBytes(store, "refused", BlobKind::kKernel).ok());

  const StoreMetrics metrics = store.metrics();
  EXPECT_EQ(metrics.hits, 2u);
  EXPECT_EQ(metrics.misses, 1u);
  EXPECT_EQ(metrics.get_errors, 1u);
  EXPECT_EQ(metrics.get_bytes, 10u);
  EXPECT_EQ(metrics.puts, 3u);
  EXPECT_EQ(metrics.put_errors, 1u);
  EXPECT_EQ(metrics.put_bytes, 19u);
  EXPECT_EQ(metrics.deletes, 1u);
  EXPECT_EQ(metrics.quarantines, 1u);
  EXPECT_EQ(metrics.get_latency.counts[2], 4u);  // 3 us each.
  EXPECT_EQ(metrics.get_latency.total_ns, 12000);
  EXPECT_EQ(metrics.put_latency.counts[2], 4u);
}

}  // namespace
}  // namespace stoker
