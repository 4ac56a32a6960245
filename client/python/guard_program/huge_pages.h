#pragma once

#include <vector>

namespace stoker::guards {

// Has the system put memory that lies together with much of what is at `addresses` on huge pages (2
// MiB), in a thread of its own and of the lowest priority. Objects of a model are spread over some
// hundred pages of 4 KiB, a few 2 MiB of memory, and where a forward pass has taken the caches,
// finding out where a page lies costs about as much as reading from it. Only memory that is there
// anyway: the process grows by an eighth of a huge page for each, at most.
//
// It is advice: nothing happens where the system has no MADV_COLLAPSE (Linux before 6.1), has huge
// pages turned off, or has none left. Each place is moved once in a process. With the GIL held.
void GatherOnHugePages(const std::vector<const void*>& addresses);

}  // namespace stoker::guards
