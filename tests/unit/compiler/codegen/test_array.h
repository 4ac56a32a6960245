// Typed arrays for the tests of kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <random>

#include "protocol/base/dtype.h"
#include "tests/unit/compiler/codegen/kernel_runner.h"

namespace stoker {

// Ends at an unmapped page: a kernel that reads past it crashes.
class TestArray {
 public:
  TestArray(DType dtype, std::int64_t elements);

  DType dtype() const { return dtype_; }
  std::int64_t elements() const { return elements_; }
  void* data() const { return buffer_->data(); }

  double Get(std::int64_t index) const;
  void Set(std::int64_t index, double value);  // Rounds to the dtype.
  void Fill(double value);
  // Floats: normal; integers: small.
  void Randomize(std::mt19937_64& random);

 private:
  DType dtype_;
  std::int64_t elements_;
  std::unique_ptr<GuardedBuffer> buffer_;
};

}  // namespace stoker
