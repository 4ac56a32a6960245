#include "protocol/base/signature/signature.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "protocol/base/check.h"
#include "protocol/base/digest.h"

namespace stoker {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const std::uint8_t* Bytes(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// A library context of our own: it reads no openssl.cnf, which may be the job's. It lives as long
// as the process: other threads may sign while it ends.
OSSL_LIB_CTX* Library() {
  static OSSL_LIB_CTX* const library = [] {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    return OSSL_LIB_CTX_new();
  }();
  return library;
}

template <std::size_t kSize>
Result<std::array<std::uint8_t, kSize>> ArrayOf(std::string_view bytes, std::string_view what) {
  if (bytes.size() != kSize) {
    return InvalidArgument(std::string(what) + " has " + std::to_string(bytes.size()) + " bytes; " +
                           std::to_string(kSize) + " are expected.");
  }
  std::array<std::uint8_t, kSize> array;
  std::memcpy(array.data(), bytes.data(), kSize);
  return array;
}

// Nothing of what failed here may be left for who asks OpenSSL for its errors next.
Error OpenSslError(std::string_view what) {
  ERR_clear_error();
  return Internal(std::string(what) + " fails in OpenSSL.");
}

}  // namespace

Result<PublicKey> PublicKey::FromBytes(std::string_view bytes) {
  STOKER_TRY(const auto array, ArrayOf<kSize>(bytes, "A public key"));
  return PublicKey(array);
}

Result<PublicKey> PublicKey::Parse(std::string_view text) {
  if (text.starts_with(kTextPrefix)) {
    if (const auto digits = Digest::FromHex(text.substr(kTextPrefix.size())); digits.ok()) {
      return FromBytes(digits->AsBytes());
    }
  }
  return InvalidArgument("'" + std::string(text) + "' is no public key: " +
                         std::string(kTextPrefix) + " and 64 lowercase hexadecimal digits.");
}

std::string PublicKey::ToString() const {
  return std::string(kTextPrefix) + Digest(bytes_).ToHex();
}

Result<Signature> Signature::FromBytes(std::string_view bytes) {
  STOKER_TRY(const auto array, ArrayOf<kSize>(bytes, "A signature"));
  return Signature(array);
}

struct SigningKey::State {
  ~State() { OPENSSL_cleanse(seed.data(), seed.size()); }

  std::array<std::uint8_t, kSeedSize> seed{};
  Key key;
  PublicKey public_key;
};

Result<SigningKey> SigningKey::Make() {
  std::array<char, kSeedSize> seed;
  std::size_t size = 0;
  while (size < seed.size()) {
    const ssize_t got = getrandom(seed.data() + size, seed.size() - size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Internal("No random bytes: " + std::generic_category().message(errno) + ".");
    }
    size += static_cast<std::size_t>(got);
  }
  auto made = FromSeed({seed.data(), seed.size()});
  OPENSSL_cleanse(seed.data(), seed.size());
  return made;
}

Result<SigningKey> SigningKey::FromSeed(std::string_view seed) {
  auto state = std::make_shared<State>();
  STOKER_TRY(state->seed, ArrayOf<kSeedSize>(seed, "A private key"));
  state->key.reset(EVP_PKEY_new_raw_private_key_ex(Library(), "ED25519", nullptr,
                                                   state->seed.data(), state->seed.size()));
  std::array<std::uint8_t, PublicKey::kSize> public_key{};
  std::size_t size = public_key.size();
  if (!state->key || EVP_PKEY_get_raw_public_key(state->key.get(), public_key.data(), &size) != 1) {
    return OpenSslError("Making a key");
  }
  state->public_key = PublicKey(public_key);
  return SigningKey(std::move(state));
}

const PublicKey& SigningKey::public_key() const { return state_->public_key; }

std::string_view SigningKey::seed() const {
  return {reinterpret_cast<const char*>(state_->seed.data()), state_->seed.size()};
}

Signature SigningKey::Sign(std::string_view message) const {
  const Context context(EVP_MD_CTX_new());
  std::array<std::uint8_t, Signature::kSize> signature{};
  std::size_t size = signature.size();
  STOKER_CHECK(context != nullptr);
  STOKER_CHECK(EVP_DigestSignInit_ex(context.get(), nullptr, nullptr, Library(), nullptr,
                                     state_->key.get(), nullptr) == 1);
  STOKER_CHECK(
      EVP_DigestSign(context.get(), signature.data(), &size, Bytes(message), message.size()) == 1);
  return Signature(signature);
}

bool Verify(const PublicKey& signer, std::string_view message, const Signature& signature) {
  const Key key(EVP_PKEY_new_raw_public_key_ex(Library(), "ED25519", nullptr,
                                               Bytes(signer.AsBytes()), PublicKey::kSize));
  const Context context(EVP_MD_CTX_new());
  const bool fits = key != nullptr && context != nullptr &&
                    EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, Library(), nullptr,
                                            key.get(), nullptr) == 1 &&
                    EVP_DigestVerify(context.get(), Bytes(signature.AsBytes()), Signature::kSize,
                                     Bytes(message), message.size()) == 1;
  if (!fits) ERR_clear_error();
  return fits;
}

std::string InContext(std::string_view context, std::string_view message) {
  std::string text(context);
  text.push_back('\0');
  text.append(message);
  return text;
}

}  // namespace stoker
