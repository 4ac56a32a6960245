// What somebody may do with the cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

enum class Scope : std::uint8_t {
  kRead,   // Look up, list, inspect, status and metrics.
  kWrite,  // Compile, store, drop, pin.
  kAdmin,  // Stop the daemon; collect garbage, purge, verify; bring in what another one compiled.
};
std::string_view ScopeName(Scope scope);

class Scopes {
 public:
  static Scopes All();
  // "read", "write" and "admin", separated by commas, or "none".
  static Result<Scopes> Parse(std::string_view text);

  void Add(Scope scope) { bits_ |= BitOf(scope); }
  void Add(Scopes scopes) { bits_ |= scopes.bits_; }
  bool Has(Scope scope) const { return (bits_ & BitOf(scope)) != 0; }
  bool empty() const { return bits_ == 0; }
  std::string ToString() const;  // As Parse reads it.

  friend bool operator==(const Scopes&, const Scopes&) = default;

 private:
  static unsigned BitOf(Scope scope) { return 1U << static_cast<unsigned>(scope); }

  unsigned bits_ = 0;
};

}  // namespace stoker
