// OpenSSL between two buffers: what comes is received where OpenSSL asks for it, what goes is
// gathered until it is sent with one call. asio::ssl would copy both once more, and send each
// record of 16 KiB by itself.
#include "daemon/net/stream/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "daemon/net/stream/certificate_names.h"
#include "protocol/base/freed_by.h"

namespace stoker::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kRecordBytes = SSL3_RT_MAX_PLAIN_LENGTH;
// Of a header, a tag and the type, rounded up.
constexpr std::size_t kRecordOverheadBytes = 32;
// Encrypted and sent at once: a blob of 64 KiB with its header.
constexpr std::size_t kBurstBytes = 5 * kRecordBytes;
// What one connection may read before others get their turn, as long as more is there.
constexpr int kRecordsPerTurn = 16;

class Tls : public Stream {
 public:
  Tls(StreamSocket socket, SSL_CTX* context, const TlsServer::Log& log)
      : socket_(std::move(socket)), ssl_(SSL_new(context)), log_(log) {
    BIO* const bio = ssl_ == nullptr ? nullptr : BIO_new(Method());
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);  // Which owns it.
  }

  asio::awaitable<Opening> Open() override;
  std::vector<std::string> CertificateNames() const override {
    const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
    return certificate == nullptr ? std::vector<std::string>() : NamesOf(certificate);
  }
  asio::awaitable<IoResult> ReadSome(std::span<char> into) override;
  asio::awaitable<IoResult> WriteSome(std::string_view head, std::string_view body) override;
  asio::awaitable<void> EndSending() override;
  void Close() override;

 private:
  // The socket as OpenSSL sees it.
  static const BIO_METHOD* Method();
  static int Receive(BIO* bio, char* into, std::size_t size, std::size_t* bytes);
  static int Gather(BIO* bio, const char* data, std::size_t size, std::size_t* bytes);
  static long Control(BIO* bio, int command, long number, void* pointer);

  // Waits until something has come. False: the connection was closed here.
  asio::awaitable<bool> Wait();
  bool Encrypt(std::string_view bytes);
  // Sends what was gathered.
  asio::awaitable<error_code> Flush();
  Opening Fail(unsigned long error);
  // Says that nothing follows.
  void GatherEnd() {
    if (is_open_ && (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) == 0) {
      SSL_shutdown(ssl_.get());
    }
  }

  StreamSocket socket_;
  const std::unique_ptr<SSL, FreedBy<SSL_free>> ssl_;
  const TlsServer::Log& log_;
  std::string gathered_;           // Not empty while it is being sent.
  std::unique_ptr<Stream> clear_;  // In place of all that, where the handshake has failed.
  bool is_open_ = false;           // From the handshake on until something goes wrong.
  bool received_end_ = false;
  int records_in_turn_ = 0;
};

const BIO_METHOD* Tls::Method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "connection");
    if (made == nullptr) throw std::bad_alloc();
    BIO_meth_set_read_ex(made, Receive);
    BIO_meth_set_write_ex(made, Gather);
    BIO_meth_set_ctrl(made, Control);
    return made;
  }();
  return method;
}

int Tls::Receive(BIO* bio, char* into, std::size_t size, std::size_t* bytes) {
  Tls& self = *static_cast<Tls*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  // A closed socket has no descriptor: its number may be another connection's by now.
  const ssize_t n = recv(self.socket_.native_handle(), into, size, MSG_DONTWAIT);
  if (n > 0) {
    *bytes = static_cast<std::size_t>(n);
    return 1;
  }
  if (n == 0) self.received_end_ = true;
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return 0;
}

int Tls::Gather(BIO* bio, const char* data, std::size_t size, std::size_t* bytes) {
  static_cast<Tls*>(BIO_get_data(bio))->gathered_.append(data, size);
  *bytes = size;
  return 1;
}

long Tls::Control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return static_cast<Tls*>(BIO_get_data(bio))->received_end_ ? 1 : 0;
  return 0;
}

asio::awaitable<bool> Tls::Wait() {
  const auto [code] = co_await socket_.async_wait(asio::socket_base::wait_read, kAwait);
  co_return !code;
}

asio::awaitable<error_code> Tls::Flush() {
  std::string_view rest = gathered_;
  error_code failed;
  while (!rest.empty() && !failed) {
    const auto [code, bytes] =
        co_await socket_.async_write_some(asio::buffer(rest.data(), rest.size()), kAwait);
    failed = code;
    rest.remove_prefix(bytes);
  }
  std::string().swap(gathered_);  // Idle connections hold no buffers.
  if (failed) is_open_ = false;
  co_return failed;
}

