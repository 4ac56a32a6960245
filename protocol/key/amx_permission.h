// Linux gives AMX tile registers only to processes that ask.
#pragma once

#include "protocol/base/result.h"

namespace stoker {

// Asks for AMX tile data on behalf of the whole process; asking again costs one system call and
// changes nothing. FailedPrecondition when the kernel does not know AMX or refuses.
Status RequestAmxPermission();

}  // namespace stoker
