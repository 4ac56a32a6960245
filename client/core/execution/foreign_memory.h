// ForeignMemory: memory of a GPU that calls work in, from an allocator of the job, given as C
// functions.
#pragma once

#include "runtime/cuda/call_memory.h"
#include "stoker/stoker.h"

namespace stoker {

struct ForeignAllocator {
  stoker_allocate_fn allocate = nullptr;
  stoker_free_fn free = nullptr;
  void* context = nullptr;
};

class ForeignMemory final : public cuda::CallMemory {
 public:
  ForeignMemory(const ForeignAllocator& allocator, int ordinal)
      : allocator_(allocator), ordinal_(ordinal) {}

  // ResourceExhausted where the allocator has none.
  Result<cuda::CuPointer> Take(std::size_t bytes, cuda::CuStream stream) const override;
  Status GiveBack(cuda::CuPointer memory, cuda::CuStream stream) const override;

 private:
  const ForeignAllocator allocator_;
  const int ordinal_;
};

}  // namespace stoker
