#include "protocol/base/bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stoker {
namespace {

std::string OneOfEach() {
  ByteWriter writer;
  writer.U8(0xab);
  writer.U32(0x01020304U);
  writer.U64(0x0102030405060708U);
  writer.I64(-2);
  writer.F64(-0.0);
  writer.Bytes("three");
  writer.Raw("raw");
  return std::move(writer).Take();
}

// Reads what OneOfEach writes; the first error, or the whole.
Status ReadOneOfEach(std::string_view bytes) {
  ByteReader reader(bytes);
  STOKER_TRY(const std::uint8_t u8, reader.U8("u8"));
  STOKER_TRY(const std::uint32_t u32, reader.U32("u32"));
  STOKER_TRY(const std::uint64_t u64, reader.U64("u64"));
  STOKER_TRY(const std::int64_t i64, reader.I64("i64"));
  STOKER_TRY(const double f64, reader.F64("f64"));
  STOKER_TRY(const std::string_view text, reader.Bytes("text", 5));
  STOKER_TRY(const std::string_view raw, reader.Raw("raw", 3));
  EXPECT_EQ(u8, 0xab);
  EXPECT_EQ(u32, 0x01020304U);
  EXPECT_EQ(u64, 0x0102030405060708U);
  EXPECT_EQ(i64, -2);
  EXPECT_TRUE(f64 == 0.0 && std::signbit(f64));
  EXPECT_EQ(text, "three");
  EXPECT_EQ(raw, "raw");
  return reader.ExpectEnd();
}

TEST(Bytes, Encoding_EachKind_IsLittleEndianWithoutPadding) {
  const std::string expected(
      "\xab"
      "\x04\x03\x02\x01"
      "\x08\x07\x06\x05\x04\x03\x02\x01"
      "\xfe\xff\xff\xff\xff\xff\xff\xff"
      "\x00\x00\x00\x00\x00\x00\x00\x80"
      "\x05\x00\x00\x00\x00\x00\x00\x00three"
      "raw",
      1 + 4 + 8 + 8 + 8 + 8 + 5 + 3);
  EXPECT_EQ(OneOfEach(), expected);
}

TEST(Bytes, Reader_Whole_ReadsWhatWasWritten) {
  const Status status = ReadOneOfEach(OneOfEach());
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(Bytes, Reader_EveryTruncation_IsDataLossThatNamesAField) {
  const std::string whole = OneOfEach();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Status status = ReadOneOfEach(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_EQ(status.error().code, ErrorCode::kDataLoss) << size;
    EXPECT_EQ(status.error().message.rfind("Field '", 0), 0U) << status.error().message;
  }
}

TEST(Bytes, Reader_Truncated_NamesFieldOffsetAndSizes) {
  ByteReader reader(std::string_view("\x01\x02\x03", 3));
  ASSERT_TRUE(reader.U8("kind").ok());
  EXPECT_EQ(reader.U32("count").error().message,
            "Field 'count' needs 4 bytes at offset 1; 2 are left.");
  EXPECT_EQ(reader.remaining(), 2U);  // A failed read takes nothing.
}

TEST(Bytes, Bytes_LongerThanLimit_NamesLimit) {
  ByteWriter writer;
  writer.Bytes("four");
  ByteReader reader(writer.str());
  const Result<std::string_view> read = reader.Bytes("name", 3);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read.error().message, "Field 'name' has 4 bytes, more than the limit of 3.");
}

TEST(Bytes, Bytes_LengthBeyondInput_IsDataLoss) {
  ByteWriter writer;
  writer.U64(std::numeric_limits<std::uint64_t>::max());
  writer.Raw("x");
  ByteReader reader(writer.str());
  EXPECT_EQ(reader.Bytes("name", std::numeric_limits<std::uint64_t>::max()).error().code,
            ErrorCode::kDataLoss);
}

TEST(Bytes, Count_BoundedByWhatIsLeft) {
  struct Case {
    std::uint64_t count;
    std::size_t element_bytes;
    bool ok;
  };
  const Case cases[] = {
      {0, 4, true},
      {3, 4, true},
      {4, 4, false},
      {1000, 0, true},
      {12, 1, true},
      {13, 1, false},
      {std::numeric_limits<std::uint64_t>::max(), 8, false},
  };
  for (const Case& c : cases) {
    ByteWriter writer;
    writer.U64(c.count);
    writer.Raw(std::string(12, 'x'));
    ByteReader reader(writer.str());
    const Result<std::uint64_t> read = reader.Count("nodes", c.element_bytes);
    ASSERT_EQ(read.ok(), c.ok) << c.count << " of " << c.element_bytes;
    if (c.ok) {
      EXPECT_EQ(*read, c.count);
    } else {
      EXPECT_EQ(read.error().code, ErrorCode::kDataLoss);
    }
  }
}

TEST(Bytes, ExpectEnd_BytesLeft_SaysHowMany) {
  ByteReader reader("abc");
  ASSERT_TRUE(reader.Raw("a", 1).ok());
  EXPECT_FALSE(reader.AtEnd());
  EXPECT_EQ(reader.ExpectEnd().error().message, "2 bytes are left after the last field.");
}

TEST(Bytes, F64_EveryClass_RoundTripsBitForBit) {
  for (const double value : {0.0, -0.0, 1.5, -std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::denorm_min(), std::nan("7")}) {
    ByteWriter writer;
    writer.F64(value);
    ByteReader reader(writer.str());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*reader.F64("value")),
              std::bit_cast<std::uint64_t>(value));
  }
}

}  // namespace
}  // namespace stoker
