// Turns a relocatable object into a loadable one.
#pragma once

#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker::codegen {

// Lays out the code and constants of `object` (x86-64 ELF, position independent, without undefined
// symbols) as a shared object that exports the function `symbol` and needs no relocation when
// loaded. Anything such a kernel cannot have (a relocation between code and outside symbols,
// writable data) is an error.
Result<std::string> LinkSharedObject(std::string_view object, std::string_view symbol);

}  // namespace stoker::codegen
