#include "protocol/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace stoker {

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: invariant does not hold: %s\n", file, line, condition);
  std::abort();
}

}  // namespace stoker
