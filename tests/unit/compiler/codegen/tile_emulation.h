// Runs AMX tile instructions on a processor that has none: breakpoints take their place, and the
// signal that follows does what each of them does. All other code of a kernel runs as it is.
#pragma once

#include <string>

namespace stoker {

// A kernel's shared object in which every tile instruction traps. Installs the handler of SIGTRAP
// at the first call; each thread has tiles of its own.
std::string WithEmulatedTiles(std::string elf);

}  // namespace stoker
