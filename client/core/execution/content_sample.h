// A cheap look at memory that may have changed without anybody saying so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker {

inline constexpr std::size_t kSampleWords = 16;  // Of 8 bytes, from each region.
// Regions that are no more together are read whole: 3 us.
inline constexpr std::size_t kWholeBytes = std::size_t{64} << 10;

// A hash of kSampleWords words spread over every region; of all its bytes where they are no more,
// or the regions small. Another order of regions gives another hash.
std::uint64_t SampleOf(std::span<const void* const> data, std::span<const std::size_t> sizes);

// The same of all bytes.
std::uint64_t WholeHashOf(std::span<const void* const> data, std::span<const std::size_t> sizes);

}  // namespace stoker
