#include "protocol/wire/upkeep_messages.h"

#include <gmock/gmock.h>

#include <limits>

#include "protocol/wire/limits.h"
#include "protocol/wire/proto/proto_writer.h"
#include "stoker.pb.h"

namespace stoker::wire {
namespace {

using testing::HasSubstr;

const Digest kKey = Sha256Of("key");
const Pin kPin{"team", kKey, "artifact", "model", 4096, 1.5};

template <typename Message>
void ExpectSameBytes(const std::string& encoded) {
  Message message;
  ASSERT_TRUE(message.ParseFromString(encoded)) << message.GetTypeName();
  EXPECT_EQ(message.SerializeAsString(), encoded) << message.GetTypeName();
}

TEST(UpkeepMessages, Encode_SameBytesAsProtobuf) {
  ExpectSameBytes<pb::GcRequest>(EncodeGcRequest({4096, 3600.0}));
  ExpectSameBytes<pb::PurgeRequest>(EncodePurgeRequest({"team", "stoker-1", 86400.0, true}));
  ExpectSameBytes<pb::PinRequest>(EncodePinRequest({"team", "0123"}));
  ExpectSameBytes<pb::Pin>(EncodePin(kPin));
  ExpectSameBytes<pb::PinsRequest>(EncodePinsRequest({"team"}));
  ExpectSameBytes<pb::PinList>(EncodePinList({{kPin, kPin}, 8192, 10000}));
  ExpectSameBytes<pb::UpkeepEvent>(EncodeUpkeepEvent(Progress{"verifying", 3, 7, "", 1.5}));
  ExpectSameBytes<pb::UpkeepEvent>(EncodeUpkeepEvent(UpkeepReport{{{"blobs", 3}, {"bytes", 0}}}));
  ExpectSameBytes<pb::UpkeepEvent>(EncodeUpkeepEvent(ErrorReply{ErrorCode::kInternal, "why", ""}));
}

TEST(UpkeepMessages, Decode_GivesWhatWasEncoded) {
  EXPECT_EQ(DecodeGcRequest(EncodeGcRequest({0, 0}))->limit_bytes, 0U);
  EXPECT_FALSE(DecodeGcRequest(EncodeGcRequest({}))->limit_bytes.has_value());
  EXPECT_EQ(DecodeGcRequest(EncodeGcRequest({4096, 2.5}))->unnamed_seconds, 2.5);
  const auto purge = DecodePurgeRequest(EncodePurgeRequest({"team", "stoker-1", 86400.0, true}));
  ASSERT_TRUE(purge.ok());
  EXPECT_EQ(purge->ns, "team");
  EXPECT_EQ(purge->compiler_epoch, "stoker-1");
  EXPECT_EQ(purge->unused_seconds, 86400.0);
  EXPECT_TRUE(purge->dry_run);
  EXPECT_EQ(DecodePinRequest(EncodePinRequest({"", "0123"}))->ns, kDefaultNamespace);
  EXPECT_EQ(DecodePinRequest(EncodePinRequest({"team", "0123"}))->key_prefix, "0123");
  EXPECT_EQ(DecodePinsRequest(EncodePinsRequest({""}))->ns, "");
  const auto list = DecodePinList(EncodePinList({{kPin}, 8192, 10000}));
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->pins.size(), 1U);
  EXPECT_EQ(list->pins[0].ns + list->pins[0].kind + list->pins[0].label, "teamartifactmodel");
  EXPECT_EQ(list->pins[0].key, kKey);
  EXPECT_EQ(list->pins[0].size_bytes, 4096U);
  EXPECT_EQ(list->pins[0].pinned_unix_s, 1.5);
  EXPECT_EQ(list->bytes, 8192U);
  EXPECT_EQ(list->limit_bytes, 10000U);
  const auto event = DecodeUpkeepEvent(EncodeUpkeepEvent(UpkeepReport{{{"blobs", 3}}}));
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(std::get<UpkeepReport>(*event).counts[0].name, "blobs");
  EXPECT_EQ(std::get<UpkeepReport>(*event).counts[0].value, 3U);
}

TEST(UpkeepMessages, Decode_WrongField_IsNamed) {
  EXPECT_THAT(DecodePurgeRequest("").error().message, HasSubstr("'purge' says neither"));
  PurgeRequest purge{"UPPER", "", 0.0, false};
  EXPECT_THAT(DecodePurgeRequest(EncodePurgeRequest(purge)).error().message,
              HasSubstr("'purge.namespace'"));
  for (const double seconds : {-1.0, std::numeric_limits<double>::infinity(), 1e300}) {
    purge = {"team", "", seconds, false};
    EXPECT_THAT(DecodePurgeRequest(EncodePurgeRequest(purge)).error().message,
                HasSubstr("'purge.unused_seconds'"));
    EXPECT_THAT(DecodeGcRequest(EncodeGcRequest({1, seconds})).error().message,
                HasSubstr("'gc.unnamed_seconds'"));
  }
  for (const char* prefix : {"", "012", "0123X", "0123A"}) {
    EXPECT_THAT(
        DecodePinRequest(EncodePinRequest({"team", prefix})).error().message,
        testing::MatchesRegex("Field 'pin.key_prefix' is '.*'; a key begins with 4 to 64 .*"));
  }
  EXPECT_THAT(DecodePin("").error().message, HasSubstr("'pin.key'"));
  EXPECT_THAT(DecodePinsRequest(EncodePinsRequest({"UPPER"})).error().message,
              HasSubstr("'pins.namespace'"));
  const UpkeepReport talkative{std::vector<UpkeepReport::Count>(kMaxUpkeepCounts + 1)};
  EXPECT_THAT(DecodeUpkeepEvent(EncodeUpkeepEvent(talkative)).error().message,
              HasSubstr("'upkeep.counts'"));
}

}  // namespace
}  // namespace stoker::wire
