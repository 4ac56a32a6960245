// The x86 targets that tests compile for, and what this processor does with the code.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "protocol/key/target.h"

namespace stoker {

// Every kind of x86 processor that code generation tells apart, then this one if it is none of
// them.
const std::vector<Target>& X86Targets();

enum class Execution {
  kNone,      // This processor lacks something: code is compiled and loaded.
  kNative,    // Every target that has no more than this processor.
  kEmulated,  // It lacks nothing but tiles: their instructions are emulated (tile_emulation.h).
};
// With STOKER_EMULATE_TILES set, tiles are emulated on a processor that has them, too.
Execution ExecutionOf(const Target& target);

// Counts a kernel that was compiled for `target` and what is done with it. At the end of the
// process the sums are appended to the file that STOKER_TARGETS_REPORT names, one "target compiled
// run emulated" a line: ./dev test adds them up.
void ReportKernel(const Target& target, Execution execution);

// The target in letters, digits and underscores.
std::string TestNameOf(const Target& target);
void PrintTo(const Target& target, std::ostream* out);  // For GoogleTest.

}  // namespace stoker
