// What branches of a captured graph are worth: the same launches as a chain, and as they need each
// other.
#pragma once

#include <string>

#include "tests/device/gpu_program.h"

namespace stoker::device_test {

// Prints the table; the number of rows that could not be timed, or that gave other numbers.
// `library`: the driver. `scale`: 0: one small row.
int PrintBranchTimings(cuda::Device& device, const AssembleFn& assemble, int scale,
                       const std::string& library);

}  // namespace stoker::device_test
