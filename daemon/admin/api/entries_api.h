// EntriesApi: the routes /v1/entries/..., by which artifacts go from one daemon to another.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <string_view>

#include "daemon/access/grant.h"
#include "daemon/net/http/http.h"
#include "daemon/service/store/entry_store.h"

namespace stoker {

class EntriesApi {
 public:
  // All references must outlive it.
  EntriesApi(boost::asio::thread_pool& blocking, CacheStack& stack, const KeyRing& keys)
      : blocking_(blocking), store_(stack, keys) {}

  // To get one needs the scope "read" in its namespace; to put one, which is code that was compiled
  // elsewhere, "admin", and a signature that this daemon knows.
  boost::asio::awaitable<net::HttpReply> Handle(const net::HttpRequest& request,
                                                const Grant& grant);

 private:
  boost::asio::thread_pool& blocking_;
  EntryStore store_;
};

}  // namespace stoker
