#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "client/core/connection/transport.h"
#include "client/core/settings/environment.h"
#include "client/core/trust/server_certificate.h"
#include "protocol/tls/pem_files.h"

namespace stoker {
namespace {

// Where systems other than the one that OpenSSL was built on keep the CAs they trust.
constexpr const char* kSystemBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

// What SSL_CERT_FILE and SSL_CERT_DIR name, as other programs do; without them the system's own.
void TrustSystem(SSL_CTX* context) {
  SSL_CTX_set_default_verify_paths(context);
  if (!Environment(X509_get_default_cert_file_env()).empty() ||
      !Environment(X509_get_default_cert_dir_env()).empty() ||
      access(X509_get_default_cert_dir(), R_OK) == 0) {
    return;
  }
  for (const char* bundle : kSystemBundles) {
    if (SSL_CTX_load_verify_file(context, bundle) == 1) return;
  }
  ERR_clear_error();  // Then nobody is trusted, and the refusal says so.
}

Result<tls::Context> ContextOf(const TlsTrust& trust) {
  // The job has an OpenSSL of its own: its configuration is not for this one, nor must this one be
  // taken down by the process's end while threads still use it.
  static const int started =
      OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  if (started != 1) return Internal("OpenSSL cannot be set up: " + tls::Reason() + ".");
  STOKER_TRY(tls::Context context, tls::NewContext(TLS_client_method()));
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), ServerCertificate::Verify, nullptr);
  if (!trust.ca_file.empty()) {
    STOKER_TRY(const auto authorities, tls::CertificatesIn("STOKER_TLS_CA file", trust.ca_file));
    STOKER_RETURN_IF_ERROR(tls::TrustAuthorities(context.get(), authorities, trust.ca_file));
  } else if (trust.pins.empty()) {
    TrustSystem(context.get());
  }
  if (!trust.certificate.empty()) {
    STOKER_RETURN_IF_ERROR(tls::UseCertificate(context.get(), trust.certificate, trust.key));
  }
  return context;
}

