// Visible: whether who asks may see what happens in a namespace.
#pragma once

#include <functional>
#include <string_view>

namespace stoker {

using Visible = std::function<bool(std::string_view name_space)>;

}  // namespace stoker
