#include "protocol/wire/capture_messages.h"

#include <gmock/gmock.h>

#include "protocol/wire/limits.h"
#include "stoker.pb.h"

namespace stoker::wire {
namespace {

using testing::HasSubstr;

const Digest kA = Sha256Of("a");
const Digest kB = Sha256Of("b");

const SigningKey kWriter = SigningKey::FromSeed(std::string(SigningKey::kSeedSize, 'w')).value();
const PublicKey kReader =
    SigningKey::FromSeed(std::string(SigningKey::kSeedSize, 'r'))->public_key();

CaptureQuery SampleQuery() {
  return {
      "team", kA, {{"entry", "models:f", kB}, {"torch", "2", kA}}, {kWriter.public_key(), kReader}};
}

CaptureDrop SampleDrop() {
  return {"team", kA, kB, {kWriter.public_key(), kReader}, kWriter.Sign("drop")};
}

template <typename Message>
void ExpectSameBytes(const std::string& encoded) {
  Message message;
  ASSERT_TRUE(message.ParseFromString(encoded)) << message.GetTypeName();
  EXPECT_EQ(message.SerializeAsString(), encoded) << message.GetTypeName();
}

TEST(CaptureMessages, Encode_SameBytesAsProtobuf) {
  ExpectSameBytes<pb::CaptureQuery>(EncodeCaptureQuery(SampleQuery()));
  ExpectSameBytes<pb::CaptureList>(EncodeCaptureList({{{kA, "bytes"}, {kB, ""}}}));
  ExpectSameBytes<pb::CapturePut>(EncodeCapturePut({SampleQuery(), "label", "capture"}));
  ExpectSameBytes<pb::CaptureDrop>(EncodeCaptureDrop(SampleDrop()));
  ExpectSameBytes<pb::CaptureNote>(EncodeCaptureNote({"team", "f", "miss", "guard", "why"}));
}

TEST(CaptureMessages, Decode_GivesWhatWasEncoded) {
  const auto put = DecodeCapturePut(EncodeCapturePut({SampleQuery(), "label", "capture"}));
  ASSERT_TRUE(put.ok());
  EXPECT_EQ(put->key.ns, "team");
  EXPECT_EQ(put->key.capture_key, kA);
  ASSERT_EQ(put->key.fields.size(), 2U);
  EXPECT_EQ(put->key.fields[0].tag, "entry");
  EXPECT_EQ(put->key.fields[0].text, "models:f");
  EXPECT_EQ(put->key.fields[0].digest, kB);
  EXPECT_EQ(put->label, "label");
  EXPECT_EQ(put->capture, "capture");

  const auto list = DecodeCaptureList(EncodeCaptureList({{{kA, "bytes"}}}));
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->captures.size(), 1U);
  EXPECT_EQ(list->captures[0].digest, kA);
  EXPECT_EQ(list->captures[0].data, "bytes");

  EXPECT_EQ(put->key.writers, SampleQuery().writers);

  const auto drop = DecodeCaptureDrop(EncodeCaptureDrop(SampleDrop()));
  ASSERT_TRUE(drop.ok());
  EXPECT_EQ(drop->capture, kB);
  EXPECT_EQ(drop->writers, SampleDrop().writers);
  EXPECT_EQ(drop->signature, SampleDrop().signature);

  const auto note = DecodeCaptureNote(EncodeCaptureNote({"", "f", "hit", "r", "d"}));
  ASSERT_TRUE(note.ok());
  EXPECT_EQ(note->ns, kDefaultNamespace);
  EXPECT_EQ(note->entry + note->outcome + note->reason + note->detail, "fhitrd");
}

TEST(CaptureMessages, Decode_WrongField_IsNamed) {
  CaptureQuery query = SampleQuery();
  query.capture_key = Digest();
  EXPECT_THAT(DecodeCaptureQuery(EncodeCaptureQuery(query)).error().message,
              HasSubstr("'capture.capture_key'"));
  query = SampleQuery();
  query.fields.resize(kMaxKeyFields + 1);
  EXPECT_THAT(DecodeCaptureQuery(EncodeCaptureQuery(query)).error().message,
              HasSubstr("'capture.fields'"));
  query = SampleQuery();
  query.fields[0].text.assign(kMaxCaptureFieldBytes + 1, 'x');
  EXPECT_THAT(DecodeCaptureQuery(EncodeCaptureQuery(query)).error().message,
              HasSubstr("'capture.fields.text'"));
  query = SampleQuery();
  query.writers.resize(kMaxWriters + 1);
  EXPECT_THAT(DecodeCaptureQuery(EncodeCaptureQuery(query)).error().message,
              HasSubstr("'capture.writers'"));
  const std::string drop = EncodeCaptureDrop(SampleDrop());
  for (const char* field : {"\x22\x02no", "\x2a\x02no"}) {
    EXPECT_THAT(DecodeCaptureDrop(drop + field).error().message, HasSubstr("has 2 bytes"));
  }
  query = SampleQuery();
  query.ns = "UPPER";
  EXPECT_THAT(DecodeCapturePut(EncodeCapturePut({query, "", ""})).error().message,
              HasSubstr("'capture.namespace'"));
  EXPECT_THAT(DecodeCaptureNote(EncodeCaptureNote({"", "f", "perhaps", "", ""})).error().message,
              HasSubstr("'capture.outcome'"));
  CaptureNote talkative{"", "f", "miss", std::string(kMaxCaptureReasonBytes + 1, 'x'), ""};
  EXPECT_THAT(DecodeCaptureNote(EncodeCaptureNote(talkative)).error().message,
              HasSubstr("'capture.reason'"));
  const CaptureList many{std::vector<Blob>(kMaxCapturesPerKey + 1, {kA, ""})};
  EXPECT_THAT(DecodeCaptureList(EncodeCaptureList(many)).error().message, HasSubstr("'captures'"));
}

}  // namespace
}  // namespace stoker::wire
