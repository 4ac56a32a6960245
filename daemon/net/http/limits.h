// ServerLimits: what connections may take, and ServerLoad: what all of them take now.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stoker::net {

struct ServerLimits {
  int threads = 2;
  // Beyond it the connection that has been idle longest is closed for a new one, or else the oldest
  // whose request has not come; where there is none, the new one is answered if it asks for what is
  // urgent (health), else 503.
  std::size_t max_connections = 16384;
  std::size_t max_urgent_connections = 16;
  std::size_t max_header_bytes = 64 << 10;
  std::size_t max_body_bytes = std::size_t{512} << 20;
  // What has come of the bodies of all requests under way.
  std::size_t max_bodies_bytes = std::size_t{2} << 30;
  // Of all replies that are being sent; what the cache shares does not count.
  std::size_t max_replies_bytes = std::size_t{2} << 30;
  std::chrono::milliseconds idle_timeout{300000};  // Between requests on one connection.
  std::chrono::milliseconds header_timeout{10000};
  // How long a body or a reply may stand still, and how slowly a body may come after that time.
  std::chrono::milliseconds progress_timeout{30000};
  std::size_t min_body_bytes_per_s = 64 << 10;
  // Requests whose connection broke (uploads.h) are kept so long, and so many bytes of them, the
  // youngest: what is dead must not keep out who lives. With those under way they are so many.
  std::chrono::milliseconds upload_timeout{60000};
  std::size_t max_kept_bytes = std::size_t{1} << 30;
  std::size_t max_uploads = 1024;
  // How long a refused peer may go on sending before its connection is closed.
  std::chrono::milliseconds linger_timeout{2000};
};

// What a connection does.
enum class ConnectionState {
  kOpening,    // Its TLS handshake.
  kIdle,       // Waits for a request.
  kReading,    // A request comes.
  kAnswering,  // It is handled, and its answer sent.
};
inline constexpr std::size_t kConnectionStateCount = 4;

constexpr std::string_view Name(ConnectionState state) {
  constexpr std::array<std::string_view, kConnectionStateCount> kNames = {"opening", "idle",
                                                                          "reading", "answering"};
  return kNames[static_cast<std::size_t>(state)];
}

using ConnectionCounts = std::array<std::size_t, kConnectionStateCount>;

// What is kept of requests whose connection broke.
struct KeptUploads {
  std::size_t count = 0;
  std::size_t bytes = 0;
};

// What a server has now.
struct ServerCounts {
  ConnectionCounts connections{};
  KeptUploads kept_uploads;
};

// What all connections of a server share.
struct ServerLoad {
  std::array<std::atomic<std::size_t>, kConnectionStateCount> by_state{};
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> active_requests{0};
  std::atomic<std::size_t> bodies_bytes{0};
  std::atomic<std::size_t> replies_bytes{0};
};

// The state of one connection, counted among all.
class CountedState {
 public:
  explicit CountedState(ServerLoad& load) : load_(load) { CountOf(state_).fetch_add(1); }
  ~CountedState() { CountOf(state_).fetch_sub(1); }
  CountedState(const CountedState&) = delete;
  CountedState& operator=(const CountedState&) = delete;

  void Become(ConnectionState state) {
    CountOf(state).fetch_add(1);
    CountOf(state_).fetch_sub(1);
    state_ = state;
  }

 private:
  std::atomic<std::size_t>& CountOf(ConnectionState state) {
    return load_.by_state[static_cast<std::size_t>(state)];
  }

  ServerLoad& load_;
  ConnectionState state_ = ConnectionState::kOpening;
};

// A share of such a total, given back at its end.
class Room {
 public:
  Room(std::atomic<std::size_t>& total, std::size_t limit) : total_(total), limit_(limit) {}
  ~Room() { GiveBack(); }
  Room(Room&& other) noexcept
      : total_(other.total_), limit_(other.limit_), taken_(std::exchange(other.taken_, 0)) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // False: the limit is reached, and nothing more was taken.
  bool Take(std::size_t bytes) {
    if (total_.fetch_add(bytes) + bytes > limit_) {
      total_.fetch_sub(bytes);
      return false;
    }
    taken_ += bytes;
    return true;
  }
  void GiveBack() { total_.fetch_sub(std::exchange(taken_, 0)); }

 private:
  std::atomic<std::size_t>& total_;
  const std::size_t limit_;
  std::size_t taken_ = 0;
};

}  // namespace stoker::net
