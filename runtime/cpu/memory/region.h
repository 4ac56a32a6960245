// Region: a piece of 64-byte aligned memory, uninitialized or zero, or a file's. Large ones lie on
// huge pages where the system has them: packed weights and arenas are walked end to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "protocol/base/result.h"
#include "runtime/device_memory.h"

namespace stoker::cpu {

class Region {
 public:
  Region() = default;
  // ResourceExhausted when the system has no memory left. `bytes` may be 0.
  static Result<Region> Allocate(std::int64_t bytes);
  // The first `bytes` bytes of a file, to be read only. It must not become shorter meanwhile.
  static Result<Region> MapFile(int descriptor, std::int64_t bytes);
  // Puts memory of this process, on huge pages, in the place of a file's, piece by piece while
  // `goes_on()` and while the system has memory. Addresses and contents stay: reading them goes on
  // meanwhile. True if all of it was moved.
  bool LeaveFile(const std::function<bool()>& goes_on) const;

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

// The same memory, to be shared.
DeviceMemory SharedMemory(std::shared_ptr<const Region> region);

}  // namespace stoker::cpu
