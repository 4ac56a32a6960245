// Where NVIDIA's libraries are sought when they are first needed: none of them is linked.
#pragma once

#include <span>
#include <string>
#include <vector>

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

}  // namespace stoker
