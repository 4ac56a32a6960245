// SymExpr: the canonical polynomial behind a SymDim that is not a constant. Private to
// protocol/graph.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "protocol/graph/dim/sym_dim.h"

namespace stoker {

class SymExpr {
 public:
  enum class AtomKind : std::uint8_t { kSymbol, kFloorDiv, kMax, kMin, kOverflow };

  // What a polynomial is made of. `a` and `b` are the arguments of floordiv, max and min.
  struct Atom {
    AtomKind kind;
    std::uint32_t symbol = 0;
    SymDim a;
    SymDim b;
  };

  // coefficient * factors[0] * factors[1] * ...; factors are sorted, a power is repeated.
  struct Term {
    std::vector<Atom> factors;
    std::int64_t coefficient = 0;
  };
  using Terms = std::vector<Term>;

  // The terms of any dim; the constant 0 has none.
  static Terms TermsOf(const SymDim& dim);
  // Sorts, merges and simplifies.
  static SymDim Make(Terms terms);
  static SymDim MakeAtom(Atom atom);
  static SymDim Overflow();

  static const SymExpr* Of(const SymDim& dim) { return dim.expr_.get(); }

  static std::strong_ordering Compare(const SymDim& a, const SymDim& b);
  static std::strong_ordering Compare(const Atom& a, const Atom& b);

  const Terms& terms() const { return terms_; }
  std::size_t hash() const { return hash_; }

 private:
  SymExpr(Terms terms, std::size_t size, int depth);

  Terms terms_;  // Highest degree first, the constant last; no zero coefficient.
  std::size_t size_;
  int depth_;
  std::size_t hash_;
};

}  // namespace stoker
