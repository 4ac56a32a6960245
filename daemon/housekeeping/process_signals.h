// ProcessSignals: the first SIGTERM or SIGINT drains the daemon and the second stops it at once;
// SIGHUP has it open its log anew and read its credentials again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "daemon/housekeeping/housekeeper.h"
#include "daemon/housekeeping/service_manager.h"
#include "daemon/log/log.h"

namespace stoker {

class ProcessSignals {
 public:
  // From now on, where `io` runs. Everything must outlive it.
  ProcessSignals(boost::asio::io_context& io, Log& log, Housekeeper& housekeeper,
                 const ServiceManager& manager);

 private:
  void AwaitHangUp();

  boost::asio::io_context& io_;
  Log& log_;
  Housekeeper& housekeeper_;
  const ServiceManager& manager_;
  boost::asio::signal_set ends_;
  boost::asio::signal_set hang_ups_;
};

}  // namespace stoker
