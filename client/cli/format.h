// Numbers as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker::cli {

// "90s", "15min", "1h", "7d", or seconds; nothing for anything else, and for none.
std::optional<std::int64_t> ParseDuration(std::string_view text);

// `text` for a terminal: what clients say must not steer it.
std::string Printable(std::string_view text);
std::string PrintableLines(std::string_view text);  // Keeps line ends and tabs.

std::string FormatBytes(double bytes);      // "17.3 MiB"
std::string FormatSeconds(double seconds);  // "412 ms", "3.21 s", "2 h 5 min"
std::string FormatAge(double unix_s);       // "5 min ago"

}  // namespace stoker::cli
