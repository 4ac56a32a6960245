// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace stoker::cli {

std::string FormatBytes(double bytes);      // "17.3 MiB"
std::string FormatSeconds(double seconds);  // "412 ms", "3.21 s", "2 h 5 min"
std::string FormatAge(double unix_s);       // "5 min ago"

}  // namespace stoker::cli
