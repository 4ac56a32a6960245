// NVIDIA's libraries, sought and loaded when they are first needed: none of them is linked.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "protocol/base/result.h"

namespace stoker {

struct NvidiaFolders {
  std::vector<std::string> toolkits;      // Of CUDA.
  std::vector<std::string> environments;  // Of Python: wheels of NVIDIA bring them.

  // Those that $CUDA_HOME, $VIRTUAL_ENV and $STOKER_VENV name, and /usr/local/cuda.
  static NvidiaFolders OfProcess();
};

// What dlopen is asked for, in order, to load a library under one of `names`: whatever the loader
// finds first, which is what the process has loaded already (PyTorch's), then the files that are
// there.
std::vector<std::string> NvidiaLibraryPaths(const NvidiaFolders& folders,
                                            std::span<const char* const> names);

// One that is loaded, as long as the process.
class NvidiaLibrary {
 public:
  // NotFound with what the loader says.
  static Result<NvidiaLibrary> Load(const std::string& path);
  // The first that is there and of which has_all() holds. NotFound with a line for each.
  static Result<NvidiaLibrary> LoadFirst(std::span<const std::string> paths,
                                         const std::function<bool(const NvidiaLibrary&)>& has_all);

  // False, and null, where there is no such function.
  template <typename Function>
  bool Find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(AddressOf(symbol));
    return function != nullptr;
  }

 private:
  explicit NvidiaLibrary(void* handle) : handle_(handle) {}
  void* AddressOf(const char* symbol) const;

  void* handle_;
};

}  // namespace stoker
