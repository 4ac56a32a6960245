#include "daemon/housekeeping/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <string>

namespace stoker {
namespace {

constexpr long long kMicrosPerSecond = 1'000'000;
constexpr long long kNanosPerMicro = 1000;

// Gives the variable's value and removes it.
std::string Taken(const char* variable) {
  const char* value = std::getenv(variable);
  std::string text = value == nullptr ? "" : value;
  unsetenv(variable);
  return text;
}

// A datagram socket that sends to `place`: a path, or an abstract name after '@'.
FileDescriptor ConnectedTo(const std::string& place) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_sound = place.size() > 1 && place.size() < sizeof address.sun_path &&
                        (place.front() == '/' || place.front() == '@');
  if (!is_sound) return FileDescriptor(-1);
  std::copy(place.begin(), place.end(), address.sun_path);
  if (place.front() == '@') address.sun_path[0] = '\0';
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
  if (!socket || connect(socket.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0) {
    return FileDescriptor(-1);
  }
  return socket;
}

std::string MonotonicMicros() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(now.tv_sec * kMicrosPerSecond + now.tv_nsec / kNanosPerMicro);
}

}  // namespace

ServiceManager ServiceManager::OfEnvironment() {
  const std::string place = Taken("NOTIFY_SOCKET");
  const std::string watchdog_us = Taken("WATCHDOG_USEC");
  const std::string watched_pid = Taken("WATCHDOG_PID");
  const bool is_ours = watched_pid.empty() || watched_pid == std::to_string(getpid());
  return {ConnectedTo(place), !watchdog_us.empty() && is_ours};
}

void ServiceManager::SayReady(std::string_view status) const {
  Send("READY=1\nSTATUS=" + std::string(status));
}

void ServiceManager::SayReloading() const {
  Send("RELOADING=1\nMONOTONIC_USEC=" + MonotonicMicros());
}

void ServiceManager::SayStopping() const { Send("STOPPING=1"); }

void ServiceManager::SayAlive() const {
  if (is_watched_) Send("WATCHDOG=1");
}

void ServiceManager::Send(std::string_view state) const {
  if (socket_) (void)send(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL);
}

}  // namespace stoker
