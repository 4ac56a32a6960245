#include "runtime/cpu/content/piece_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// This file is compiled twice. Under -mavx2 it includes nothing whose inline functions others use,
// which the linker would take for theirs.
#ifdef __AVX2__
#define STOKER_HASH_PIECE HashPieceAvx2
#else
#define STOKER_HASH_PIECE HashPiece
#endif

namespace stoker::cpu {

void STOKER_HASH_PIECE(const void* data, std::size_t size, char* hash) {
  static_assert(sizeof(XXH128_canonical_t) == kPieceHashBytes);
  XXH128_canonicalFromHash(reinterpret_cast<XXH128_canonical_t*>(hash), XXH3_128bits(data, size));
}

}  // namespace stoker::cpu
