#include "daemon/housekeeping/process_signals.h"

#include <csignal>
#include <string>

namespace stoker {

ProcessSignals::ProcessSignals(boost::asio::io_context& io, Log& log, Housekeeper& housekeeper,
                               const ServiceManager& manager)
    : io_(io),
      log_(log),
      housekeeper_(housekeeper),
      manager_(manager),
      ends_(io, SIGTERM, SIGINT),
      hang_ups_(io, SIGHUP) {
  ends_.async_wait([this](boost::system::error_code failed, int number) {
    if (failed) return;
    housekeeper_.Drain("signal " + std::to_string(number));
    ends_.async_wait([this](boost::system::error_code again, int) {
      if (!again) io_.stop();
    });
  });
  AwaitHangUp();
}

void ProcessSignals::AwaitHangUp() {
  hang_ups_.async_wait([this](boost::system::error_code failed, int) {
    if (failed) return;
    manager_.SayReloading();
    log_.Reopen();
    housekeeper_.RereadCredentials();
    manager_.SayReady(kServingStatus);
    AwaitHangUp();
  });
}

}  // namespace stoker