asio::awaitable<Opening> Tls::Open() {
  while (true) {
    ERR_clear_error();
    const int outcome = SSL_get_error(ssl_.get(), SSL_accept(ssl_.get()));
    const unsigned long error = ERR_peek_error();  // The queue is the thread's, which others use.
    const error_code sent = co_await Flush();      // Where it failed: what it failed for.
    if (outcome == SSL_ERROR_NONE && !sent) break;
    if (outcome != SSL_ERROR_WANT_READ || sent || !co_await Wait()) co_return Fail(error);
  }
  is_open_ = true;
  co_return Opening::kOpen;
}

Opening Tls::Fail(unsigned long error) {
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK) {
    log_(std::string("a client's certificate is refused: ") +
         X509_verify_cert_error_string(verified));
  } else {
    const char* const reason = ERR_reason_error_string(error);
    log_(std::string("a TLS handshake fails: ") + (reason == nullptr ? "the peer left" : reason));
  }
  clear_ = PlainStream(std::move(socket_));
  const int reason = ERR_GET_REASON(error);
  const bool is_http = ERR_GET_LIB(error) == ERR_LIB_SSL &&
                       (reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST);
  return is_http ? Opening::kInClear : Opening::kFailed;
}

asio::awaitable<IoResult> Tls::ReadSome(std::span<char> into) {
  if (clear_) co_return co_await clear_->ReadSome(into);
  while (true) {
    ERR_clear_error();
    std::size_t bytes = 0;
    const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
    const int outcome = SSL_get_error(ssl_.get(), done);
    if (!gathered_.empty()) {  // What the protocol itself has to say.
      if (const error_code failed = co_await Flush()) co_return IoResult{failed};
    }
    if (outcome == SSL_ERROR_NONE) {
      if (++records_in_turn_ >= kRecordsPerTurn) {
        records_in_turn_ = 0;
        co_await asio::post(socket_.get_executor(), asio::use_awaitable);
      }
      co_return IoResult{{}, bytes};
    }
    if (outcome == SSL_ERROR_ZERO_RETURN) co_return IoResult{asio::error::eof};
    if (outcome != SSL_ERROR_WANT_READ) {
      is_open_ = false;
      co_return IoResult{asio::error::connection_reset};
    }
    records_in_turn_ = 0;
    if (!co_await Wait()) co_return IoResult{asio::error::operation_aborted};
  }
}

bool Tls::Encrypt(std::string_view bytes) {
  if (bytes.empty()) return true;
  std::size_t taken = 0;
  ERR_clear_error();
  return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &taken) == 1;
}

asio::awaitable<IoResult> Tls::WriteSome(std::string_view head, std::string_view body) {
  if (clear_) co_return co_await clear_->WriteSome(head, body);
  const std::string_view of_head = head.substr(0, kBurstBytes);
  const std::string_view of_body = body.substr(0, kBurstBytes - of_head.size());
  const std::size_t bytes = of_head.size() + of_body.size();
  gathered_.reserve(bytes + (bytes / kRecordBytes + 2) * kRecordOverheadBytes);
  if (!Encrypt(of_head) || !Encrypt(of_body)) {
    is_open_ = false;
    std::string().swap(gathered_);
    co_return IoResult{asio::error::connection_reset};
  }
  if (const error_code failed = co_await Flush()) co_return IoResult{failed};
  co_return IoResult{{}, bytes};
}

asio::awaitable<void> Tls::EndSending() {
  if (clear_) co_return co_await clear_->EndSending();
  GatherEnd();
  if (co_await Flush()) co_return;
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

void Tls::Close() {
  if (clear_) return clear_->Close();
  if (gathered_.empty()) {
    GatherEnd();
    // Lost where there is no room for it, which costs nobody anything.
    if (!gathered_.empty()) {
      (void)!send(socket_.native_handle(), gathered_.data(), gathered_.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL);
      gathered_.clear();
    }
  }
  is_open_ = false;
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace

std::unique_ptr<Stream> TlsStream(StreamSocket socket, SSL_CTX* context,
                                  const TlsServer::Log& log) {
  return std::make_unique<Tls>(std::move(socket), context, log);
}

}  // namespace stoker::net
