// What a cubin says that its kernel takes of an SM.
#pragma once

#include <string_view>

namespace stoker {

struct CubinResources {
  int registers = 0;    // Of a thread.
  int stack_bytes = 0;  // Of a thread, of any function: local memory, where spills go too.
};

// Of the sections .nv.info. STOKER_CHECKs that `cubin` is one.
CubinResources ResourcesOf(std::string_view cubin);

}  // namespace stoker
