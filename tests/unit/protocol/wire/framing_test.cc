#include "protocol/wire/framing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stoker::wire {
namespace {

TEST(AppendFrame, LengthLittleEndianThenPayload) {
  std::string out = "before";
  AppendFrame("abc", &out);
  EXPECT_EQ(out, std::string("before\3\0\0\0abc", 13));
  EXPECT_EQ(FrameLength(std::string_view(out).substr(6, 4)).value(), 3U);
}

TEST(FrameLength, BeyondTheLimit_NamesBoth) {
  const auto length = FrameLength(std::string("\1\2\0\0", 4), 512);
  ASSERT_FALSE(length.ok());
  EXPECT_EQ(length.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(length.error().message,
            "Field 'frame.length' is 513 bytes, more than the limit of 512.");
  EXPECT_FALSE(FrameLength("\xff\xff\xff\xff").ok());
}

TEST(FrameReader_Next, AnyCutsOfTheStream_SamePayloads) {
  const std::vector<std::string> payloads = {"first", "", std::string(1000, 'x'), "last"};
  std::string stream;
  for (const std::string& payload : payloads) AppendFrame(payload, &stream);
  for (const std::size_t piece : {1UL, 2UL, 3UL, 7UL, 100UL, stream.size()}) {
    FrameReader reader;
    std::vector<std::string> read;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.Feed(std::string_view(stream).substr(at, piece));
      while (true) {
        auto next = reader.Next().value();
        if (!next) break;
        read.push_back(*std::move(next));
      }
    }
    EXPECT_EQ(read, payloads) << "pieces of " << piece;
    EXPECT_TRUE(reader.AtBoundary());
  }
}

TEST(FrameReader_AtBoundary, PartialFrame_False) {
  FrameReader reader;
  EXPECT_TRUE(reader.AtBoundary());
  reader.Feed(std::string("\5\0", 2));
  EXPECT_FALSE(reader.Next().value().has_value());
  EXPECT_FALSE(reader.AtBoundary());
}

TEST(FrameReader_Next, AnnouncedLengthBeyondTheLimit_FailsBeforeThePayloadComes) {
  FrameReader reader(10);
  reader.Feed(std::string("\13\0\0\0", 4));
  EXPECT_EQ(reader.Next().error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace stoker::wire
