// Uploads: what came of requests whose connections broke, for another connection to bring the rest
// (draft-ietf-httpbis-resumable-upload).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/net/http/http.h"
#include "daemon/net/http/limits.h"

namespace stoker::net {

// Used by all connections, from any thread.
class Uploads {
 public:
  using Clock = std::chrono::steady_clock;

  // Where uploads are found: this, and then what nobody can guess.
  static constexpr std::string_view kFolder = "/uploads/";

  // What has come of a request.
  struct Part {
    HttpRequest request;
    std::size_t have = 0;  // Of the body; the rest of the string is room for more.
    Room room;             // That of the string.
  };

  // Of the one connection that brings the bytes of an upload now. At its end the upload is over,
  // unless it was kept.
  class Turn {
   public:
    Turn(Turn&& other) noexcept;
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    const std::string& path() const { return path_; }
    // The connection broke. An upload that takes too long, or was cancelled, is not kept.
    void Keep(Part part);
    // The body is whole. False: it was cancelled, and its request is not to be handled.
    bool Finish();
    // Whether another connection is there to go on with it, or it was cancelled: nothing that this
    // one still brings is waited for.
    bool IsOver() const;

   private:
    friend class Uploads;
    Turn(Uploads& uploads, std::string path) : uploads_(&uploads), path_(std::move(path)) {}

    Uploads* uploads_;  // Null: it has ended.
    std::string path_;
  };

  explicit Uploads(const ServerLimits& limits) : limits_(limits) {}

  // Of a request whose body has `size` bytes. The oldest kept one makes place. Nothing: too many
  // are being brought.
  std::optional<Turn> Begin(const HttpRequest& header, std::uint64_t size);

  // For whoever sent the request, with the same credential; for anybody else there is none.
  enum class State {
    kNone,
    kBrought,  // By a connection that nobody has noticed is dead; it is closed soon.
    kKept,
  };
  struct Found {
    State state = State::kNone;
    std::size_t have = 0;    // Of a kept one, as what follows.
    std::uint64_t size = 0;  // Of the whole body.
  };
  Found Find(const HttpRequest& who);

  struct Taken {
    Part part;
    Turn turn;
  };
  // Nothing: it is no longer kept.
  std::optional<Taken> Take(const HttpRequest& who);
  // False: there is none.
  bool Cancel(const HttpRequest& who);

  void Expire(Clock::time_point now);

  KeptUploads kept() const;

 private:
  struct Upload {
    std::optional<std::string> authorization;  // Whose it is.
    Peer peer;
    std::uint64_t size;
    Clock::time_point start;
    bool is_wanted = false;    // By another connection than that which brings it.
    std::optional<Part> part;  // While it is kept.
    Clock::time_point end;     // Of keeping it.
  };
  using Table = std::map<std::string, Upload, std::less<>>;  // By path.

  // These are called with the lock.
  Table::iterator Search(const HttpRequest& who);
  // What is taken out is destroyed without the lock: it may be large.
  Table::node_type Extract(Table::iterator place);
  Table::iterator OldestKept();

  const ServerLimits& limits_;
  mutable std::mutex mutex_;
  Table uploads_;
  KeptUploads kept_;
};

}  // namespace stoker::net
