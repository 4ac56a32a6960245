// Ed25519 (RFC 8032): who vouches for bytes. key_file.h reads and makes keys, public_key_list.h
// reads lists of those that are trusted.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

class PublicKey {
 public:
  static constexpr std::size_t kSize = 32;
  static constexpr std::string_view kTextPrefix = "ed25519:";

  PublicKey() = default;  // All zero: "no key".
  explicit PublicKey(const std::array<std::uint8_t, kSize>& bytes) : bytes_(bytes) {}

  // kTextPrefix and 64 lowercase hexadecimal digits.
  static Result<PublicKey> Parse(std::string_view text);
  std::string ToString() const;

  // Exactly kSize raw bytes.
  static Result<PublicKey> FromBytes(std::string_view bytes);
  std::string_view AsBytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

  friend bool operator==(const PublicKey&, const PublicKey&) = default;
  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;

 private:
  std::array<std::uint8_t, kSize> bytes_{};
};

class Signature {
 public:
  static constexpr std::size_t kSize = 64;

  Signature() = default;  // All zero: nobody's.
  explicit Signature(const std::array<std::uint8_t, kSize>& bytes) : bytes_(bytes) {}

  // Exactly kSize raw bytes.
  static Result<Signature> FromBytes(std::string_view bytes);
  std::string_view AsBytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

  friend bool operator==(const Signature&, const Signature&) = default;

 private:
  std::array<std::uint8_t, kSize> bytes_{};
};

// Copies share one key, which is wiped with the last of them: keys live in snapshots that readers
// hold while others replace them. Safe from any thread.
class SigningKey {
 public:
  static constexpr std::size_t kSeedSize = 32;

  // Of the system's randomness.
  static Result<SigningKey> Make();
  // Of RFC 8032's private key: exactly kSeedSize bytes, which are all there is to keep.
  static Result<SigningKey> FromSeed(std::string_view seed);

  const PublicKey& public_key() const;
  std::string_view seed() const;
  Signature Sign(std::string_view message) const;

 private:
  struct State;
  explicit SigningKey(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

bool Verify(const PublicKey& signer, std::string_view message, const Signature& signature);

// What is signed in place of `message`, so that a signature of one kind of thing is none of
// another. `context` says which kind, and holds no zero byte.
std::string InContext(std::string_view context, std::string_view message);

}  // namespace stoker
