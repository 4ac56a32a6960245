// CapturesApi: the routes /v1/captures/..., and what is remembered of how starts went.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "daemon/access/grant.h"
#include "daemon/net/http/http.h"
#include "daemon/service/statistics/statistics.h"
#include "daemon/service/store/capture_store.h"

namespace stoker {

class CapturesApi {
 public:
  static constexpr std::size_t kMaxNotes = 256;

  // All references must outlive it.
  CapturesApi(boost::asio::thread_pool& blocking, CacheStack& stack, Statistics& statistics)
      : blocking_(blocking), statistics_(statistics), store_(stack) {}

  static bool Owns(std::string_view path);
  // Reading needs the scope "read" in the namespace that the request names, storing "write".
  boost::asio::awaitable<net::HttpReply> Handle(const net::HttpRequest& request,
                                                const Grant& grant);

 private:
  struct Note {
    double unix_s;
    wire::CaptureNote note;
  };

  net::HttpReply Find(const wire::CaptureQuery& query);
  net::HttpReply Take(const wire::CaptureNote& note);
  net::HttpReply Notes(const Grant& grant);  // Of the namespaces that they may read.

  boost::asio::thread_pool& blocking_;
  Statistics& statistics_;
  CaptureStore store_;
  std::mutex mutex_;        // Guards what follows.
  std::deque<Note> notes_;  // Newest first.
};

}  // namespace stoker
