#pragma once

#include <cstddef>

namespace stoker::guards {

// For the definition of a function that every call runs: these lie together, so that their code can
// be fetched at once. Between two calls the program's own work has taken the caches, and code that
// is fetched as it is reached is waited for line by line.
#define STOKER_EVERY_CALL [[gnu::section("stoker_every_call")]]

void PrefetchEveryCall();

// Asks for memory that is needed soon.
inline void Prefetch(const void* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;  // Bytes of a cache line.
  for (std::size_t at = 0; at < bytes; at += kLine) {
    __builtin_prefetch(static_cast<const char*>(from) + at);
  }
}

}  // namespace stoker::guards
