// out[i] += 1 for task i: shows which tasks ran, and how often.
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) void stoker_kernel_3(void* const* buffers, const int64_t* dims,
                                                          int64_t begin, int64_t end,
                                                          unsigned char* scratch) {
  (void)dims;
  (void)scratch;
  int32_t* out = buffers[0];
  for (int64_t i = begin; i < end; ++i) __atomic_fetch_add(&out[i], 1, __ATOMIC_RELAXED);
}
