// Variables of the process's environment.
#pragma once

#include <string>

namespace stoker {

// Empty where it is unset.
std::string Environment(const char* name);

}  // namespace stoker
