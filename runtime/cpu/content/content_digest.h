// What lies in memory, named at the speed of reading it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/base/digest.h"
#include "runtime/cpu/content/piece_hash.h"
#include "runtime/cpu/threads/thread_pool.h"
#include "runtime/prepared.h"

namespace stoker::cpu {

// Memory is read in pieces of this size; the last one of a region may be shorter.
inline constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

// Not cryptographic.
using PieceHash = std::array<char, kPieceHashBytes>;

PieceHash HashOf(Bytes piece);

// The pieces of all regions, one region after the other.
std::vector<Bytes> PiecesOf(std::span<const Bytes> regions);

// How many pieces of work it is to hash them.
std::int64_t HashTasksOf(std::span<const Bytes> regions);

// Of each piece.
std::vector<PieceHash> HashesOf(std::span<const Bytes> pieces, ThreadPool::Team& team);

// Equal for equal lists of equal regions; differs otherwise but for accidents, one in 2^128. Not
// for bytes that somebody chose in order to deceive: only the hashes of pieces are hashed with
// SHA-256. `hashes`: of the pieces of `regions`.
Digest ContentDigest(std::span<const Bytes> regions, std::span<const PieceHash> hashes);
Digest ContentDigest(std::span<const Bytes> regions, ThreadPool::Team& team);

}  // namespace stoker::cpu
