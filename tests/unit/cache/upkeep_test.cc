#include "cache/upkeep/upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cache/memory/memory_action_index.h"
#include "cache/memory/memory_blob_store.h"

namespace stoker {
namespace {

using testing::ElementsAre;

class UpkeepTest : public testing::Test {
 protected:
  Digest Put(const std::string& bytes, BlobKind kind = BlobKind::kKernel) {
    return *PutBytes(blobs_, bytes, kind);
  }
  void Publish(std::string_view name_space, const std::string& name,
               const std::vector<std::string>& blobs) {
    ActionEntry entry;
    entry.artifact = Put(blobs[0]);
    for (std::size_t i = 1; i < blobs.size(); ++i) entry.references.push_back(Put(blobs[i]));
    entry.label = name;
    ASSERT_TRUE(actions_.Publish(name_space, Sha256Of(name), entry, Durability::kSynced).ok());
  }
  std::vector<std::string> Labels() {
    std::vector<std::string> labels;
    EXPECT_TRUE(actions_
                    .Visit("",
                           [&](std::string_view, const Digest&, const ActionEntry& entry) {
                             labels.push_back(entry.label);
                             return true;
                           })
                    .ok());
    std::sort(labels.begin(), labels.end());
    return labels;
  }
  bool Has(const std::string& bytes) { return *blobs_.Contains(Sha256Of(bytes)); }
  Result<PurgeReport> Purge(const PurgeRequest& request) {
    return PurgeEntries(
        actions_, blobs_, request,
        [&](std::string_view, const Digest& key) { return key == pinned_; }, watch_);
  }
  PurgeRequest OfTeam() {
    PurgeRequest request;
    request.matches = [](std::string_view name_space, const Digest&, const ActionEntry&,
                         std::int64_t) { return name_space == "team"; };
    request.shadows = {"kernels"};
    return request;
  }

