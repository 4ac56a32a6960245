// TlsPeer: a blocking connection that speaks bytes over TLS, and looks at no certificate.
#pragma once

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "daemon/net/listener.h"
#include "protocol/base/freed_by.h"
#include "protocol/tls/pem_files.h"
#include "tests/unit/protocol/tls/test_authority.h"

namespace stoker::net {

class TlsPeer {
 public:
  using Session = std::unique_ptr<SSL_SESSION, FreedBy<SSL_SESSION_free>>;

  struct Options {
    const tls::IssuedFiles* shows = nullptr;
    int max_version = 0;  // 0: any.
    const SSL_SESSION* resumes = nullptr;
  };

  explicit TlsPeer(const ListenAddress& address) : TlsPeer(address, Options()) {}
  TlsPeer(const ListenAddress& address, const Options& options)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)), context_(SSL_CTX_new(TLS_client_method())) {
    signal(SIGPIPE, SIG_IGN);
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_port = htons(address.port);
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    STOKER_CHECK(connect(fd_, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0);
    if (options.shows != nullptr) {
      STOKER_CHECK(
          tls::UseCertificate(context_.get(), options.shows->certificate, options.shows->key).ok());
    }
    SSL_CTX_set_max_proto_version(context_.get(), options.max_version);
    SSL_CTX_set_session_cache_mode(context_.get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context_.get(), [](SSL* ssl, SSL_SESSION* session) {
      static_cast<TlsPeer*>(SSL_get_app_data(ssl))->session_.reset(session);
      return 1;
    });
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_fd(ssl_.get(), fd_);
    if (options.resumes != nullptr) {
      SSL_set_session(ssl_.get(), const_cast<SSL_SESSION*>(options.resumes));
    }
    Note(SSL_connect(ssl_.get()));
  }
  ~TlsPeer() {
    ssl_.reset();
    close(fd_);
  }
  TlsPeer(const TlsPeer&) = delete;
  TlsPeer& operator=(const TlsPeer&) = delete;

  // Why the last call failed; empty: it did not.
  const std::string& error() const { return error_; }
  bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  // Of the last ticket that came.
  Session TakeSession() { return std::move(session_); }
  std::string ServerName() const {
    char name[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(ssl_.get())),
                              NID_commonName, name, sizeof name);
    return name;
  }

  void Send(std::string_view bytes) {
    if (!bytes.empty()) {
      Note(SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())));
    }
  }
  // Says that nothing follows, and goes on reading.
  void EndSending() { SSL_shutdown(ssl_.get()); }
  std::string ReadUntil(const std::string& end) {
    std::string text;
    char piece[16384];
    while (!text.ends_with(end)) {
      const int n = SSL_read(ssl_.get(), piece, sizeof piece);
      Note(n);
      if (n <= 0) break;
      text.append(piece, static_cast<std::size_t>(n));
    }
    return text;
  }
  // Until the server says that it is the end; error() is "the end" then.
  std::string ReadAll() { return ReadUntil(std::string(1, '\0') + "never"); }

 private:
  void Note(int result) {
    error_.clear();
    if (result > 0) return;
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) {
      error_ = "the end";
    } else {
      const char* const reason = ERR_reason_error_string(ERR_peek_error());
      error_ = reason == nullptr ? "the connection broke" : reason;
    }
    ERR_clear_error();
  }

  const int fd_;
  const tls::Context context_;
  std::unique_ptr<SSL, FreedBy<SSL_free>> ssl_;
  Session session_;
  std::string error_;
};

}  // namespace stoker::net
