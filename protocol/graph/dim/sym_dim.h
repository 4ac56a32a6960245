// SymDim: the size of one tensor dimension: a constant, a symbol (s0, s1, ...) or an expression.
//
// Expressions are kept in a canonical form (sums of products with integer coefficients, sorted;
// floordiv, max and min as opaque atoms; ceildiv and mod are written with floordiv), so that two
// dims that are equal as polynomials compare equal and print alike. Values are int64; a constant
// costs no allocation. A symbol stands for a size: it is never negative.
//
// Arithmetic that leaves int64, divides by the constant 0 or exceeds the limits below gives the
// dim "overflow", which absorbs every operation, has no value, and is refused in a TensorType by
// the verifier.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "protocol/base/result.h"

namespace stoker {

class SymExpr;  // Immutable, canonical; sym_expr.h, private to this folder.

inline constexpr std::size_t kMaxSymDimSize = 128;   // Terms and atoms, nested ones included.
inline constexpr int kMaxSymDimDepth = 32;           // Nesting of floordiv, max, min, parentheses.
inline constexpr std::size_t kMaxSymDimText = 4096;  // Characters that Parse accepts.

// What each symbol is in one call: symbol id -> value.
using SymBindings = std::map<std::uint32_t, std::int64_t>;

class SymDim {
 public:
  SymDim() = default;                               // The constant 0.
  SymDim(std::int64_t value) : constant_(value) {}  // NOLINT: implicit, sizes read as numbers.
  static SymDim Symbol(std::uint32_t id);           // Prints as s<id>.

  bool IsConstant() const { return expr_ == nullptr; }
  std::int64_t constant() const {  // Requires IsConstant().
    STOKER_CHECK(IsConstant());
    return constant_;
  }

  bool IsOverflow() const;
  bool IsSymbol() const { return AsSymbol().has_value(); }
  std::optional<std::uint32_t> AsSymbol() const;  // The id, when this is one symbol alone.
  // True only when no choice of sizes makes it negative; false means "not known".
  bool IsProvablyNonNegative() const;

  // Every symbol that occurs must be bound; a division by zero or an overflow is an error.
  Result<std::int64_t> Evaluate(const SymBindings& bindings) const;
  std::set<std::uint32_t> Symbols() const;
  // Symbols that are not in `replacements` stay.
  SymDim Substitute(const std::map<std::uint32_t, SymDim>& replacements) const;
  std::size_t Hash() const;  // Equal dims hash alike, in every process.

  // "128", "s0", "4*s0+1", "floordiv(s0+1,2)+1". Parse accepts what ToString prints, and
  // ceildiv, mod and parentheses.
  std::string ToString() const;
  static Result<SymDim> Parse(std::string_view text);

  friend SymDim operator+(const SymDim& a, const SymDim& b);
  friend SymDim operator-(const SymDim& a, const SymDim& b);
  friend SymDim operator*(const SymDim& a, const SymDim& b);
  // Rounds toward minus infinity; Mod has the sign of b. A symbolic divisor is taken to be nonzero.
  static SymDim FloorDiv(const SymDim& a, const SymDim& b);
  static SymDim CeilDiv(const SymDim& a, const SymDim& b);
  static SymDim Mod(const SymDim& a, const SymDim& b);
  static SymDim Max(const SymDim& a, const SymDim& b);
  static SymDim Min(const SymDim& a, const SymDim& b);
  friend bool operator==(const SymDim& a, const SymDim& b);

 private:
  friend class SymExpr;
  std::int64_t constant_ = 0;
  std::shared_ptr<const SymExpr> expr_;  // Shared: expressions are immutable and copied freely.
};

inline bool IsOne(const SymDim& size) { return size.IsConstant() && size.constant() == 1; }

}  // namespace stoker
