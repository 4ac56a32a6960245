// The protobuf wire format: every type, and every way in which bytes can be none.
#include "protocol/wire/proto/proto_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/wire/proto/proto_writer.h"

namespace stoker::wire {
namespace {

using testing::HasSubstr;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// The one field of `bytes`, which it looks into.
ProtoField FieldOf(std::string&& bytes) = delete;
ProtoField FieldOf(const std::string& bytes) {
  ProtoReader reader("message", bytes);
  const ProtoField field = reader.Next().value();
  EXPECT_TRUE(reader.AtEnd());
  return field;
}

TEST(ProtoReader, Varint_EveryLength_ReadsWhatWasWritten) {
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t value :
         {std::uint64_t{1} << shift, (std::uint64_t{1} << shift) - 1, ~std::uint64_t{0} >> shift}) {
      if (value == 0) continue;
      ProtoWriter writer;
      writer.UInt(3, value);
      const std::string bytes = std::move(writer).Take();
      std::uint64_t read = 0;
      const ProtoField field = FieldOf(bytes);
      ASSERT_TRUE(field.Get("value", &read).ok());
      EXPECT_EQ(field.number(), 3U);
      EXPECT_EQ(read, value);
    }
  }
}

TEST(ProtoReader, Ints_PackedAndNot_AreTheSame) {
  ProtoWriter writer;
  const std::int64_t values[] = {0, -1, 300, INT64_MIN};
  writer.PackedInts(2, values);
  // Field 2, not packed: 5, then -1.
  const std::string bytes = std::move(writer).Take() + Bytes({0x10, 5, 0x10, 0xff, 0xff, 0xff, 0xff,
                                                              0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  std::vector<std::int64_t> read;
  const Status status = ForEachField("message", bytes, [&](const ProtoField& field) {
    return field.ForEachInt("values", [&](std::int64_t value) {
      read.push_back(value);
      return Ok();
    });
  });
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(read, testing::ElementsAre(0, -1, 300, INT64_MIN, 5, -1));
}

TEST(ProtoReader, Malformed_SaysWhatAndWhere) {
  const struct {
    std::string bytes;
    const char* message;
  } rows[] = {
      {Bytes({0x80}), "a number is cut off at offset 1 of 1."},
      {Bytes({0x08}), "a number is cut off"},
      {Bytes({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}),
       "a number is longer than 64 bits"},
      {Bytes({0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}),
       "a number is longer than 64 bits"},
      {Bytes({0x09, 1, 2, 3, 4, 5, 6, 7}), "a value is cut off"},
      {Bytes({0x0d, 1, 2, 3}), "a value is cut off"},
      {Bytes({0x0a, 3, 'a', 'b'}), "a value is cut off"},
      {Bytes({0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}),
       "a value is cut off"},
      {Bytes({0x00, 0x01}), "a field's number is out of range"},
      {Bytes({0x80, 0x80, 0x80, 0x80, 0x10, 0x01}), "a field's number is out of range"},
      {Bytes({0x0b}), "wire type 3 stands"},
      {Bytes({0x0c}), "wire type 4 stands"},
      {Bytes({0x0f}), "wire type 7 stands"},
  };
  for (const auto& row : rows) {
    ProtoReader reader("message", row.bytes);
    const Result<ProtoField> field = reader.Next();
    ASSERT_FALSE(field.ok()) << row.message;
    EXPECT_EQ(field.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(field.error().message, HasSubstr("Field 'message' is no well-formed message: "));
    EXPECT_THAT(field.error().message, HasSubstr(row.message));
  }
}

TEST(ProtoField, WrongType_NamesFieldAndBothTypes) {
  const std::string one = Bytes({0x08, 1});
  const ProtoField number = FieldOf(one);
  std::string_view bytes;
  EXPECT_EQ(number.Get("name", &bytes).error().message,
            "Field 'name' has wire type 0; expected 2.");
  double real = 0;
  EXPECT_FALSE(number.Get("name", &real).ok());
  bool flag = false;
  const std::string letter = Bytes({0x0a, 1, 'a'});
  const ProtoField text = FieldOf(letter);
  EXPECT_EQ(text.Get("name", &flag).error().message, "Field 'name' has wire type 2; expected 0.");
}

TEST(ProtoField, ValueBeyond32Bits_IsRefused) {
  const std::string bytes = Bytes({0x08, 0x80, 0x80, 0x80, 0x80, 0x10});  // 2^32
  const ProtoField field = FieldOf(bytes);
  std::uint32_t unsigned_value = 0;
  std::int32_t signed_value = 0;
  EXPECT_EQ(field.Get("name", &unsigned_value).error().message,
            "Field 'name' is 4294967296, which does not fit 32 bits.");
  EXPECT_FALSE(field.Get("name", &signed_value).ok());
}

TEST(ProtoField, TextThatIsNoUtf8_IsRefusedAsTextOnly) {
  const std::string bytes = Bytes({0x0a, 1, 0xff});
  const ProtoField field = FieldOf(bytes);
  std::string_view value;
  EXPECT_EQ(field.GetText("name", &value).error().message, "Field 'name' is no valid UTF-8.");
  EXPECT_TRUE(field.Get("name", &value).ok());
}

}  // namespace
}  // namespace stoker::wire
