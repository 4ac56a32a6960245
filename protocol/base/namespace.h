// The names of namespaces.
#pragma once

#include <cstddef>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

inline constexpr std::size_t kMaxNamespaceBytes = 64;

// 1 to kMaxNamespaceBytes characters out of a-z 0-9 . _ -
Status CheckNamespace(std::string_view name_space);

}  // namespace stoker
