// ServiceManager: who started the daemon as a service and wants to know how it is: systemd, or
// whoever else speaks the protocol of sd_notify(3).
#pragma once

#include <string_view>

#include "protocol/base/host/file_descriptor.h"

namespace stoker {

// What SayReady says of a daemon that serves.
inline constexpr std::string_view kServingStatus = "Serving.";

class ServiceManager {
 public:
  // The one that listens at NOTIFY_SOCKET; where nobody does, nothing is sent. Takes the variables
  // out of the environment, because what a child says is not the daemon's word: call it before
  // there are threads.
  static ServiceManager OfEnvironment();

  // These are safe from any thread. What the manager does not take is lost.
  void SayReady(std::string_view status) const;
  // The configuration is read again, until SayReady.
  void SayReloading() const;
  void SayStopping() const;
  // Expected every now and then of a service that has a watchdog; the manager restarts one that
  // falls silent.
  void SayAlive() const;

 private:
  ServiceManager(FileDescriptor socket, bool is_watched)
      : socket_(std::move(socket)), is_watched_(is_watched) {}
  void Send(std::string_view state) const;

  FileDescriptor socket_;  // Connected, or none.
  bool is_watched_;
};

}  // namespace stoker
