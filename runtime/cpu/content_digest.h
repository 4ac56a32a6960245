// ContentDigest: a name for what lies in memory, at the speed of reading it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "protocol/base/digest.h"
#include "runtime/cpu/thread_pool.h"

namespace stoker::cpu {

using Bytes = std::span<const std::byte>;

// Equal for equal lists of equal regions; differs otherwise but for accidents, one in 2^128. Not
// for bytes that somebody chose in order to deceive: pieces are hashed with XXH3
// (github.com/Cyan4973/xxHash), which is not cryptographic, and only their hashes with SHA-256.
// `threads`: at most what pool.Prepare returned.
Digest ContentDigest(std::span<const Bytes> regions, ThreadPool& pool, int threads);

}  // namespace stoker::cpu
