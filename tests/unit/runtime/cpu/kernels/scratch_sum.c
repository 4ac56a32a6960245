// out[i] = sum of row i, through a copy of the row in scratch; dims: the row's length. Wrong sums
// appear as soon as two threads share scratch.
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) void stoker_kernel_3(void* const* buffers, const int64_t* dims,
                                                          int64_t begin, int64_t end,
                                                          unsigned char* scratch) {
  const float* in = buffers[0];
  float* out = buffers[1];
  volatile float* row = (volatile float*)scratch;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < dims[0]; ++j) row[j] = in[i * dims[0] + j];
    float sum = 0.0f;
    for (int64_t j = 0; j < dims[0]; ++j) sum += row[j];
    out[i] = sum;
  }
}
