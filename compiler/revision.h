// Which compiler this is.
#pragma once

#include <string_view>

namespace stoker {

// 16 hexadecimal digits: of all source that decides what a request compiles to. A compiler that was
// changed in any way has another, so nothing that the old one made is served for it.
std::string_view CompilerRevision();

}  // namespace stoker
