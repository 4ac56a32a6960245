// What kernels compute on a GPU beside the interpreter in float64.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/device.h"
#include "tests/device/gpu_program.h"

namespace stoker::device_test {

struct CheckCounts {
  int passed = 0;
  int failed = 0;
  int not_run = 0;                     // The time was up.
  std::map<std::string, int> refused;  // How many have something that has no GPU kernel, by what.

  int without_kernel() const;
  std::vector<std::string> failures;
};

struct CheckChoice {
  int scale = 1;                   // 0: a few small shapes; 1: all of them.
  int threads = 1;                 // Each with a queue of its own.
  std::chrono::seconds limit{60};  // None begins later.
  std::string_view named = "";     // What their names have in them.
};

// Each graph runs with operands that are aligned, and one element behind that.
CheckCounts RunChecks(cuda::Device& device, const AssembleFn& assemble, const CheckChoice& choice);

}  // namespace stoker::device_test
