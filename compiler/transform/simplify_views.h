// The rules of Simplify for ops that only move elements.
#pragma once

#include <optional>
#include <span>

#include "compiler/transform/rewriter.h"

namespace stoker {

std::optional<ValueId> SimplifyView(Rewriter& rewriter, const Node& node,
                                    std::span<const ValueId> operands);

}  // namespace stoker
