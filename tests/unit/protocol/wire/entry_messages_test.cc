#include "protocol/wire/entry_messages.h"

#include <gtest/gtest.h>

#include "stoker.pb.h"

namespace stoker::wire {
namespace {

const Digest kA = Sha256Of("a");
const Digest kB = Sha256Of("b");

StoredEntry SampleEntry() {
  return {"team", kA, "artifact", "gpt2", 1.5, kB, {kB, kA}, std::string("\0\xff", 2)};
}

template <typename Message>
void ExpectSameBytes(const std::string& encoded) {
  Message message;
  ASSERT_TRUE(message.ParseFromString(encoded)) << message.GetTypeName();
  EXPECT_EQ(message.SerializeAsString(), encoded) << message.GetTypeName();
}

TEST(EntryMessages, Encode_SameBytesAsProtobuf) {
  ExpectSameBytes<pb::EntryQuery>(EncodeEntryQuery({"team", kA}));
  ExpectSameBytes<pb::StoredEntry>(EncodeStoredEntry(SampleEntry()));
  ExpectSameBytes<pb::EntryReply>(EncodeEntryReply({{kA, kB}}));
}

TEST(EntryMessages, Decode_GivesWhatWasEncoded) {
  const StoredEntry entry = DecodeStoredEntry(EncodeStoredEntry(SampleEntry())).value();
  EXPECT_EQ(entry.ns, "team");
  EXPECT_EQ(entry.key, kA);
  EXPECT_EQ(entry.kind, "artifact");
  EXPECT_EQ(entry.label, "gpt2");
  EXPECT_EQ(entry.compile_seconds, 1.5);
  EXPECT_EQ(entry.artifact, kB);
  EXPECT_EQ(entry.references, SampleEntry().references);
  EXPECT_EQ(entry.metadata, SampleEntry().metadata);
  const EntryQuery query = DecodeEntryQuery(EncodeEntryQuery({"", kB})).value();
  EXPECT_EQ(query.ns, "default");
  EXPECT_EQ(query.key, kB);
  EXPECT_EQ(DecodeEntryReply(EncodeEntryReply({{kA}}))->missing, std::vector<Digest>{kA});
  EXPECT_TRUE(DecodeEntryReply("")->missing.empty());
}

TEST(EntryMessages, WrongFields_AreNamed) {
  const auto field_of = [](const auto& decoded) {
    return decoded.ok() ? "none" : ErrorReplyOf(decoded.error()).field;
  };
  pb::StoredEntry entry;
  EXPECT_EQ(field_of(DecodeStoredEntry(entry.SerializeAsString())), "entry.key");
  entry.set_key(kA.ToHex());
  EXPECT_EQ(field_of(DecodeStoredEntry(entry.SerializeAsString())), "entry.key");
  entry.set_key(std::string(kA.AsBytes()));
  entry.add_references("short");
  EXPECT_EQ(field_of(DecodeStoredEntry(entry.SerializeAsString())), "entry.references");
  entry.clear_references();
  entry.set_namespace_("Team A");
  EXPECT_EQ(field_of(DecodeStoredEntry(entry.SerializeAsString())), "entry.namespace");
  entry.clear_namespace_();
  entry.set_compile_seconds(-1);
  EXPECT_EQ(field_of(DecodeStoredEntry(entry.SerializeAsString())), "entry.compile_seconds");
  EXPECT_EQ(field_of(DecodeEntryQuery("")), "entry.key");
  EXPECT_EQ(field_of(DecodeEntryReply("\xff\xff")), "entry");
}

}  // namespace
}  // namespace stoker::wire
