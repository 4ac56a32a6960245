// How a job is called: by what a client says in the header kJobHeader of each request. It is in no
// key; it is for who looks at a daemon, and for taking turns in its queue.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stoker::wire {

inline constexpr std::string_view kJobHeader = "X-Stoker-Job";
inline constexpr std::size_t kMaxJobNameBytes = 64;

// 1 to kMaxJobNameBytes of A-Z a-z 0-9 . _ : / @ -
bool IsJobName(std::string_view text);
// `text` cut to a job's name, with '-' for what may not stand in one; empty if `text` is.
std::string JobNameOf(std::string_view text);

}  // namespace stoker::wire
