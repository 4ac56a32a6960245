#include "protocol/graph/interpret/philox.h"

namespace stoker {

PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t first = std::uint64_t{kPhiloxMultipliers[0]} * counter[0];
    const std::uint64_t second = std::uint64_t{kPhiloxMultipliers[1]} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key = {key[0] + kPhiloxKeySteps[0], key[1] + kPhiloxKeySteps[1]};
  }
  return counter;
}

}  // namespace stoker
