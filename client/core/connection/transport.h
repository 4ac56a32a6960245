// Transport: connected bytes, in clear or encrypted, for one thread at a time. Each wait has an
// end, which blocking calls of libraries do not have, and no call raises SIGPIPE in the job.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "client/core/settings/url.h"
#include "client/core/trust/tls_trust.h"
#include "protocol/base/host/file_descriptor.h"
#include "protocol/base/result.h"

namespace stoker {

class Transport {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Transport() = default;

  // At least one byte; 0: the peer sends no more. DeadlineExceeded: nothing came by `moment`.
  // Unavailable: the connection broke. FailedPrecondition: the peer says that it refuses the
  // client.
  virtual Result<std::size_t> Read(std::span<char> into, Clock::time_point moment) = 0;
  // At least one byte of `bytes`, which is not empty; how many. DeadlineExceeded: none could be
  // sent by `moment`.
  virtual Result<std::size_t> Write(std::string_view bytes, Clock::time_point moment) = 0;
  // Whether the peer has said nothing that was not read, and has not closed the connection.
  virtual bool IsQuiet() = 0;
};

// A connected socket, which does not block. NotFound: nobody listens there. Unavailable: nobody was
// reached by `moment`.
Result<FileDescriptor> ConnectSocket(const DaemonUrl& url, Transport::Clock::time_point moment);

std::unique_ptr<Transport> PlainTransport(FileDescriptor socket);

// TLS 1.3. FailedPrecondition: who is there is not to be believed, or speaks something else; the
// message says what to do about it.
Result<std::unique_ptr<Transport>> TlsTransport(FileDescriptor socket, const DaemonUrl& url,
                                                const TlsTrust& trust,
                                                Transport::Clock::time_point moment);

// Whether `events` (of poll) came up on a descriptor by `moment`.
bool WaitFor(int fd, short events, Transport::Clock::time_point moment);

}  // namespace stoker
