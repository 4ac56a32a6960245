#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "client/core/connection/host_lookup.h"
#include "client/core/connection/transport.h"

namespace stoker {
namespace {

// Until a listener on a Unix socket has room for one more.
constexpr std::chrono::milliseconds kBacklogPause{5};

Error ErrnoError(int number) { return Unavailable(std::generic_category().message(number) + "."); }

// Of a connection that is not made.
Error ConnectError(int number) {
  // Whoever has an address says that nothing listens there, or no socket has this path.
  const bool is_nobody = number == ECONNREFUSED || number == ENOENT;
  return is_nobody ? NotFound(std::generic_category().message(number) + ".") : ErrnoError(number);
}

Error TooLate() { return DeadlineExceeded("Nothing moves."); }

class Plain : public Transport {
 public:
  explicit Plain(FileDescriptor socket) : socket_(std::move(socket)) {}

  Result<std::size_t> Read(std::span<char> into, Clock::time_point moment) override {
    while (true) {
      const ssize_t n = recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return ErrnoError(errno);
      if (!WaitFor(socket_.get(), POLLIN, moment)) return TooLate();
    }
  }

  Result<std::size_t> Write(std::string_view bytes, Clock::time_point moment) override {
    while (true) {
      const ssize_t n =
          send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return ErrnoError(errno);
      if (!WaitFor(socket_.get(), POLLOUT, moment)) return TooLate();
    }
  }

  bool IsQuiet() override { return !WaitFor(socket_.get(), POLLIN, Clock::time_point()); }

 private:
  const FileDescriptor socket_;
};

Result<FileDescriptor> ConnectTo(int family, const sockaddr* address, socklen_t size,
                                 Transport::Clock::time_point moment) {
  FileDescriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return ErrnoError(errno);
  while (connect(fd.get(), address, size) != 0) {
    if (errno == EAGAIN && Transport::Clock::now() < moment) {
      std::this_thread::sleep_for(kBacklogPause);
      continue;
    }
    if (errno != EINPROGRESS && errno != EINTR) return ConnectError(errno);
    if (!WaitFor(fd.get(), POLLOUT, moment)) return ErrnoError(ETIMEDOUT);
    int failure = 0;
    socklen_t failure_size = sizeof failure;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &failure_size);
    if (failure != 0) return ConnectError(failure);
    break;
  }
  if (family != AF_UNIX) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return fd;
}

// All addresses of the host: "localhost" is ::1 first on some, where nobody may listen. Each has
// its share of the time: packets to the first may end nowhere.
Result<FileDescriptor> ConnectToHost(const DaemonUrl& url, Transport::Clock::time_point moment) {
  STOKER_TRY(const Addresses addresses, FindHost(url.host, moment));
  int left = 0;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) ++left;
  Error last = Unavailable("It has no address.");
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, at->ai_addr, at->ai_addrlen);
    auto& port = at->ai_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(address).sin_port;
    port = htons(url.port);
    const auto now = Transport::Clock::now();
    auto connected = ConnectTo(at->ai_family, reinterpret_cast<const sockaddr*>(&address),
                               at->ai_addrlen, now + (moment - now) / left--);
    if (connected.ok()) return connected;
    last = connected.error();
  }
  return last;
}

}  // namespace

bool WaitFor(int fd, short events, Transport::Clock::time_point moment) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(moment - Transport::Clock::now());
    const auto timeout = std::clamp<std::int64_t>(left.count(), 0, 1 << 30);
    pollfd one{fd, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(timeout));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) return true;  // What is wrong, the call that follows says.
  }
}

Result<FileDescriptor> ConnectSocket(const DaemonUrl& url, Transport::Clock::time_point moment) {
  if (url.scheme != DaemonUrl::Scheme::kUnix) return ConnectToHost(url, moment);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, url.path.data(),
              std::min(url.path.size(), sizeof address.sun_path - 1));
  return ConnectTo(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, moment);
}

std::unique_ptr<Transport> PlainTransport(FileDescriptor socket) {
  return std::make_unique<Plain>(std::move(socket));
}

}  // namespace stoker
