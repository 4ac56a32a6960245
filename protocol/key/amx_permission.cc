#include "protocol/key/amx_permission.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stoker {

Status RequestAmxPermission() {
  // From <asm/prctl.h> of Linux 5.16; older kernel headers lack it.
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kXfeatureTileData = 18;
  if (syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureTileData) == 0) return Ok();
  return FailedPrecondition(
      "The kernel refuses AMX tile data: " + std::string(std::strerror(errno)) + ".");
}

}  // namespace stoker
