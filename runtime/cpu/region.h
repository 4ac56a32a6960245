// Region: a piece of 64-byte aligned memory, uninitialized or zero. Large ones lie on huge pages
// where the system has them: packed weights and arenas are walked end to end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/base/result.h"

namespace stoker::cpu {

class Region {
 public:
  Region() = default;
  // ResourceExhausted when the system has no memory left. `bytes` may be 0.
  static Result<Region> Allocate(std::int64_t bytes);

  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  Region(std::byte* data, std::int64_t size, std::size_t mapped)
      : data_(data), size_(size), mapped_(mapped) {}

  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  std::size_t mapped_ = 0;  // Bytes of the mapping; 0: from the heap.
};

}  // namespace stoker::cpu
