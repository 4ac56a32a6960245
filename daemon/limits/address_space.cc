#include "daemon/limits/address_space.h"

#include <string>

namespace stoker {
namespace {

// With nothing to do, and as many threads as two processors ask for, half of it is in use.
constexpr rlim_t kLeastBytes = rlim_t{1} << 30;

}  // namespace

Status CheckAddressSpace(rlim_t limit) {
  if (limit == RLIM_INFINITY || limit >= kLeastBytes) return Ok();
  return FailedPrecondition("The limit of virtual memory (ulimit -v) is " +
                            std::to_string(limit >> 10) + " KiB; at least " +
                            std::to_string(kLeastBytes >> 10) + " KiB are needed.");
}

Status CheckAddressSpace() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 ? CheckAddressSpace(limit.rlim_cur) : Ok();
}

}  // namespace stoker