  std::int64_t now_ns_ = 0;
  MemoryBlobStore blobs_{Watermarks::Of(1 << 20), [this] { return ++now_ns_; }};
  MemoryActionIndex actions_;
  Digest pinned_;
  std::atomic<bool> stop_ = false;
  UpkeepWatch watch_{.progress = {}, .stop = stop_};
};

TEST_F(UpkeepTest, Purge_TakesEntriesAndWhatOnlyTheyName) {
  Publish("team", "a", {"manifest a", "shared kernel", "kernel a"});
  Publish("other", "b", {"manifest b", "shared kernel"});
  Publish("kernels", "k1", {"shared kernel"});
  Publish("kernels", "k2", {"kernel a"});
  PurgeRequest request = OfTeam();
  request.dry_run = true;
  const PurgeReport would = *Purge(request);
  EXPECT_THAT(Labels(), ElementsAre("a", "b", "k1", "k2"));
  EXPECT_EQ(would.entries, 1u);
  EXPECT_EQ(would.blobs, 2u);
  EXPECT_EQ(would.bytes, 18u);
  const PurgeReport did = *Purge(OfTeam());
  EXPECT_EQ(did.entries, would.entries);
  EXPECT_EQ(did.blobs, would.blobs);
  EXPECT_EQ(did.bytes, would.bytes);
  EXPECT_THAT(Labels(), ElementsAre("b", "k1"));
  EXPECT_TRUE(Has("shared kernel") && Has("manifest b"));
  EXPECT_FALSE(Has("kernel a") || Has("manifest a"));
}

TEST_F(UpkeepTest, Purge_PinnedEntriesAndBlobs_Stay) {
  Publish("team", "a", {"manifest a", "kernel"});
  Publish("team", "b", {"manifest b", "kernel", "kernel of a compile under way"});
  pinned_ = Sha256Of("a");
  const BlobPin pin(blobs_, Sha256Of("kernel of a compile under way"));
  const PurgeReport report = *Purge(OfTeam());
  EXPECT_EQ(report.entries, 1u);
  EXPECT_EQ(report.pinned_entries, 1u);
  EXPECT_EQ(report.blobs, 1u);
  EXPECT_THAT(Labels(), ElementsAre("a"));
  EXPECT_TRUE(Has("kernel") && Has("kernel of a compile under way"));
}

TEST_F(UpkeepTest, Purge_ByLastUse_AsksWhenTheArtifactWasUsed) {
  Publish("team", "a", {"manifest a"});
  Publish("team", "b", {"manifest b"});
  const std::int64_t then = now_ns_;
  ASSERT_TRUE(blobs_.Get(Sha256Of("manifest a")).ok());
  PurgeRequest request;
  request.wants_last_use = true;
  request.matches = [&](std::string_view, const Digest&, const ActionEntry&,
                        std::int64_t last_used_unix_ns) { return last_used_unix_ns <= then; };
  EXPECT_EQ(Purge(request)->entries, 1u);
  EXPECT_THAT(Labels(), ElementsAre("a"));
}

TEST_F(UpkeepTest, Purge_Stopped_SaysSo) {
  Publish("team", "a", {"manifest a"});
  stop_ = true;
  EXPECT_EQ(Purge(OfTeam()).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(Labels(), ElementsAre("a"));
}

TEST_F(UpkeepTest, DropUnnamed_TakesOldBlobsThatNothingNames) {
  Publish("team", "a", {"manifest a", "kernel a"});
  Put("left behind");
  Put("put by hand", BlobKind::kOther);
  Put("about to be named");
  const BlobPin pin(blobs_, Sha256Of("about to be named"));
  const std::int64_t then = ++now_ns_;
  Put("new");
  const Dropped dropped = *DropUnnamed(actions_, blobs_, then, watch_);
  EXPECT_EQ(dropped.blobs, 1u);
  EXPECT_EQ(dropped.bytes, 11u);
  EXPECT_FALSE(Has("left behind"));
  for (const char* kept : {"manifest a", "kernel a", "put by hand", "about to be named", "new"}) {
    EXPECT_TRUE(Has(kept)) << kept;
  }
}

TEST_F(UpkeepTest, Verify_QuarantinesDamage_AndRepairsItFromAGoodCopy) {
  const Digest good = Put("good");
  const Digest wrong = Put("wrong");
  const Digest unreadable = Put("unreadable");
  const Digest mended = Put("mended");
  const Digest spoiled_twice = Put("spoiled twice");
  const Digest gone = Put("gone");
  std::map<Digest, std::string> others = {{mended, "mended"}, {spoiled_twice, "not that either"}};
  std::vector<std::uint64_t> told;
  const VerifyPlaces places{
      .listed = blobs_,
      .read = [&](const Digest& digest) -> Result<Blob> {
        if (digest == unreadable) return DataLoss("its checksum is wrong");
        if (digest == gone) return NotFound("evicted");
        const bool is_damaged = digest == wrong || digest == mended || digest == spoiled_twice;
        return is_damaged ? Blob("spoiled", BlobKind::kKernel) : *blobs_.Get(digest);
      },
      .other_copy = [&](const Digest& digest) -> std::optional<Blob> {
        const auto copy = others.find(digest);
        if (copy == others.end()) return std::nullopt;
        return Blob(copy->second, BlobKind::kKernel);
      },
      .store = blobs_};
  watch_.progress = [&](std::string_view, std::uint64_t done, std::uint64_t) {
    told.push_back(done);
  };
  const VerifyReport report = *VerifyBlobs(places, watch_);
  EXPECT_EQ(report.blobs, 5u);
  EXPECT_EQ(report.damaged, 4u);
  EXPECT_EQ(report.repaired, 1u);
  EXPECT_EQ(told.back(), 5u);
  EXPECT_TRUE(*blobs_.Contains(good));
  EXPECT_EQ(blobs_.Get(mended)->bytes(), "mended");
  for (const Digest& digest : {wrong, unreadable, spoiled_twice}) {
    EXPECT_FALSE(*blobs_.Contains(digest));
  }
  stop_ = true;
  EXPECT_EQ(VerifyBlobs(places, watch_).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace stoker
