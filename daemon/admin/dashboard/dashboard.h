// Dashboard: the page at "/" for who looks at the daemon with a browser, and what its script asks
// for, as JSON below /dashboard/.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>

#include "daemon/access/grant.h"
#include "daemon/net/http/http.h"
#include "daemon/service/compile_service.h"
#include "daemon/service/statistics/history.h"
#include "daemon/service/statistics/statistics.h"

namespace stoker {

class Dashboard {
 public:
  // All references must outlive it.
  Dashboard(const Statistics& statistics, const History& history, CompileService& service)
      : statistics_(statistics), history_(history), service_(service) {}

  // GET of "/" or of what is below "/dashboard/".
  boost::asio::awaitable<net::HttpReply> Handle(const net::HttpRequest& request,
                                                const Grant& grant);

 private:
  // history.json?since=SECONDS&rows=N
  net::HttpReply HistoryJson(const std::string& query) const;
  // entries.json: the slowest compiles and the models most asked for, of what the sender may read.
  boost::asio::awaitable<net::HttpReply> EntriesJson(const Grant& grant);
  // inspect.json?namespace=NS&key=PREFIX&sections=A,B: compiles anew.
  boost::asio::awaitable<net::HttpReply> InspectJson(const net::HttpRequest& http,
                                                     const Grant& grant);

  const Statistics& statistics_;
  const History& history_;
  CompileService& service_;
};

}  // namespace stoker
