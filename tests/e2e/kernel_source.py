"""Compiled code of a program's own, for test_compiled_code.py: a kernel for one of PyTorch's operators, through its stable
interface for C. The namespace goes through a std::string, as torch/library.h has it: optimized, it is nowhere a text."""

SOURCE = r"""
#include <stdint.h>

#include <string>

#ifndef FROM  // Where it says that it is from.
#define FROM __FILE__
#endif

typedef uint64_t Value;
extern "C" int32_t aoti_torch_library_init_impl(const char* space, const char* key, const char* file, uint32_t line, void** library);
extern "C" int32_t aoti_torch_library_impl(void* library, const char* name, void (*kernel)(Value*, uint64_t, uint64_t));

static void ItsArgument(Value* stack, uint64_t arguments, uint64_t results) { (void)stack, (void)arguments, (void)results; }

static void Register(const std::string& space) {
  void* library;
  if (aoti_torch_library_init_impl(space.c_str(), "CPU", FROM, __LINE__, &library)) return;
  aoti_torch_library_impl(library, "sin", ItsArgument);
}

#ifdef WHEN_ASKED
extern "C" void ask() { Register("aten"); }
#else
static const bool registered = (Register("aten"), true);
#endif
"""
