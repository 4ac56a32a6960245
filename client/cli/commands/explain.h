// Why requests missed: explain KEY, explain JOB.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stoker/stoker.hpp"

namespace stoker::cli {

// Whether `text` is the beginning of a request key: 8 to 64 lower-case hexadecimal digits.
bool IsKey(std::string_view text);

// Of a key or a job; the exit code. At most `limit` misses are shown. 1: nothing is known of it, or
// several keys start so.
int ExplainMisses(Client& client, const std::string& key_or_job, bool as_json, std::size_t limit);

}  // namespace stoker::cli
