// What a reply looks like on the wire, but for its body.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/net/http/http.h"

namespace stoker::net {

// An error in the form of the wire (WIRE.md).
HttpReply ErrorReplyFor(int status, const Error& error, int retry_after_s = 0);

struct HeaderOptions {
  bool keep_alive = true;
  bool is_http_1_0 = false;
  bool is_chunked = false;           // Else the length is that of the body.
  bool ends_upload = false;          // Answers the request whose rest came as one of its own.
  std::string_view request_id = {};  // Empty: none.
};

// From the status line to the empty line.
std::string HeaderText(const HttpReply& reply, const HeaderOptions& options);

// `reply` cut down to the part that a Range header names (RFC 9110, 14): 206, or 416 where there is
// no such part. Several ranges, other units and what is no range give all of it, as the RFC allows.
HttpReply PartOf(HttpReply reply, std::string_view range);

// A client's X-Request-Id if it can stand in logs: up to 64 characters out of A-Z a-z 0-9 . _ -
bool IsRequestId(std::string_view text);
// One made up: 16 hexadecimal digits.
std::string MakeRequestId();

}  // namespace stoker::net
