// JoinedFunc: loops that know nothing of each other, as one kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/loop_func.h"

namespace stoker {

struct JoinedFunc {
  std::vector<LoopFunc> parts;  // The buffers of each follow those of the one before it;
                                // equal ones next to each other share their code.
};

std::uint32_t NumOperands(const JoinedFunc& func);

std::string ToString(const JoinedFunc& func);  // Canonical.
Status Verify(const JoinedFunc& func);

}  // namespace stoker
