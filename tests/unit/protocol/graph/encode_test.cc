// The binary form: its exact bytes, and every way bytes can be wrong.
#include <gtest/gtest.h>

#include <random>

#include "protocol/base/bytes.h"
#include "protocol/graph/graph.h"
#include "tests/unit/protocol/graph/random_graph.h"

namespace stoker {
namespace {

void Type(ByteWriter& out, DType dtype, std::int64_t size) {
  out.U8(static_cast<std::uint8_t>(dtype));
  out.U8(1);
  out.U8(0);
  out.I64(size);
}

// graph(%0: f32[4]) with two nodes: %1 = <kind>(%0), %2 = negate(%<operand>); returns %1, %2.
std::string TwoNodes(OpKind kind, std::uint32_t operand) {
  ByteWriter out;
  out.Raw("STKG");
  out.U32(1);
  out.U64(1);
  out.U8(0);
  Type(out, DType::kF32, 4);
  out.U64(2);
  for (const bool second : {false, true}) {
    out.U32(static_cast<std::uint32_t>(second ? OpKind::kNegate : kind));
    out.U64(1);
    out.U32(second ? operand : 0);
    out.U64(0);
    out.U64(1);
    Type(out, DType::kF32, 4);
    out.Bytes("");
  }
  out.U64(2);
  out.U32(1);
  out.U32(2);
  return std::move(out).Take();
}

TEST(GraphEncoding, Bytes_AreAsDescribed) {
  const Result<Graph> graph = ParseGraph(
      "graph @g(%0: f32[4]) { %1 = abs(%0) : f32[4] %2 = negate(%1) : f32[4]"
      " return %1, %2 }");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(EncodeGraph(*graph), TwoNodes(OpKind::kAbs, 1));
}

TEST(GraphEncoding, Updates_AreAListAtTheEnd) {
  const Result<Graph> graph = ParseGraph(
      "graph @g(%0: f32[4]) { %1 = abs(%0) : f32[4] %2 = negate(%1) : f32[4]"
      " return %1, %2 updates %0 }");
  ASSERT_TRUE(graph.ok());
  ByteWriter updates;
  updates.U64(1);
  updates.U32(1);
  updates.U32(0);
  const std::string bytes = TwoNodes(OpKind::kAbs, 1) + updates.str();
  EXPECT_EQ(EncodeGraph(*graph), bytes);
  const Result<Graph> decoded = DecodeGraph(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->updates(), (std::vector<InputUpdate>{{1, 0}}));
}

TEST(GraphEncoding, Decode_EmptyListOfUpdates_IsRefused) {
  EXPECT_EQ(DecodeGraph(TwoNodes(OpKind::kAbs, 1) + std::string(8, '\0')).error().message,
            "The bytes are not the canonical encoding of their graph.");
}

TEST(GraphEncoding, Decode_NotCanonical_IsRefused) {
  EXPECT_TRUE(DecodeGraph(TwoNodes(OpKind::kAbs, 0)).ok());
  EXPECT_EQ(DecodeGraph(TwoNodes(OpKind::kNegate, 0)).error().message,
            "The bytes are not the canonical encoding of their graph.");
}

TEST(GraphEncoding, Decode_BadNode_IsNamed) {
  EXPECT_EQ(DecodeGraph(TwoNodes(OpKind::kAbs, 7)).error().message,
            "Node 1 of the encoding: Node 1 (negate): Operand 0 is value 7 of 2.");
  EXPECT_EQ(DecodeGraph(TwoNodes(OpKind::kAdd, 0)).error().message,
            "Node 0 of the encoding: Node 0 (add): It has 1 operands; expected 2.");
  EXPECT_EQ(DecodeGraph(TwoNodes(static_cast<OpKind>(999), 0)).error().message,
            "Node 0 of the encoding: Field 'kind' is 999, which is no op.");
}

TEST(GraphEncoding, Decode_BadFrame_IsNamed) {
  const std::string good = TwoNodes(OpKind::kAbs, 1);
  const auto with = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return bytes;
  };
  const struct {
    std::string bytes;
    const char* message;
  } rows[] = {
      {"", "Field 'magic' needs 4 bytes at offset 0; 0 are left."},
      {with(0, 'X'), "The bytes are not an encoded graph."},
      {with(4, 9), "Graph encoding version 9 is not version 1."},
      {with(15, 1),
       "Field 'inputs' counts 72057594037927937 elements; the 138 bytes left cannot "
       "hold them."},
      {with(16, 2), "Field 'role' is 2; expected 0 or 1."},
      {with(17, 77), "Field 'dtype' is 77, which is no dtype."},
      {with(18, 9), "Field 'dim' has tag 2."},
      {with(19, 5), "Field 'dim' has tag 5."},
      {with(27, '\x80'), "Input 0: Type f32[-9223372036854775804] has a negative dimension."},
      {good + "x", "Field 'updates' needs 8 bytes at offset 154; 1 are left."},
  };
  for (const auto& row : rows) {
    const Result<Graph> graph = DecodeGraph(row.bytes);
    ASSERT_FALSE(graph.ok()) << row.message;
    EXPECT_EQ(graph.error().message, row.message);
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeGraph(std::string_view(good).substr(0, size)).ok()) << size;
  }
}

// Whatever decodes is exactly what its bytes say.
TEST(GraphEncoding, Decode_DamagedBytes_AreRefusedOrAnotherGraph) {
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Result<Graph> graph = BuildRecipe(RandomRecipe(random, 6), {}, random);
    ASSERT_TRUE(graph.ok());
    std::string bytes = EncodeGraph(*graph);
    bytes[random() % bytes.size()] = static_cast<char>(random());
    const Result<Graph> decoded = DecodeGraph(bytes);
    refused += decoded.ok() ? 0 : 1;
    if (decoded.ok()) EXPECT_EQ(EncodeGraph(*decoded), bytes);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace stoker
