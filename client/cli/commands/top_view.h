// What `stoker top` shows, as text.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stoker::cli {

// What a daemon said at one time.
struct TopSample {
  double unix_s = 0;
  boost::json::value status;       // /status
  boost::json::value last_minute;  // /status?since=...
  boost::json::value last_five;    // minutes
  boost::json::value last_fifteen;
};

enum class TopSort { kRequests, kMisses, kCompiles, kTime };
std::string_view Name(TopSort sort);
TopSort After(TopSort sort);  // The next one, in a circle.

struct TopFrame {
  std::optional<TopSample> before;  // The one before; nothing: this is the first.
  TopSample now;
  std::string error;  // Why there is no newer one; empty: there is.
  TopSort sort = TopSort::kRequests;
  bool is_paused = false;
  bool has_keys = true;  // They are explained.
};

// Lines that end in '\n', none longer than `columns` characters, at most `rows` of them; 0: as many
// as there are. What matters most stays where there is little room.
std::string RenderTop(const TopFrame& frame, std::size_t rows, std::size_t columns);

}  // namespace stoker::cli
