// BazelCache: /cas/<sha256> and /ac/<key> in the form of Bazel's HTTP cache (GET, HEAD, PUT). Both
// share the store of the artifacts; action results live in an index namespace of their own.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <string>
#include <string_view>

#include "cache/stack/stack.h"
#include "daemon/net/http/http.h"
#include "daemon/service/statistics/statistics.h"
#include "protocol/base/digest.h"
#include "protocol/base/result.h"

namespace stoker {

// What Bazel calls an action result is small; it must not be used for blobs.
inline constexpr std::size_t kMaxActionResultBytes = std::size_t{4} << 20;

class BazelCache {
 public:
  // All references must outlive it.
  BazelCache(boost::asio::thread_pool& blocking, CacheStack& stack, Statistics& statistics)
      : blocking_(blocking), stack_(stack), statistics_(statistics) {}

  static bool Owns(std::string_view path);
  // GET and HEAD answer with the blob, 404 for a miss; PUT with nothing, 507 where there is no
  // room. A path or a body that is not what the path names: 400; another method: 422.
  boost::asio::awaitable<net::HttpReply> Handle(const net::HttpRequest& request);

 private:
  Result<Blob> Get(bool is_action, const Digest& digest);
  Status Put(bool is_action, const Digest& digest, std::string body);

  boost::asio::thread_pool& blocking_;
  CacheStack& stack_;
  Statistics& statistics_;
};

}  // namespace stoker
