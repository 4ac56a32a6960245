#include "protocol/graph/interpret/interpret.h"
#include "protocol/graph/interpret/philox.h"

namespace stoker {
namespace {

struct Counter {
  std::uint64_t low;
  std::uint64_t high;
};

// What the state counts from, `blocks` later. A state of two elements has 64 bits of a counter.
Counter CounterAfter(const std::vector<std::int64_t>& state, std::uint64_t blocks) {
  const auto start = static_cast<std::uint64_t>(state[1]);
  Counter counter{start + blocks, 0};
  if (state.size() == 3) {
    counter.high = static_cast<std::uint64_t>(state[2]) + (counter.low < start ? 1 : 0);
  }
  return counter;
}

PhiloxCounter BlockOf(const std::vector<std::int64_t>& state, std::uint64_t block) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto high = [](std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); };
  const Counter counter = CounterAfter(state, block);
  const auto key = static_cast<std::uint64_t>(state[0]);
  return Philox4x32({low(counter.low), high(counter.low), low(counter.high), high(counter.high)},
                    {low(key), high(key)});
}

}  // namespace

Status InterpretRandom(Evaluation& e) {
  const std::vector<std::int64_t>& state = ElementsOf<std::int64_t>(e.operand(0));
  std::vector<std::int64_t>& bits = ElementsOf<std::int64_t>(e.results[1]);
  const std::size_t words = e.results[1].dtype == DType::kI64 ? 2 : 1;  // Of an element.
  const std::size_t in_block = 4 / words;
  PhiloxCounter block{};
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::size_t place = i % in_block;
    if (place == 0) block = BlockOf(state, i / in_block);
    std::uint64_t element = block[place * words];
    if (words == 2) element |= std::uint64_t{block[place * words + 1]} << 32;
    bits[i] = static_cast<std::int64_t>(element);
  }
  const Counter next = CounterAfter(state, (bits.size() + in_block - 1) / in_block);
  std::vector<std::int64_t>& after = ElementsOf<std::int64_t>(e.results[0]);
  after = state;
  after[1] = static_cast<std::int64_t>(next.low);
  if (after.size() == 3) after[2] = static_cast<std::int64_t>(next.high);
  return Ok();
}

}  // namespace stoker
