"""Compiled code of a program's own, for test_compiled_code.py: a kernel for one of PyTorch's operators, through its stable
interface for C."""

SOURCE = r"""
#include <stdint.h>

typedef uint64_t Value;
int32_t aoti_torch_library_init_impl(const char* space, const char* key, const char* file, uint32_t line, void** library);
int32_t aoti_torch_library_impl(void* library, const char* name, void (*kernel)(Value*, uint64_t, uint64_t));

static void ItsArgument(Value* stack, uint64_t arguments, uint64_t results) { (void)stack, (void)arguments, (void)results; }

__attribute__((constructor)) static void Load(void) {
  void* library;
  if (!aoti_torch_library_init_impl("aten", "CPU", __FILE__, __LINE__, &library)) aoti_torch_library_impl(library, "sin", ItsArgument);
}
"""
