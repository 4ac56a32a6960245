// PTX to cubin, by NVIDIA's nvJitLink: a library that is found when it is first needed, and never
// linked, so that everything else works where there is none.
#pragma once

#include <string>
#include <vector>

#include "protocol/base/result.h"

namespace stoker::codegen {

// Deterministic for one version of nvJitLink. Thread-safe. FailedPrecondition, naming where it was
// sought, where there is no nvJitLink; Internal with its log where it refuses the PTX.
Result<std::string> AssemblePtx(const std::string& ptx, const std::string& arch);

// "13.0". As above where there is none, and where it is too old to tell: CUDA 12.3 is the first.
Result<std::string> NvJitLinkVersion();

// Where nvJitLink is sought.
struct NvJitLinkFolders {
  std::string file;                       // The library itself: nothing else is tried then.
  std::vector<std::string> toolkits;      // Of CUDA.
  std::vector<std::string> environments;  // Of Python: wheels of NVIDIA bring it.

  // What $STOKER_NVJITLINK, $CUDA_HOME, $VIRTUAL_ENV and $STOKER_VENV name, and /usr/local/cuda.
  static NvJitLinkFolders OfProcess();
};

// What dlopen is asked for, in order: whatever the loader finds first, then the files that are
// there.
std::vector<std::string> NvJitLinkLibraries(const NvJitLinkFolders& folders);

}  // namespace stoker::codegen
