#include "tests/unit/allocation_count.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#include <sanitizer/allocator_interface.h>
#define STOKER_SANITIZER_ALLOCATES 1
#endif

namespace {

std::atomic<std::int64_t> g_allocations{0};

#ifdef STOKER_SANITIZER_ALLOCATES
// A sanitizer brings its own operators and lets no program replace them.
void CountAllocation(const volatile void* /*data*/, std::size_t /*size*/) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
}
void IgnoreRelease(const volatile void* /*data*/) {}
[[maybe_unused]] const int g_installed =
    __sanitizer_install_malloc_and_free_hooks(CountAllocation, IgnoreRelease);
#else
void* Allocate(std::size_t size, std::size_t alignment) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* const data = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
#endif

}  // namespace

namespace stoker {

std::int64_t AllocationCount() { return g_allocations.load(std::memory_order_relaxed); }

}  // namespace stoker

#ifndef STOKER_SANITIZER_ALLOCATES
// The array forms of the library call these.
void* operator new(std::size_t size) { return Allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return Allocate(size, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }
#endif
