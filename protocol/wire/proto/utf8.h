// Protobuf strings must be UTF-8, or the peer refuses the whole message.
#pragma once

#include <string>
#include <string_view>

namespace stoker::wire {

bool IsValidUtf8(std::string_view text);
// `text` with every byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7) replaced by
// '?'.
std::string ToValidUtf8(std::string_view text);

}  // namespace stoker::wire
