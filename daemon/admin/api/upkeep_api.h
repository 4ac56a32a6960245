// UpkeepApi: the routes below /v1/cache/: gc, purge, verify, pin, unpin, pins.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <optional>
#include <string_view>

#include "cache/stack/stack.h"
#include "daemon/access/grant.h"
#include "daemon/net/http/http.h"
#include "daemon/service/store/upkeep.h"

namespace stoker {

class UpkeepApi {
 public:
  // All references must outlive it.
  UpkeepApi(boost::asio::thread_pool& blocking, CacheStack& stack, Upkeep& upkeep)
      : blocking_(blocking), stack_(stack), upkeep_(upkeep) {}

  // What touches the whole cache asks for the scope admin in every namespace; a purge of one
  // namespace for admin there; pins for write, or read, in theirs.
  boost::asio::awaitable<std::optional<net::HttpReply>> Handle(const net::HttpRequest& request,
                                                               const Grant& grant,
                                                               net::HttpStream& stream);

 private:
  using Answer = boost::asio::awaitable<std::optional<net::HttpReply>>;
  using Start = std::function<boost::asio::awaitable<Status>(const Upkeep::Send&)>;

  Answer Gc(const net::HttpRequest& request, const Grant& grant, net::HttpStream& stream);
  Answer Purge(const net::HttpRequest& request, const Grant& grant, net::HttpStream& stream);
  Answer Verify(const Grant& grant, net::HttpStream& stream);
  Answer Pin(const net::HttpRequest& request, const Grant& grant, bool pinned);
  Answer Pins(const net::HttpRequest& request, const Grant& grant);
  // The reply of what `start` refuses, or its events.
  static Answer Stream(net::HttpStream& stream, const Start& start);

  boost::asio::thread_pool& blocking_;
  CacheStack& stack_;
  Upkeep& upkeep_;
};

}  // namespace stoker
