// A caller that may see every namespace.
#pragma once

#include <string_view>

namespace stoker {

inline bool All(std::string_view /*name_space*/) { return true; }

}  // namespace stoker
