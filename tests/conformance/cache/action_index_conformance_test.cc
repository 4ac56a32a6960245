// What every ActionIndex must do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "cache/action_index.h"
#include "tests/conformance/cache/stores.h"

namespace stoker {
namespace {

class ActionIndexConformance : public testing::TestWithParam<ActionIndexCase> {
 protected:
  // An entry whose blobs are stored.
  ActionEntry Entry(const std::string& label) {
    ActionEntry entry;
    entry.artifact = fixture_->StoreBlob("artifact " + label);
    entry.kind = BlobKind::kArtifact;
    entry.references = {fixture_->StoreBlob("kernel " + label), fixture_->StoreBlob("shared")};
    entry.bytes = 1234;
    entry.compile_seconds = 1.5;
    entry.published_unix_ns = 1'700'000'000'000'000'000;
    entry.label = label;
    entry.metadata = std::string("\0\xff field digests", 16);
    return entry;
  }

  std::vector<std::tuple<std::string, Digest, std::string>> List(std::string_view name_space) {
    std::vector<std::tuple<std::string, Digest, std::string>> list;
    const Status visited = index_.Visit(
        name_space, [&](std::string_view seen, const Digest& key, const ActionEntry& entry) {
          list.emplace_back(seen, key, entry.label);
          return true;
        });
    EXPECT_TRUE(visited.ok());
    return list;
  }

  std::unique_ptr<ActionIndexFixture> fixture_ = GetParam().make();
  ActionIndex& index_ = fixture_->index();
  const Digest key_ = Sha256Of("key");
};

TEST_P(ActionIndexConformance, Lookup_Absent_IsNotFound) {
  EXPECT_EQ(index_.Lookup("default", key_).error().code, ErrorCode::kNotFound);
}

TEST_P(ActionIndexConformance, PublishLookup_ReturnsEveryField) {
  const ActionEntry entry = Entry("gpt2");
  ASSERT_TRUE(index_.Publish("default", key_, entry, Durability::kBuffered).ok());
  const Result<ActionEntry> found = index_.Lookup("default", key_);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, entry);
}

TEST_P(ActionIndexConformance, Publish_Again_Replaces) {
  ASSERT_TRUE(index_.Publish("default", key_, Entry("first"), Durability::kSynced).ok());
  ASSERT_TRUE(index_.Publish("default", key_, Entry("better"), Durability::kSynced).ok());
  EXPECT_EQ(index_.Lookup("default", key_)->label, "better");
  EXPECT_EQ(List("").size(), 1u);
}

TEST_P(ActionIndexConformance, Namespaces_AreApart) {
  ASSERT_TRUE(index_.Publish("team", key_, Entry("one"), Durability::kSynced).ok());
  ASSERT_TRUE(index_.Publish("team-b", key_, Entry("two"), Durability::kSynced).ok());
  EXPECT_EQ(index_.Lookup("team", key_)->label, "one");
  EXPECT_EQ(index_.Lookup("team-b", key_)->label, "two");
  ASSERT_TRUE(index_.Remove("team", key_).ok());
  EXPECT_EQ(index_.Lookup("team", key_).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(index_.Lookup("team-b", key_).ok());
}

TEST_P(ActionIndexConformance, Remove_Absent_IsNotFound) {
  EXPECT_EQ(index_.Remove("default", key_).error().code, ErrorCode::kNotFound);
}

TEST_P(ActionIndexConformance, Visit_IsOrderedAndFiltersByNamespace) {
  Digest low = Sha256Of("a");
  Digest high = Sha256Of("b");
  if (high < low) std::swap(low, high);
  ASSERT_TRUE(index_.Publish("b", low, Entry("3"), Durability::kSynced).ok());
  ASSERT_TRUE(index_.Publish("a", high, Entry("2"), Durability::kSynced).ok());
  ASSERT_TRUE(index_.Publish("a", low, Entry("1"), Durability::kSynced).ok());
  ASSERT_TRUE(index_.Publish("ab", low, Entry("4"), Durability::kSynced).ok());
  using testing::ElementsAre;
  EXPECT_THAT(List(""), ElementsAre(std::tuple("a", low, "1"), std::tuple("a", high, "2"),
                                    std::tuple("ab", low, "4"), std::tuple("b", low, "3")));
  EXPECT_THAT(List("a"), ElementsAre(std::tuple("a", low, "1"), std::tuple("a", high, "2")));
  EXPECT_THAT(List("c"), testing::IsEmpty());
}

TEST_P(ActionIndexConformance, Visit_StopsWhenAsked) {
  ASSERT_TRUE(index_.Publish("a", Sha256Of("a"), Entry("1"), Durability::kSynced).ok());
  ASSERT_TRUE(index_.Publish("a", Sha256Of("b"), Entry("2"), Durability::kSynced).ok());
  int count = 0;
  ASSERT_TRUE(index_
                  .Visit("", [&](std::string_view, const Digest&,
                                 const ActionEntry&) { return ++count < 1; })
                  .ok());
  EXPECT_EQ(count, 1);
}

TEST_P(ActionIndexConformance, Visit_MayRemove) {
  ASSERT_TRUE(index_.Publish("a", Sha256Of("a"), Entry("1"), Durability::kSynced).ok());
  ASSERT_TRUE(index_.Publish("a", Sha256Of("b"), Entry("2"), Durability::kSynced).ok());
  ASSERT_TRUE(
      index_
          .Visit("", [&](std::string_view name_space, const Digest& key,
                         const ActionEntry&) { return index_.Remove(name_space, key).ok(); })
          .ok());
  EXPECT_THAT(List(""), testing::IsEmpty());
}

TEST_P(ActionIndexConformance, BadNamespace_IsRefusedByEveryCall) {
  const std::vector<std::string> names = {"UPPER", "a b", "a/b", "", std::string(65, 'a')};
  for (const std::string& name : names) {
    EXPECT_EQ(index_.Publish(name, key_, Entry("x"), Durability::kSynced).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(index_.Lookup(name, key_).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(index_.Remove(name, key_).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_P(ActionIndexConformance, EntryBeyondALimit_IsRefused) {
  std::vector<ActionEntry> bad(4, Entry("x"));
  bad[0].artifact = Digest();
  bad[1].label.assign(kMaxLabelBytes + 1, 'l');
  bad[2].metadata.assign(kMaxMetadataBytes + 1, 'm');
  bad[3].references.assign(kMaxReferences + 1, bad[3].artifact);
  for (const ActionEntry& entry : bad) {
    EXPECT_EQ(index_.Publish("default", key_, entry, Durability::kSynced).error().code,
              ErrorCode::kInvalidArgument);
  }
  EXPECT_THAT(List(""), testing::IsEmpty());
}

TEST_P(ActionIndexConformance, ConcurrentPublish_LeavesOneWholeEntry) {
  std::vector<ActionEntry> entries;
  for (int t = 0; t < 4; ++t) entries.push_back(Entry("writer " + std::to_string(t)));
  std::vector<std::thread> threads;
  for (const ActionEntry& entry : entries) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        EXPECT_TRUE(index_.Publish("default", key_, entry, Durability::kSynced).ok());
        const Result<ActionEntry> found = index_.Lookup("default", key_);
        ASSERT_TRUE(found.ok());
        EXPECT_THAT(entries, testing::Contains(*found));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(List("").size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Indexes, ActionIndexConformance, testing::ValuesIn(ActionIndexCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stoker
