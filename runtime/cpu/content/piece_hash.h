// XXH3 of one piece of memory, compiled for more than one processor: memory is read as fast as it
// comes only with wide vectors.
#pragma once

#include <cstddef>

namespace stoker::cpu {

// XXH3, 128 bits (github.com/Cyan4973/xxHash), in its canonical form: the same from both.
inline constexpr std::size_t kPieceHashBytes = 16;

void HashPiece(const void* data, std::size_t size, char* hash);
void HashPieceAvx2(const void* data, std::size_t size, char* hash);  // Where the processor has it.

}  // namespace stoker::cpu
