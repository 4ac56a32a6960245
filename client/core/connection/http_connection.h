// One HTTP/1.1 connection to a daemon, used by one thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/core/connection/partial_content.h"
#include "client/core/connection/partial_upload.h"
#include "client/core/settings/url.h"
#include "client/core/trust/daemon_trust.h"
#include "protocol/base/result.h"

namespace stoker {

struct HttpResponse {
  int status = 0;
  std::string body;
  int retry_after_s = 0;   // 0: it does not say.
  std::string request_id;  // Under which the daemon logs what was asked.
  // Whether the channel proves that a daemon that is trusted said it (daemon_trust.h).
  bool is_authenticated = false;
};

class HttpConnection {
 public:
  // The largest body of an answer that is taken.
  static constexpr std::size_t kMaxBodyBytes = std::size_t{1} << 30;
  // How long a long body waits for leave to be sent: not everybody gives it.
  static constexpr std::chrono::milliseconds kLeavePatience{1000};
  // How many 1xx answers may come before the one that counts.
  static constexpr int kMaxInterimAnswers = 16;

  // How long a call may wait until the answer begins: its header, and of a body something. Before
  // and after it, bodies move at the rate that a ProgressDeadline with this window asks.
  using Patience = std::chrono::milliseconds;

  // NotFound: nobody listens there. Unavailable: nobody was reached in time. FailedPrecondition:
  // somebody listens who is not trusted, or speaks something else.
  static Result<std::unique_ptr<HttpConnection>> Connect(const DaemonUrl& url,
                                                         std::chrono::milliseconds timeout,
                                                         const DaemonTrust& trust = {});
  ~HttpConnection();

  // Any final answer is a value. Unavailable: the connection broke; it cannot be used again.
  // DeadlineExceeded: `patience` is used up. ResourceExhausted: the answer is too large.
  // FailedPrecondition: the peer refuses this client.
  // A long body (wire::kLongBodyBytes) waits a moment for who refuses it. Of one that cannot be
  // sent to its end, `upload` then says where another connection goes on, given the same request.
  Result<HttpResponse> Call(std::string_view method, std::string_view path, std::string_view body,
                            Patience patience, PartialUpload* upload = nullptr);

  // A 200 is handed on in pieces as it arrives, and the returned body is empty; any other status
  // is read whole. An error from `on_data` ends the call and the connection; true: it is news that
  // is worth waiting for more, however little it is.
  using OnData = std::function<Result<bool>(std::string_view)>;
  Result<HttpResponse> Stream(std::string_view method, std::string_view path, std::string_view body,
                              Patience patience, const OnData& on_data,
                              PartialUpload* upload = nullptr);

  // Appends to `content` what follows at `path` (RFC 9110, 14.2): more is to be asked for until it
  // is whole. What has come before an error stays there, for another connection to go on from;
  // nothing stays where the answer does not continue it. A status other than 200 and 206 is read
  // whole, and changes nothing.
  Result<HttpResponse> Download(std::string_view path, Patience patience, PartialContent& content);

  // Whether one more call may be made: each before it was answered, exactly once, and nothing has
  // come since. False also in a child that was forked since: the connection is its parent's.
  bool usable() const;

 private:
  struct State;
  explicit HttpConnection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace stoker