class Tls : public Transport {
 public:
  Tls(FileDescriptor socket, std::string url, SSL_CTX* context, bool shows_certificate)
      : socket_(std::move(socket)),
        url_(std::move(url)),
        shows_certificate_(shows_certificate),
        ssl_(SSL_new(context)) {
    BIO* const bio = ssl_ == nullptr ? nullptr : BIO_new(Method());
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);  // Which owns it.
  }
  // A forked child has a copy of the connection, on which it must not say anything.
  ~Tls() override {
    if (is_open_ && getpid() == owner_) SSL_shutdown(ssl_.get());
  }

  Status Handshake(const DaemonUrl& url, const TlsTrust& trust, Clock::time_point moment) {
    ServerCertificate certificate(url, trust);
    certificate.CheckIn(ssl_.get());
    const auto done = Await(moment, [&](std::size_t*) { return SSL_connect(ssl_.get()); });
    SSL_set_app_data(ssl_.get(), nullptr);
    if (!certificate.refusal().empty()) return FailedPrecondition(certificate.refusal());
    if (!done.ok()) return done.error();
    is_open_ = true;
    return Ok();
  }

  Result<std::size_t> Read(std::span<char> into, Clock::time_point moment) override {
    return Await(moment, [&](std::size_t* bytes) {
      return SSL_read_ex(ssl_.get(), into.data(), into.size(), bytes);
    });
  }

  Result<std::size_t> Write(std::string_view bytes, Clock::time_point moment) override {
    const std::string_view record = bytes.substr(0, SSL3_RT_MAX_PLAIN_LENGTH);
    return Await(moment, [&](std::size_t* n) {
      return SSL_write_ex(ssl_.get(), record.data(), record.size(), n);
    });
  }

  // Of TLS's own messages, such as tickets for a later session, it may say something.
  bool IsQuiet() override {
    char byte = 0;
    const auto peeked = Await(Clock::time_point(), [&](std::size_t* bytes) {
      return SSL_peek_ex(ssl_.get(), &byte, 1, bytes);
    });
    return !peeked.ok() && peeked.error().code == ErrorCode::kDeadlineExceeded;
  }

 private:
  // The socket as OpenSSL sees it: its own sends would raise SIGPIPE.
  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
      if (made == nullptr) throw std::bad_alloc();
      BIO_meth_set_read_ex(made, Receive);
      BIO_meth_set_write_ex(made, Send);
      BIO_meth_set_ctrl(made, Control);
      return made;
    }();
    return method;
  }

  static int Receive(BIO* bio, char* into, std::size_t size, std::size_t* bytes) {
    Tls& self = *static_cast<Tls*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const ssize_t n = recv(self.socket_.get(), into, size, MSG_DONTWAIT);
    self.received_end_ |= n == 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    if (n <= 0) return 0;
    *bytes = static_cast<std::size_t>(n);
    return 1;
  }

  static int Send(BIO* bio, const char* data, std::size_t size, std::size_t* bytes) {
    const Tls& self = *static_cast<Tls*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const ssize_t n = send(self.socket_.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    if (n < 0) return 0;
    *bytes = static_cast<std::size_t>(n);
    return 1;
  }

  static long Control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return static_cast<Tls*>(BIO_get_data(bio))->received_end_ ? 1 : 0;
    return 0;
  }

  // Repeats a call that gives 1 when it is done, and then the number of bytes; 0 bytes at the end
  // that the peer has announced.
  template <typename Call>
  Result<std::size_t> Await(Clock::time_point moment, const Call& call) {
    while (true) {
      const bool is_late = Clock::now() >= moment;  // Records that bring nothing count for nothing.
      ERR_clear_error();
      errno = 0;
      std::size_t bytes = 0;
      const int outcome = SSL_get_error(ssl_.get(), call(&bytes));
      if (outcome == SSL_ERROR_NONE) return bytes;
      if (outcome == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
      if (outcome != SSL_ERROR_WANT_READ && outcome != SSL_ERROR_WANT_WRITE) {
        is_open_ = false;
        return Failure(errno);
      }
      if (is_late ||
          !WaitFor(socket_.get(), outcome == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, moment)) {
        return DeadlineExceeded("Nothing moves.");
      }
    }
  }

  // What OpenSSL and the system say of the call before, as something to be done.
  Error Failure(int number) const;

  const FileDescriptor socket_;
  const std::string url_;
  const bool shows_certificate_;
  const pid_t owner_ = getpid();
  const std::unique_ptr<SSL, FreedBy<SSL_free>> ssl_;
  bool is_open_ = false;  // From the handshake on until something goes wrong.
  bool received_end_ = false;
};

Error Tls::Failure(int number) const {
  const unsigned long error = ERR_peek_error();
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) {
    return Unavailable(number == 0 ? "The daemon closed the connection."
                                   : std::generic_category().message(number) + ".");
  }
  const char* const text = ERR_reason_error_string(error);
  switch (ERR_GET_REASON(error)) {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return Unavailable("The daemon closed the connection.");
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return FailedPrecondition(url_ +
                                " asks for a client's certificate: STOKER_TLS_CERTIFICATE and "
                                "STOKER_TLS_KEY name the files of one.");
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return FailedPrecondition(
          url_ + " refuses " +
          (shows_certificate_ ? "the certificate in STOKER_TLS_CERTIFICATE" : "this client") +
          ": " + text + ".");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return FailedPrecondition(url_ +
                                " does not speak TLS 1.3, which is the least that is taken.");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return FailedPrecondition(url_ + " does not speak TLS; is it http:// there?");
    default:
      return FailedPrecondition("TLS with " + url_ + " fails: " + (text == nullptr ? "?" : text) +
                                ".");
  }
}

}  // namespace

Result<std::unique_ptr<Transport>> TlsTransport(FileDescriptor socket, const DaemonUrl& url,
                                                const TlsTrust& trust,
                                                Transport::Clock::time_point moment) {
  STOKER_TRY(const tls::Context context, ContextOf(trust));
  auto transport = std::make_unique<Tls>(std::move(socket), url.ToString(), context.get(),
                                         !trust.certificate.empty());
  STOKER_RETURN_IF_ERROR(transport->Handshake(url, trust, moment));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace stoker
