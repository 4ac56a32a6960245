// rng_bit_generator: which word of which block an element is. The words themselves: philox_test.cc.
#include <gtest/gtest.h>

#include "protocol/graph/interpret/interpreter.h"
#include "protocol/graph/interpret/philox.h"

namespace stoker {
namespace {

using Integers = std::vector<std::int64_t>;

struct Drawn {
  Integers state;
  Integers bits;
};

// `type`: of the bits, "i32[6]".
Drawn Draw(Integers state, const std::string& type) {
  const std::string state_type = "i64[" + std::to_string(state.size()) + "]";
  const auto graph =
      ParseGraph("graph @g(%s: " + state_type +
                 ") { %t, %b = rng_bit_generator(%s) {algorithm=\"PHILOX\"} : " + state_type +
                 ", " + type + " return %t, %b }");
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  InterpreterTensor input =
      InterpreterTensor::Zeros(DType::kI64, {static_cast<std::int64_t>(state.size())});
  input.elements = std::move(state);
  const auto results = Interpret(*graph, std::array{input});
  EXPECT_TRUE(results.ok()) << results.error().message;
  return {std::get<Integers>((*results)[0].elements), std::get<Integers>((*results)[1].elements)};
}

std::int64_t AsI32(std::uint32_t word) { return static_cast<std::int32_t>(word); }

Integers AsI64(const PhiloxCounter& block) {
  const auto pair = [&](std::size_t low) {
    return static_cast<std::int64_t>(block[low] | std::uint64_t{block[low + 1]} << 32);
  };
  return {pair(0), pair(2)};
}

constexpr PhiloxKey kKey = {7, 9};
constexpr std::int64_t kKeyState = 7 | std::int64_t{9} << 32;

TEST(InterpretRandom, ElementsOfI32_AreWordsInOrder) {
  const Drawn drawn = Draw({kKeyState, 5}, "i32[2,3]");
  Integers expected;
  for (const std::uint32_t block : {5U, 6U}) {
    for (const std::uint32_t word : Philox4x32({block, 0, 0, 0}, kKey)) {
      expected.push_back(AsI32(word));
    }
  }
  expected.resize(6);
  EXPECT_EQ(drawn.bits, expected);
  EXPECT_EQ(drawn.state, (Integers{kKeyState, 7}));
}

TEST(InterpretRandom, ElementsOfI64_AreTwoWordsTheLowOneFirst) {
  const Drawn drawn = Draw({kKeyState, 5, 1}, "i64[3]");
  Integers expected = AsI64(Philox4x32({5, 0, 1, 0}, kKey));
  expected.push_back(AsI64(Philox4x32({6, 0, 1, 0}, kKey))[0]);
  EXPECT_EQ(drawn.bits, expected);
  EXPECT_EQ(drawn.state, (Integers{kKeyState, 7, 1}));
}

TEST(InterpretRandom, CounterOf64Bits_WrapsAround) {
  const Drawn drawn = Draw({kKeyState, -1}, "i64[4]");
  Integers expected = AsI64(Philox4x32({0xffffffff, 0xffffffff, 0, 0}, kKey));
  for (const std::int64_t element : AsI64(Philox4x32({0, 0, 0, 0}, kKey))) {
    expected.push_back(element);
  }
  EXPECT_EQ(drawn.bits, expected);
  EXPECT_EQ(drawn.state, (Integers{kKeyState, 1}));
}

TEST(InterpretRandom, CounterOf128Bits_Carries) {
  const Drawn drawn = Draw({kKeyState, -1, 2}, "i64[4]");
  Integers expected = AsI64(Philox4x32({0xffffffff, 0xffffffff, 2, 0}, kKey));
  for (const std::int64_t element : AsI64(Philox4x32({0, 0, 3, 0}, kKey))) {
    expected.push_back(element);
  }
  EXPECT_EQ(drawn.bits, expected);
  EXPECT_EQ(drawn.state, (Integers{kKeyState, 1, 3}));
}

TEST(InterpretRandom, NoElements_LeaveTheState) {
  EXPECT_EQ(Draw({kKeyState, 5}, "i32[0]").state, (Integers{kKeyState, 5}));
}

}  // namespace
}  // namespace stoker
