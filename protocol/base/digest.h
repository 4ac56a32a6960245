// SHA-256 digests: the name of every blob and key in Stoker (FIPS 180-4).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

class Digest {
 public:
  static constexpr std::size_t kSize = 32;

  Digest() = default;  // All zero: "no digest".
  explicit Digest(const std::array<std::uint8_t, kSize>& bytes) : bytes_(bytes) {}

  // 64 lowercase hexadecimal digits.
  static Result<Digest> FromHex(std::string_view hex);
  // Exactly kSize raw bytes.
  static Result<Digest> FromBytes(std::string_view bytes);

  std::string ToHex() const;
  std::string_view AsBytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  bool IsZero() const { return *this == Digest(); }

  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;

 private:
  std::array<std::uint8_t, kSize> bytes_{};
};

// Hexadecimal digits of a key that messages and tables show: enough to name it.
inline constexpr std::size_t kShownKeyDigits = 16;

struct DigestHash {
  std::size_t operator()(const Digest& d) const {
    std::size_t h;
    std::memcpy(&h, d.AsBytes().data(), sizeof h);
    return h;
  }
};

// Incremental SHA-256. Finish() may be called once.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes);
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest Sha256Of(std::string_view bytes);

}  // namespace stoker
