#include "daemon/service/capture_store.h"

#include <gmock/gmock.h>

#include "cache/complete_action_index.h"
#include "cache/memory_action_index.h"
#include "cache/memory_blob_store.h"
#include "protocol/artifact/capture_envelope.h"
#include "protocol/wire/limits.h"
#include "tests/unit/daemon/service/forwarding_stack.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CaptureStoreTest : public testing::Test {
 protected:
  static wire::CaptureQuery Key(const std::string& entry, const std::string& torch = "2") {
    wire::CaptureQuery query;
    query.capture_key = Sha256Of(entry + "/" + torch);
    query.fields = {{"entry", entry, Sha256Of(entry)}, {"torch", torch, Sha256Of(torch)}};
    return query;
  }
  Status Put(const wire::CaptureQuery& key, const std::string& content) {
    return store_.Put({key, "label of " + content, SealCapture(content)});
  }
  // The contents under a key, as found.
  std::vector<std::string> Contents(const wire::CaptureQuery& key) {
    std::vector<std::string> contents;
    const auto found = store_.Find(key);
    if (!found.ok()) return contents;
    for (const wire::Blob& capture : found->captures) {
      EXPECT_EQ(Sha256Of(capture.data), capture.digest);
      contents.emplace_back(OpenCapture(capture.data).value());
    }
    return contents;
  }
  static Digest DigestOf(const std::string& content) { return Sha256Of(SealCapture(content)); }

  std::unique_ptr<CacheStack> stack_ = CacheStack::Open(StackConfig{}, nullptr).value();
  CaptureStore store_{*stack_};
};

TEST_F(CaptureStoreTest, Find_Nothing_NotFound) {
  EXPECT_EQ(store_.Find(Key("f")).error().code, ErrorCode::kNotFound);
}

TEST_F(CaptureStoreTest, Put_Several_MostRecentFirst) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(Put(Key("f"), "two").ok());
  ASSERT_TRUE(Put(Key("g"), "other").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("two", "one"));
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("one", "two"));
}

TEST_F(CaptureStoreTest, Put_BeyondLimit_OldestGoes) {
  for (std::size_t i = 0; i <= wire::kMaxCapturesPerKey; ++i) {
    ASSERT_TRUE(Put(Key("f"), std::to_string(i)).ok());
  }
  const auto contents = Contents(Key("f"));
  ASSERT_EQ(contents.size(), wire::kMaxCapturesPerKey);
  EXPECT_EQ(contents.front(), std::to_string(wire::kMaxCapturesPerKey));
  EXPECT_EQ(contents.back(), "1");
}

TEST_F(CaptureStoreTest, Put_NoEnvelope_Refused) {
  const Status status = store_.Put({Key("f"), "", "no envelope"});
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, HasSubstr("'capture.capture'"));
  EXPECT_THAT(Contents(Key("f")), IsEmpty());
}

TEST_F(CaptureStoreTest, Drop_OneOfTwo_TheOtherStays) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(Put(Key("f"), "two").ok());
  ASSERT_TRUE(store_.Drop({"default", Key("f").capture_key, DigestOf("two")}).ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("one"));
}

// What is of another key or format is wrong under the one and may be right under the other.
TEST_F(CaptureStoreTest, Drop_WholeBytesUnderTwoKeys_TheOtherKeyKeepsThem) {
  ASSERT_TRUE(Put(Key("f"), "own").ok());
  ASSERT_TRUE(Put(Key("f"), "equal").ok());
  ASSERT_TRUE(Put(Key("g"), "further").ok());
  ASSERT_TRUE(Put(Key("g"), "equal").ok());
  ASSERT_TRUE(store_.Drop({"default", Key("f").capture_key, DigestOf("equal")}).ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("own"));
  EXPECT_THAT(Contents(Key("g")), ElementsAre("equal", "further"));
}

TEST_F(CaptureStoreTest, Drop_WholeBytesUnderTwoNamespaces_TheOtherKeepsThem) {
  wire::CaptureQuery other = Key("f");
  other.ns = "team";
  ASSERT_TRUE(Put(Key("f"), "equal").ok());
  ASSERT_TRUE(Put(other, "equal").ok());
  ASSERT_TRUE(store_.Drop({"default", Key("f").capture_key, DigestOf("equal")}).ok());
  EXPECT_THAT(Contents(Key("f")), IsEmpty());
  EXPECT_THAT(Contents(other), ElementsAre("equal"));
}

TEST_F(CaptureStoreTest, Put_WhatWasDropped_IsFoundAgain) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(store_.Drop({"default", Key("f").capture_key, DigestOf("one")}).ok());
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  EXPECT_THAT(Contents(Key("f")), ElementsAre("one"));
}

TEST_F(CaptureStoreTest, Drop_Last_KeyIsGone) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ASSERT_TRUE(store_.Drop({"default", Key("f").capture_key, DigestOf("one")}).ok());
  EXPECT_EQ(store_.Find(Key("f")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_.Drop({"default", Key("f").capture_key, DigestOf("one")}).error().code,
            ErrorCode::kNotFound);
}

TEST_F(CaptureStoreTest, Find_KeyOfAnArtifact_NotFound) {
  const NamedBlob blob = NamedBlob::Of(Blob("artifact", BlobKind::kArtifact));
  ASSERT_TRUE(stack_->blobs().Put(blob).ok());
  ActionEntry entry;
  entry.artifact = blob.digest();
  ASSERT_TRUE(
      stack_->actions().Publish("default", Key("f").capture_key, entry, Durability::kSynced).ok());
  EXPECT_EQ(store_.Find(Key("f")).error().code, ErrorCode::kNotFound);
}

