// Standard output, where answers go: one that is lost on its way is a failure. Standard error,
// where a person is told how it goes: nobody may be there.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace stoker::cli {

// First of all: where a standard stream is closed, what is opened next would take its number, and
// answers would be written into that. Programs that this one becomes find it closed as it was.
void HoldStandardStreams();

// Throws Error where not everything was written.
void FlushOutput();

void TellText(std::string_view text);
template <typename... Parts>
void Tell(fmt::format_string<Parts...> format, Parts&&... parts) {
  TellText(fmt::format(format, std::forward<Parts>(parts)...));
}

}  // namespace stoker::cli
