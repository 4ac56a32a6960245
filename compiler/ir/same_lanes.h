// What is one value for all lanes of a vector.
#pragma once

#include <vector>

#include "compiler/ir/body.h"

namespace stoker {

// How an access runs along a dim.
enum class Run { kNot, kContiguous, kOtherwise };
Run RunAlong(const Access& access, int dim);

// Per instruction: is it the same for all neighbours along `dim` whose indices have the same
// quotient by `width`, as a condition is that begins or ends where such vectors do?
std::vector<bool> SameInVectors(const Body& body, int dim, int width);

}  // namespace stoker
