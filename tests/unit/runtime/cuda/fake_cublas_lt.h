// cuBLASLt over host memory, for tests: on a stream of the fake driver it computes what the real
// one says that it computes, with matrices that lie by columns. It is a library of its own,
// libfake_cublas_lt.so, loaded the way the real one is; this is how tests talk to it.
#pragma once

#include <dlfcn.h>

#include "protocol/base/check.h"

namespace stoker::cuda {

struct FakeCublasLt {
  void (*reset)();                              // As if just loaded.
  void (*fail)(const char* symbol, int error);  // Every call of it from now on; 0: no more.
  // Of what is asked for operands at smaller multiples, nothing has an algorithm.
  void (*set_least_alignment)(unsigned bytes);
  int (*live)();             // Handles, descriptors, layouts, preferences.
  int (*heuristics)();       // How often an algorithm was asked for,
  unsigned (*reductions)();  // and last with which reduction schemes.
  const char* (*matmuls)();  // What was given to a stream, in order: "2x3x4x5 bias", ...
  int (*workspaces)();       // That they were given: how many different ones.
};

inline FakeCublasLt& FakeLt() {
  static FakeCublasLt* const lt = [] {
    void* const library = dlopen(STOKER_FAKE_CUBLAS_LT, RTLD_NOW | RTLD_LOCAL);
    STOKER_CHECK(library != nullptr);
    const auto get = reinterpret_cast<FakeCublasLt* (*)()>(dlsym(library, "stoker_fake_cublas_lt"));
    STOKER_CHECK(get != nullptr);
    return get();
  }();
  return *lt;
}

}  // namespace stoker::cuda
