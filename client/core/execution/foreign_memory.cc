#include "client/core/execution/foreign_memory.h"

#include <cstdint>
#include <string>

#include "protocol/artifact/kernel_abi.h"

namespace stoker {

Result<cuda::CuPointer> ForeignMemory::Take(std::size_t bytes, cuda::CuStream stream) const {
  void* const memory = allocator_.allocate(allocator_.context, ordinal_, bytes, stream);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (memory != nullptr && address % kBufferAlignment == 0) return address;
  const std::string what = std::to_string(bytes) + " bytes of GPU " + std::to_string(ordinal_);
  if (memory == nullptr) return ResourceExhausted("The job's allocator has no " + what + ".");
  allocator_.free(allocator_.context, ordinal_, memory, stream);
  return FailedPrecondition("The job's allocator aligns " + what + " to less than " +
                            std::to_string(kBufferAlignment) + " bytes.");
}

Status ForeignMemory::GiveBack(cuda::CuPointer memory, cuda::CuStream stream) const {
  allocator_.free(allocator_.context, ordinal_,
                  reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory)), stream);
  return Ok();
}

}  // namespace stoker
