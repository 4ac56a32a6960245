// DeviceMemory: a piece of a device's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace stoker {

// Copies are the same piece. It is shared: by plans that read the same constant or the same packed
// weights, and by whoever writes it to a file meanwhile.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  // `owner`: gives the memory back with the last copy.
  DeviceMemory(std::byte* data, std::int64_t size, std::shared_ptr<const void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}

  std::byte* data() const { return data_; }  // An address of the device.
  std::int64_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  std::shared_ptr<const void> owner_;
};

}  // namespace stoker
