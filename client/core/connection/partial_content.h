// PartialContent: the beginning of what is downloaded, to which answers to requests for the rest
// are added (RFC 9110, 14).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

struct PartialContent {
  std::string bytes;
  std::optional<std::uint64_t> size = {};  // Of the whole, once it is known.
  std::string etag = {};                   // Of the answer that began it; empty: it had none.

  bool is_whole() const { return size == bytes.size(); }

  // An answer brings all of it: 200.
  void BeginAnew(std::optional<std::uint64_t> all, std::string tag);
  // An answer brings a part: 206, with this Content-Range. Unavailable: it is not what follows, and
  // nothing is left of what was there: the next request is for all of it.
  Status GoOn(std::string_view content_range, std::string_view tag);
};

}  // namespace stoker
