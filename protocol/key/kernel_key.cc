#include "protocol/key/kernel_key.h"

#include "protocol/key/key_hasher.h"

namespace stoker {

Digest KernelKeyOf(std::string_view loop_ir, const Target& target,
                   std::string_view compiler_epoch) {
  KeyHasher hasher("stoker.kernel-key.1");
  hasher.Text("compiler_epoch", compiler_epoch);
  hasher.Text("target", target.ToString());
  hasher.Text("loop_ir", loop_ir);
  return hasher.Finish();
}

}  // namespace stoker
