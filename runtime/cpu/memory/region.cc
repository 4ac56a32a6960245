#include "runtime/cpu/memory/region.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "protocol/artifact/kernel_abi.h"

namespace stoker::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// What leaves a file at a time: each stays a mapping of its own, of which the system has some
// 65000 for a process, and for a moment it is there twice.
constexpr std::size_t kPiece = std::size_t{32} << 20;

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A mapping whose start and length are multiples of a huge page; nullptr when there is no memory.
std::byte* MapHuge(std::size_t length) {
  const std::size_t reserved = length + kHugePage;
  void* const base = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(base);
  const std::uintptr_t aligned = RoundUp(start, kHugePage);
  if (aligned != start) munmap(base, aligned - start);
  const std::uintptr_t tail = start + reserved - (aligned + length);
  if (tail != 0) munmap(reinterpret_cast<void*>(aligned + length), tail);
  auto* const data = reinterpret_cast<std::byte*>(aligned);
  // Only advice: without huge pages the memory is slower, not wrong.
  madvise(data, length, MADV_HUGEPAGE);
  return data;
}

}  // namespace

Result<Region> Region::Allocate(std::int64_t bytes) {
  STOKER_CHECK(bytes >= 0);
  const auto size = static_cast<std::size_t>(bytes);
  std::byte* data = nullptr;
  std::size_t mapped = 0;
  if (size >= kHugePage) {
    mapped = RoundUp(size, kHugePage);
    data = MapHuge(mapped);
  } else {
    constexpr auto kAlignment = static_cast<std::size_t>(kBufferAlignment);
    data = static_cast<std::byte*>(
        std::aligned_alloc(kAlignment, RoundUp(size == 0 ? 1 : size, kAlignment)));
  }
  if (data == nullptr) {
    return ResourceExhausted("The system has no " + std::to_string(bytes) + " bytes of memory.");
  }
  return Region(data, bytes, mapped);
}

Result<Region> Region::MapFile(int descriptor, std::int64_t bytes) {
  STOKER_CHECK(bytes > 0);
  const auto length = static_cast<std::size_t>(bytes);
  const std::size_t mapped = RoundUp(length, kHugePage);  // Room for huge pages.
  std::byte* const data = MapHuge(mapped);
  if (data == nullptr ||
      mmap(data, length, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    if (data != nullptr) munmap(data, mapped);
    return ResourceExhausted("The system maps no file of " + std::to_string(bytes) + " bytes.");
  }
  madvise(data, length, MADV_WILLNEED);
  return Region(data, bytes, mapped);
}

bool Region::LeaveFile(const std::function<bool()>& goes_on) const {
  for (std::size_t at = 0; at < mapped_; at += kPiece) {
    if (!goes_on()) return false;
    const std::size_t length = std::min(kPiece, mapped_ - at);
    std::byte* const fresh = MapHuge(length);
    if (fresh == nullptr) return false;
    std::memcpy(fresh, data_ + at, std::min(length, static_cast<std::size_t>(size_) - at));
    // Whoever reads there in this moment waits for the page and then finds the new one.
    if (mremap(fresh, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, data_ + at) == MAP_FAILED) {
      munmap(fresh, length);
      return false;
    }
  }
  return true;
}

Region::Region(Region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Region::~Region() {
  if (mapped_ != 0) {
    munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

DeviceMemory SharedMemory(std::shared_ptr<const Region> region) {
  std::byte* const data = region->data();
  const std::int64_t size = region->size();
  return {data, size, std::move(region)};
}

}  // namespace stoker::cpu
