#include "daemon/net/stream/tls_server.h"

#include <openssl/ssl.h>

#include <array>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/net/stream/certificate_names.h"
#include "daemon/net/stream/tls_stream.h"
#include "protocol/base/host/file_watch.h"
#include "protocol/tls/pem_files.h"

namespace stoker::net {
namespace {

// AES-128 first: with the processor's instructions it is a quarter faster than AES-256, and what
// breaks one breaks the other.
constexpr char kCiphers[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char kSessionContext[] = "stokerd";

Status AskForCertificate(SSL_CTX* context, const std::string& path) {
  STOKER_TRY(const std::vector<tls::Certificate> authorities,
             tls::CertificatesIn("TLS client CA file", path));
  STOKER_RETURN_IF_ERROR(tls::TrustAuthorities(context, authorities, path));
  // So that a client with several certificates knows which one is asked for.
  for (const tls::Certificate& authority : authorities) {
    if (SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return Internal("A client CA cannot be named: " + tls::Reason() + ".");
    }
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return Ok();
}

Result<tls::Context> ContextOf(const TlsFiles& files) {
  STOKER_TRY(tls::Context context, tls::NewContext(TLS_server_method()));
  if (SSL_CTX_set_ciphersuites(context.get(), kCiphers) != 1 ||
      SSL_CTX_set_session_id_context(context.get(), kSessionContext, sizeof kSessionContext - 1) !=
          1) {
    return Internal("TLS cannot be set up: " + tls::Reason() + ".");
  }
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Sessions are in their tickets, encrypted with a key of this context's; nothing is kept here.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context.get(), 1);
  STOKER_RETURN_IF_ERROR(tls::UseCertificate(context.get(), files.certificate, files.key));
  if (!files.client_ca.empty()) {
    STOKER_RETURN_IF_ERROR(AskForCertificate(context.get(), files.client_ca));
  }
  return context;
}

std::string DayOf(const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 32> text{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown day";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts)};
}

}  // namespace

struct TlsServer::State {
  State(TlsFiles f, Log l)
      : files(std::move(f)),
        log(std::move(l)),
        watch({files.certificate, files.key, files.client_ca}) {}

  const TlsFiles files;
  const Log log;
  std::mutex reading;  // Guards the watch.
  FileWatch watch;
  mutable std::mutex mutex;  // Guards the context; nothing is read while it is held.
  tls::Context context;
};

TlsServer::TlsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsServer::~TlsServer() = default;

Result<std::unique_ptr<TlsServer>> TlsServer::Open(TlsFiles files, Log log) {
  std::unique_ptr<TlsServer> server(
      new TlsServer(std::make_unique<State>(std::move(files), std::move(log))));
  STOKER_RETURN_IF_ERROR(server->Reload());
  return server;
}

std::unique_ptr<Stream> TlsServer::Encrypted(StreamSocket socket) const {
  const std::lock_guard lock(state_->mutex);
  return TlsStream(std::move(socket), state_->context.get(), state_->log);
}

std::string TlsServer::Describe() const {
  const std::lock_guard lock(state_->mutex);
  const X509* const certificate = SSL_CTX_get0_certificate(state_->context.get());
  return "'" + NamesOf(certificate).front() + "' until " + DayOf(X509_get0_notAfter(certificate));
}

// Wrong ones are complained of once.
Result<bool> TlsServer::Reload() {
  const std::lock_guard reading(state_->reading);
  if (!state_->watch.Changed()) return false;
  return Read();
}

Result<bool> TlsServer::ReloadSettled() {
  const std::lock_guard reading(state_->reading);
  if (!state_->watch.ChangedAndSettled()) return false;
  return Read();
}

Result<bool> TlsServer::Read() {
  STOKER_TRY(tls::Context context, ContextOf(state_->files));
  const std::lock_guard lock(state_->mutex);
  state_->context = std::move(context);
  return true;
}

}  // namespace stoker::net