TEST_F(CaptureStoreTest, Put_KeyOfAnArtifact_IsRefused_AndTheEntryStays) {
  ActionEntry artifact;
  artifact.artifact = *PutBytes(stack_->blobs(), "artifact", BlobKind::kArtifact);
  ASSERT_TRUE(stack_->actions()
                  .Publish("default", Key("f").capture_key, artifact, Durability::kSynced)
                  .ok());
  const Status status = Put(Key("f"), "one");
  EXPECT_EQ(status.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status.error().message, HasSubstr("kind 'artifact'"));
  EXPECT_EQ(stack_->actions().Lookup("default", Key("f").capture_key)->artifact, artifact.artifact);
}

TEST_F(CaptureStoreTest, ExplainMiss_NamesNearestKeyAndFirstDifference) {
  EXPECT_EQ(store_.ExplainMiss(Key("f")).name, "no captures");
  ASSERT_TRUE(Put(Key("g", "1"), "far").ok());
  ASSERT_TRUE(Put(Key("f", "1"), "near").ok());
  const MissReason reason = store_.ExplainMiss(Key("f", "2"));
  EXPECT_EQ(reason.name, "torch is new");
  EXPECT_THAT(reason.text, HasSubstr("has 1, this one 2"));
  EXPECT_THAT(reason.text, HasSubstr(Key("f", "1").capture_key.ToHex().substr(0, 16)));
}

TEST_F(CaptureStoreTest, List_ShowsCapturesByKind) {
  ASSERT_TRUE(Put(Key("f"), "one").ok());
  ArtifactStore artifacts(*stack_);
  const auto listed = artifacts.List({"", "capture", 0}).value().entries;
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].key, Key("f").capture_key);
  EXPECT_EQ(listed[0].label, "label of one");
  EXPECT_EQ(listed[0].size_bytes, SealCapture("one").size());
}

// Gives other bytes than were put for one blob, or an error.
class RottingBlobs : public MemoryBlobStore {
 public:
  RottingBlobs() : MemoryBlobStore(Watermarks::Of(std::uint64_t{1} << 20)) {}

  Result<Blob> Get(const Digest& digest) override {
    STOKER_TRY(Blob blob, MemoryBlobStore::Get(digest));
    if (digest != rotten) return blob;
    if (failure) return *failure;
    std::string bytes(blob.bytes());
    bytes.back() ^= 1;
    return Blob(std::move(bytes), blob.kind());
  }

  Digest rotten;
  std::optional<Error> failure;
};

class RottingStack : public ForwardingStack {
 public:
  RottingBlobs& blobs() override { return blobs_; }
  ActionIndex& actions() override { return actions_; }

 private:
  RottingBlobs blobs_;
  CompleteActionIndex actions_{std::make_unique<MemoryActionIndex>(), blobs_};
};

class DamagedCaptureTest : public testing::Test {
 protected:
  Status Put(const Digest& key) { return store_.Put({{"default", key, {}}, "", capture_}); }
  Status Drop(const Digest& key) { return store_.Drop({"default", key, digest_}); }
  ErrorCode CodeOfFind(const Digest& key) {
    const auto found = store_.Find({"default", key, {}});
    return found.ok() ? ErrorCode::kInternal : found.error().code;
  }

  const Digest one_ = Sha256Of("one key");
  const Digest other_ = Sha256Of("other key");
  const std::string capture_ = SealCapture("content");
  const Digest digest_ = Sha256Of(capture_);
  RottingStack stack_;
  CaptureStore store_{stack_};
};

TEST_F(DamagedCaptureTest, Drop_DamagedBytes_AreQuarantinedUnderEveryKey) {
  ASSERT_TRUE(Put(one_).ok());
  ASSERT_TRUE(Put(other_).ok());
  stack_.blobs().rotten = digest_;
  EXPECT_TRUE(Drop(one_).ok());
  EXPECT_FALSE(*stack_.blobs().Contains(digest_));
  EXPECT_EQ(CodeOfFind(one_), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOfFind(other_), ErrorCode::kDataLoss);
  stack_.blobs().rotten = Digest();
  EXPECT_TRUE(Put(other_).ok());
  EXPECT_EQ(store_.Find({"default", other_, {}})->captures.at(0).data, capture_);
}

TEST_F(DamagedCaptureTest, Drop_StoreSawTheDamageItself_Ok) {
  ASSERT_TRUE(Put(one_).ok());
  stack_.blobs().rotten = digest_;
  stack_.blobs().failure = NotFound("damaged");
  EXPECT_TRUE(Drop(one_).ok());
  EXPECT_EQ(CodeOfFind(one_), ErrorCode::kNotFound);
}

TEST_F(DamagedCaptureTest, Drop_BytesCannotBeReadNow_SaysSoAndTheKeyIsGone) {
  ASSERT_TRUE(Put(one_).ok());
  stack_.blobs().rotten = digest_;
  stack_.blobs().failure = Unavailable("away");
  EXPECT_EQ(Drop(one_).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(*stack_.blobs().Contains(digest_));
  EXPECT_EQ(CodeOfFind(one_), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace stoker
