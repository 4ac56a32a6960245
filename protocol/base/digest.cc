// The low-level SHA-256 calls rather than EVP, which looks the algorithm up and allocates for each
// hash: keys are made of many short ones.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "protocol/base/digest.h"

#include <openssl/sha.h>

namespace stoker {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;

void Sha256::Update(std::string_view bytes) {
  SHA256_Update(&state_->context, bytes.data(), bytes.size());
}

Digest Sha256::Finish() {
  std::array<std::uint8_t, Digest::kSize> out;
  SHA256_Final(out.data(), &state_->context);
  return Digest(out);
}

Digest Sha256Of(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Finish();
}

namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Result<Digest> Digest::FromHex(std::string_view hex) {
  if (hex.size() != 2 * kSize) {
    return InvalidArgument("Digest has " + std::to_string(hex.size()) +
                           " characters; 64 lowercase hexadecimal digits are expected.");
  }
  std::array<std::uint8_t, kSize> bytes;
  for (std::size_t i = 0; i < kSize; ++i) {
    const int high = HexValue(hex[2 * i]);
    const int low = HexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return InvalidArgument("Digest '" + std::string(hex) +
                             "' holds a character that is not a lowercase hexadecimal digit.");
    }
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return Digest(bytes);
}

Result<Digest> Digest::FromBytes(std::string_view bytes) {
  if (bytes.size() != kSize) {
    return InvalidArgument("Digest has " + std::to_string(bytes.size()) +
                           " bytes; 32 are expected.");
  }
  std::array<std::uint8_t, kSize> out;
  std::memcpy(out.data(), bytes.data(), kSize);
  return Digest(out);
}

std::string Digest::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * kSize);
  for (std::uint8_t b : bytes_) {
    hex.push_back(kDigits[b >> 4]);
    hex.push_back(kDigits[b & 15]);
  }
  return hex;
}

}  // namespace stoker
