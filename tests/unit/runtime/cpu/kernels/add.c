// out[i] = a[i] + b[i] for task i; dims: the number of elements.
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) void stoker_kernel_3(void* const* buffers, const int64_t* dims,
                                                          int64_t begin, int64_t end,
                                                          unsigned char* scratch) {
  (void)scratch;
  const float* a = buffers[0];
  const float* b = buffers[1];
  float* out = buffers[2];
  for (int64_t i = begin; i < end && i < dims[0]; ++i) out[i] = a[i] + b[i];
}
