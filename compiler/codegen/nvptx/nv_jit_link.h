// PTX to cubin, by NVIDIA's nvJitLink: a library that is found when it is first needed, and never
// linked, so that everything else works where there is none.
#pragma once

#include <string>

#include "protocol/base/result.h"

namespace stoker::codegen {

// Deterministic for one version of nvJitLink. Thread-safe. FailedPrecondition, naming where it was
// sought, where there is no nvJitLink; Internal with its log where it refuses the PTX.
Result<std::string> AssemblePtx(const std::string& ptx, const std::string& arch);

// "13.0". As above where there is none, and where it is too old to tell: CUDA 12.3 is the first.
Result<std::string> NvJitLinkVersion();

}  // namespace stoker::codegen
