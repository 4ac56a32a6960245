// KernelFunc: everything that code generation can turn into one kernel.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "compiler/ir/attention_func.h"
#include "compiler/ir/contraction_func.h"
#include "compiler/ir/joined_func.h"
#include "compiler/ir/loop_func.h"
#include "compiler/ir/ordered_func.h"

namespace stoker {

using KernelFunc = std::variant<LoopFunc, JoinedFunc, ContractionFunc, PackFunc, AttentionFunc,
                                ScanFunc, SortFunc, ScatterFunc>;

// Canonical text: the content of the KernelKey. Names and debug data are not in it.
std::string ToString(const KernelFunc& func);
Status Verify(const KernelFunc& func);

// What it computes, for people and profiles: "reduce_maximum_subtract_exponential_and_2". Letters,
// digits and underscores, a hundred or two at most; equal text has an equal name.
std::string NameOf(const KernelFunc& func);

}  // namespace stoker
