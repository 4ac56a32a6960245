// Philox 4x32-10, a generator of random bits without a state: J. Salmon, M. Moraes, R. Dror, D.
// Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace stoker {

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::array<std::uint32_t, 2> kPhiloxMultipliers = {0xD2511F53, 0xCD9E8D57};
// What a key's words grow by from round to round.
inline constexpr std::array<std::uint32_t, 2> kPhiloxKeySteps = {0x9E3779B9, 0xBB67AE85};

using PhiloxCounter = std::array<std::uint32_t, 4>;  // And what becomes of it.
using PhiloxKey = std::array<std::uint32_t, 2>;
PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key);

}  // namespace stoker
