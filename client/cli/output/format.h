// Numbers as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker::cli {

// For what follows: no sign, no blank, nothing behind it; nothing for anything else.
std::optional<std::uint64_t> ParseWhole(std::string_view text);  // In decimal digits.
std::optional<double> ParseNumber(std::string_view text);        // "2", "0.5".
// "10GiB", "10g", or bytes; units are those of 1024. At most 1 PiB.
std::optional<std::uint64_t> ParseBytes(std::string_view text);
// "1.5h", "30d", as seconds. The unit must be there: 30 of what?
std::optional<double> ParseAge(std::string_view text);

// "90s", "15min", "1h", "7d", or seconds; nothing for anything else, and for none.
std::optional<std::int64_t> ParseDuration(std::string_view text);

// `text` for a terminal, in UTF-8: what clients say must not steer it.
std::string Printable(std::string_view text);
std::string PrintableLines(std::string_view text);  // Keeps line ends and tabs.

std::string FormatBytes(double bytes);      // "17.3 MiB"
std::string FormatSeconds(double seconds);  // "412 ms", "3.21 s", "2 h 5 min"
std::string FormatAge(double unix_s);       // "5 min ago"

}  // namespace stoker::cli
