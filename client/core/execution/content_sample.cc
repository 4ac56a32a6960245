#include "client/core/execution/content_sample.h"

#include <cstring>
#include <numeric>

#include "runtime/cpu/content/content_digest.h"

namespace stoker {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// Distinct words in one place give distinct hashes: both steps can be undone.
std::uint64_t Mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 32);
}

std::uint64_t WordAt(const char* bytes, std::size_t count) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, count);
  return word;
}

}  // namespace

std::uint64_t SampleOf(std::span<const void* const> data, std::span<const std::size_t> sizes) {
  if (std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) <= kWholeBytes) {
    return WholeHashOf(data, sizes);
  }
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const char* const bytes = static_cast<const char*>(data[i]);
    const std::size_t size = sizes[i];
    if (size <= kSampleWords * kWord) {
      for (std::size_t at = 0; at < size; at += kWord) {
        hash = Mixed(hash, WordAt(bytes + at, size - at < kWord ? size - at : kWord));
      }
      continue;
    }
    // The step is no round part of the size, so that the words of a matrix lie in different rows
    // and columns.
    const std::size_t step = (size - kWord) * 1000 / (kSampleWords * 1000 - 382);
    const std::size_t first = (size - kWord - step * (kSampleWords - 1)) / 2;
    for (std::size_t k = 0; k < kSampleWords; ++k) {
      hash = Mixed(hash, WordAt(bytes + first + k * step, kWord));
    }
  }
  return hash;
}

std::uint64_t WholeHashOf(std::span<const void* const> data, std::span<const std::size_t> sizes) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (sizes[i] == 0) continue;
    const cpu::PieceHash whole = cpu::HashOf({static_cast<const std::byte*>(data[i]), sizes[i]});
    hash = Mixed(hash, WordAt(whole.data(), kWord));
  }
  return hash;
}

}  // namespace stoker
