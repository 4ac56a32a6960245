// Requests to uploads (uploads.h): how far one has come, its rest, its end.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <variant>

#include "daemon/net/http/request_reader.h"
#include "daemon/net/http/uploads.h"

namespace stoker::net {

// Whether the sender of this request can go on with it when the connection breaks.
bool IsUpload(const Incoming& incoming);
// The interim answer to it.
std::string UploadOffer(const Uploads::Turn& turn, std::size_t max_bytes);

// The original request, whose rest the connection brings.
struct Continued {
  Incoming incoming;
  Uploads::Turn turn;
  Room room;
};

// `incoming` asks for a path in Uploads::kFolder.
boost::asio::awaitable<std::variant<HttpReply, Continued>> AnswerUpload(const Incoming& incoming,
                                                                        Uploads& uploads);

}  // namespace stoker::net
