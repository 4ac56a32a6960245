// The rules every artifact satisfies beyond the ranges of its single fields.
#pragma once

#include "protocol/artifact/artifact.h"
#include "protocol/base/result.h"

namespace stoker {

// Indices, roles, guards, uniqueness; symbols are bound by guards before they are used; prepare
// depends on parameters alone; for a static plan, every buffer lies inside its memory. Errors are
// InvalidArgument and name the field.
Status ValidateArtifact(const Artifact& artifact);

}  // namespace stoker
