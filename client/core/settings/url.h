// Where a daemon listens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

// "unix:/path/to/socket", "http://host:port", "https://host:port". Port 0 never parses.
struct DaemonUrl {
  enum class Scheme : std::uint8_t { kUnix, kHttp, kHttps };
  Scheme scheme = Scheme::kUnix;
  std::string path;  // kUnix
  std::string host;  // kHttp, kHttps; an IPv6 address without brackets.
  std::uint16_t port = 0;

  static Result<DaemonUrl> Parse(std::string_view text);
  std::string ToString() const;
  // What a request's Host header says: "host:port".
  std::string Authority() const;
};

}  // namespace stoker
