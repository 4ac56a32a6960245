// Instructions that compute sizes and index expressions in a body, as i64. Each function appends to
// the body and gives the number of the instruction that has the result.
#pragma once

#include <cstdint>
#include <functional>

#include "compiler/ir/body.h"

namespace stoker {

std::uint32_t Append(Body& body, BodyInstr instr);
std::uint32_t AppendSize(Body& body, const SymDim& size);
std::uint32_t AppendIndex(Body& body, int dim);
// `value_of`: the instruction with the index along a dim.
std::uint32_t AppendIndexMap(Body& body, const IndexMap& map,
                             const std::function<std::uint32_t(int dim)>& value_of);

}  // namespace stoker
