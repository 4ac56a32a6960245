// ObserveApi: what a daemon remembers of misses and compiles, as JSON: /v1/misses, /v1/traces/.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "daemon/access/grant.h"
#include "daemon/net/http/http.h"
#include "daemon/service/compile_service.h"

namespace stoker {

class ObserveApi {
 public:
  // Stored requests that are shown where a key's beginning fits several.
  static constexpr std::size_t kMaxCandidates = 32;
  // A shorter beginning of a key says too little.
  static constexpr std::size_t kMinKeyDigits = 8;

  // `service` must outlive it.
  explicit ObserveApi(CompileService& service) : service_(service) {}

  // misses?key=HEX or misses?job=NAME: what was missed, why, and what is stored by now. Of the
  // namespaces that the sender may read.
  boost::asio::awaitable<net::HttpReply> Misses(const net::HttpRequest& request,
                                                const Grant& grant);
  // traces/KEY, traces/latest: a compile, as Chrome and Perfetto read it. ?namespace=NS where
  // several have the key; ?anew=1: it is compiled now, and nothing is stored.
  boost::asio::awaitable<net::HttpReply> Trace(const net::HttpRequest& request, const Grant& grant);

 private:
  boost::asio::awaitable<net::HttpReply> TraceAnew(const net::HttpRequest& request,
                                                   const Grant& grant, const std::string& ns,
                                                   const std::string& key);

  CompileService& service_;
};

}  // namespace stoker
