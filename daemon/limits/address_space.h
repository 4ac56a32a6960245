// Whether the process may have the memory without which nothing runs.
#pragma once

#include <sys/resource.h>

#include "protocol/base/result.h"

namespace stoker {

// FailedPrecondition: `limit` is too little virtual memory for the program, its threads' stacks and
// its caches. Better said at once than found out by whichever thread does not start.
Status CheckAddressSpace(rlim_t limit);

// The same of this process.
Status CheckAddressSpace();

}  // namespace stoker
