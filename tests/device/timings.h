// What kernels cost on a GPU, beside what a copy of their bytes costs there.
#pragma once

#include <string>

#include "tests/device/gpu_program.h"

namespace stoker::device_test {

// Prints the table; the number of rows that could not be timed.
int PrintTimings(cuda::Device& device, const AssembleFn& assemble, int scale);

}  // namespace stoker::device_test
