#include "protocol/graph/dim/sym_dim.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "protocol/graph/dim/sym_expr.h"

namespace stoker {
namespace {

using Atom = SymExpr::Atom;
using AtomKind = SymExpr::AtomKind;
using Term = SymExpr::Term;
using Terms = SymExpr::Terms;

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

// The atom of a dim that is exactly one atom plus a constant.
struct AtomPlusConstant {
  const Atom* atom = nullptr;
  std::int64_t constant = 0;
};

AtomPlusConstant SplitAtomPlusConstant(const SymDim& dim) {
  const SymExpr* expr = SymExpr::Of(dim);
  if (expr == nullptr || expr->terms().size() > 2) return {};
  const Term& first = expr->terms()[0];
  if (first.factors.size() != 1 || first.coefficient != 1) return {};
  if (expr->terms().size() == 1) return {&first.factors[0], 0};
  const Term& second = expr->terms()[1];
  if (!second.factors.empty()) return {};
  return {&first.factors[0], second.coefficient};
}

// floordiv(a, c) for c > 1: whole multiples of c leave the division, a common divisor of the rest
// cancels, and nested divisions become one.
SymDim FloorDivByConstant(const SymDim& a, std::int64_t c) {
  Terms whole;
  Terms rest;
  std::int64_t divisor = c;
  for (Term& term : SymExpr::TermsOf(a)) {
    const std::int64_t quotient = FloorDivide(term.coefficient, c);
    const std::int64_t remainder = term.coefficient - quotient * c;
    if (quotient != 0) whole.push_back(Term{term.factors, quotient});
    if (remainder == 0) continue;
    if (!term.factors.empty()) divisor = std::gcd(divisor, remainder);
    rest.push_back(Term{std::move(term.factors), remainder});
  }
  const bool has_atoms = !rest.empty() && !rest.front().factors.empty();
  if (!has_atoms) return SymExpr::Make(std::move(whole));  // 0 <= rest < c.
  for (Term& term : rest) term.coefficient = FloorDivide(term.coefficient, divisor);
  c /= divisor;
  SymDim numerator = SymExpr::Make(std::move(rest));
  if (c == 1) return SymExpr::Make(std::move(whole)) + numerator;

  const AtomPlusConstant split = SplitAtomPlusConstant(numerator);
  if (split.atom != nullptr && split.atom->kind == AtomKind::kFloorDiv &&
      split.atom->b.IsConstant() && split.atom->b.constant() > 0) {
    const SymDim inner = split.atom->b;
    const SymDim scaled = inner * c;
    if (!scaled.IsConstant()) return scaled;  // Overflow.
    return SymExpr::Make(std::move(whole)) +
           SymDim::FloorDiv(split.atom->a + inner * split.constant, scaled);
  }
  return SymExpr::Make(std::move(whole)) +
         SymExpr::MakeAtom(Atom{AtomKind::kFloorDiv, 0, std::move(numerator), c});
}

// a / b where b is one product that divides every term of a.
std::optional<SymDim> ExactQuotient(const SymDim& a, const SymDim& b) {
  const Terms divisor = SymExpr::TermsOf(b);
  if (divisor.size() != 1) return std::nullopt;
  Terms terms = SymExpr::TermsOf(a);
  for (Term& term : terms) {
    if (divisor[0].coefficient == -1 || term.coefficient % divisor[0].coefficient != 0) {
      return std::nullopt;
    }
    term.coefficient /= divisor[0].coefficient;
    for (const Atom& factor : divisor[0].factors) {
      const auto found =
          std::find_if(term.factors.begin(), term.factors.end(),
                       [&](const Atom& other) { return SymExpr::Compare(factor, other) == 0; });
      if (found == term.factors.end()) return std::nullopt;
      term.factors.erase(found);
    }
  }
  return SymExpr::Make(std::move(terms));
}

SymDim MakeExtremum(AtomKind kind, const SymDim& a, const SymDim& b) {
  if (a.IsOverflow() || b.IsOverflow()) return SymExpr::Overflow();
  const SymDim difference = a - b;
  if (!difference.IsOverflow()) {
    if (difference.IsProvablyNonNegative()) return kind == AtomKind::kMax ? a : b;
    if ((b - a).IsProvablyNonNegative()) return kind == AtomKind::kMax ? b : a;
  }
  const bool ordered = SymExpr::Compare(a, b) < 0;
  return SymExpr::MakeAtom(Atom{kind, 0, ordered ? a : b, ordered ? b : a});
}

bool IsProvablyNonNegative(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::kSymbol:
      return true;
    case AtomKind::kFloorDiv:
    case AtomKind::kMin:
      return atom.a.IsProvablyNonNegative() && atom.b.IsProvablyNonNegative();
    case AtomKind::kMax:
      return atom.a.IsProvablyNonNegative() || atom.b.IsProvablyNonNegative();
    case AtomKind::kOverflow:
      return false;
  }
  return false;
}

Error EvaluationError(const SymDim& dim, std::string_view what) {
  return InvalidArgument("Dimension " + dim.ToString() + ": " + std::string(what) + ".");
}

Result<std::int64_t> EvaluateAtom(const Atom& atom, const SymBindings& bindings) {
  if (atom.kind == AtomKind::kSymbol) {
    const auto found = bindings.find(atom.symbol);
    if (found == bindings.end()) {
      return InvalidArgument("Symbol s" + std::to_string(atom.symbol) + " is not bound.");
    }
    return found->second;
  }
  if (atom.kind == AtomKind::kOverflow) return InvalidArgument("Dimension is an overflow.");
  STOKER_TRY(const std::int64_t a, atom.a.Evaluate(bindings));
  STOKER_TRY(const std::int64_t b, atom.b.Evaluate(bindings));
  if (atom.kind == AtomKind::kMax) return std::max(a, b);
  if (atom.kind == AtomKind::kMin) return std::min(a, b);
  if (b == 0) return EvaluationError(SymExpr::MakeAtom(atom), "division by zero");
  if (a == INT64_MIN && b == -1) return EvaluationError(SymExpr::MakeAtom(atom), "overflow");
  return FloorDivide(a, b);
}

void CollectSymbols(const SymDim& dim, std::set<std::uint32_t>& symbols) {
  const SymExpr* expr = SymExpr::Of(dim);
  if (expr == nullptr) return;
  for (const Term& term : expr->terms()) {
    for (const Atom& atom : term.factors) {
      if (atom.kind == AtomKind::kSymbol) symbols.insert(atom.symbol);
      CollectSymbols(atom.a, symbols);
      CollectSymbols(atom.b, symbols);
    }
  }
}

SymDim SubstituteAtom(const Atom& atom, const std::map<std::uint32_t, SymDim>& replacements) {
  switch (atom.kind) {
    case AtomKind::kSymbol: {
      const auto found = replacements.find(atom.symbol);
      return found == replacements.end() ? SymDim::Symbol(atom.symbol) : found->second;
    }
    case AtomKind::kFloorDiv:
      return SymDim::FloorDiv(atom.a.Substitute(replacements), atom.b.Substitute(replacements));
    case AtomKind::kMax:
      return SymDim::Max(atom.a.Substitute(replacements), atom.b.Substitute(replacements));
    case AtomKind::kMin:
      return SymDim::Min(atom.a.Substitute(replacements), atom.b.Substitute(replacements));
    case AtomKind::kOverflow:
      break;
  }
  return SymExpr::Overflow();
}

}  // namespace

SymDim SymDim::Symbol(std::uint32_t id) {
  // Dims that share one expression compare by its address: the symbols nearly every graph has are
  // made once.
  static const std::array<SymDim, 16> first_symbols = [] {
    std::array<SymDim, 16> symbols;
    for (std::uint32_t i = 0; i < symbols.size(); ++i) {
      symbols[i] = SymExpr::MakeAtom(Atom{AtomKind::kSymbol, i, 0, 0});
    }
    return symbols;
  }();
  if (id < first_symbols.size()) return first_symbols[id];
  return SymExpr::MakeAtom(Atom{AtomKind::kSymbol, id, 0, 0});
}

bool SymDim::IsOverflow() const {
  return expr_ != nullptr && expr_->terms()[0].factors.size() == 1 &&
         expr_->terms()[0].factors[0].kind == AtomKind::kOverflow;
}

std::optional<std::uint32_t> SymDim::AsSymbol() const {
  const AtomPlusConstant split = SplitAtomPlusConstant(*this);
  if (split.atom == nullptr || split.constant != 0) return std::nullopt;
  if (split.atom->kind != AtomKind::kSymbol) return std::nullopt;
  return split.atom->symbol;
}

bool SymDim::IsProvablyNonNegative() const {
  if (expr_ == nullptr) return constant_ >= 0;
  for (const Term& term : expr_->terms()) {
    if (term.coefficient < 0) return false;
    for (const Atom& atom : term.factors) {
      if (!stoker::IsProvablyNonNegative(atom)) return false;
    }
  }
  return true;
}

Result<std::int64_t> SymDim::Evaluate(const SymBindings& bindings) const {
  if (expr_ == nullptr) return constant_;
  std::int64_t sum = 0;
  for (const Term& term : expr_->terms()) {
    std::int64_t product = term.coefficient;
    for (const Atom& atom : term.factors) {
      STOKER_TRY(const std::int64_t factor, EvaluateAtom(atom, bindings));
      if (__builtin_mul_overflow(product, factor, &product)) {
        return EvaluationError(*this, "overflow");
      }
    }
    if (__builtin_add_overflow(sum, product, &sum)) return EvaluationError(*this, "overflow");
  }
  return sum;
}

std::set<std::uint32_t> SymDim::Symbols() const {
  std::set<std::uint32_t> symbols;
  CollectSymbols(*this, symbols);
  return symbols;
}

SymDim SymDim::Substitute(const std::map<std::uint32_t, SymDim>& replacements) const {
  if (expr_ == nullptr) return *this;
  SymDim sum;
  for (const Term& term : expr_->terms()) {
    SymDim product = term.coefficient;
    for (const Atom& atom : term.factors) product = product * SubstituteAtom(atom, replacements);
    sum = sum + product;
  }
  return sum;
}

std::size_t SymDim::Hash() const {
  if (expr_ != nullptr) return expr_->hash();
  return static_cast<std::size_t>(constant_) * 0x9e3779b97f4a7c15U;
}

SymDim operator+(const SymDim& a, const SymDim& b) {
  if (a.IsConstant() && b.IsConstant()) {
    std::int64_t sum;
    if (__builtin_add_overflow(a.constant_, b.constant_, &sum)) return SymExpr::Overflow();
    return sum;
  }
  Terms terms = SymExpr::TermsOf(a);
  Terms more = SymExpr::TermsOf(b);
  std::move(more.begin(), more.end(), std::back_inserter(terms));
  return SymExpr::Make(std::move(terms));
}

SymDim operator-(const SymDim& a, const SymDim& b) {
  if (a.IsConstant() && b.IsConstant()) {
    std::int64_t difference;
    if (__builtin_sub_overflow(a.constant_, b.constant_, &difference)) return SymExpr::Overflow();
    return difference;
  }
  return a + b * -1;
}

SymDim operator*(const SymDim& a, const SymDim& b) {
  if (a.IsConstant() && b.IsConstant()) {
    std::int64_t product;
    if (__builtin_mul_overflow(a.constant_, b.constant_, &product)) return SymExpr::Overflow();
    return product;
  }
  if (a.IsOverflow() || b.IsOverflow()) return SymExpr::Overflow();
  const Terms x = SymExpr::TermsOf(a);
  const Terms y = SymExpr::TermsOf(b);
  if (x.size() * y.size() > kMaxSymDimSize) return SymExpr::Overflow();
  Terms terms;
  for (const Term& p : x) {
    for (const Term& q : y) {
      Term& term = terms.emplace_back(p);
      term.factors.insert(term.factors.end(), q.factors.begin(), q.factors.end());
      if (__builtin_mul_overflow(p.coefficient, q.coefficient, &term.coefficient)) {
        return SymExpr::Overflow();
      }
    }
  }
  return SymExpr::Make(std::move(terms));
}

SymDim SymDim::FloorDiv(const SymDim& a, const SymDim& b) {
  if (a.IsOverflow() || b.IsOverflow()) return SymExpr::Overflow();
  if (b.IsConstant()) {
    const std::int64_t divisor = b.constant_;
    if (divisor == 0) return SymExpr::Overflow();
    if (divisor == 1) return a;
    if (divisor < 0) {
      if (divisor == INT64_MIN) return SymExpr::Overflow();
      return FloorDiv(a * -1, -divisor);
    }
    return a.IsConstant() ? SymDim(FloorDivide(a.constant_, divisor))
                          : FloorDivByConstant(a, divisor);
  }
  if (a.IsConstant() && a.constant_ == 0) return 0;
  if (a == b) return 1;
  if (std::optional<SymDim> quotient = ExactQuotient(a, b)) return *std::move(quotient);
  return SymExpr::MakeAtom(Atom{AtomKind::kFloorDiv, 0, a, b});
}

SymDim SymDim::CeilDiv(const SymDim& a, const SymDim& b) {
  if (b.IsConstant() && b.constant_ > 0) return FloorDiv(a + (b.constant_ - 1), b);
  return FloorDiv(a * -1, b) * -1;
}

SymDim SymDim::Mod(const SymDim& a, const SymDim& b) { return a - b * FloorDiv(a, b); }
SymDim SymDim::Max(const SymDim& a, const SymDim& b) { return MakeExtremum(AtomKind::kMax, a, b); }
SymDim SymDim::Min(const SymDim& a, const SymDim& b) { return MakeExtremum(AtomKind::kMin, a, b); }

bool operator==(const SymDim& a, const SymDim& b) {
  if (a.expr_ == b.expr_) return a.expr_ != nullptr || a.constant_ == b.constant_;
  if (a.expr_ == nullptr || b.expr_ == nullptr) return false;
  return a.Hash() == b.Hash() && SymExpr::Compare(a, b) == 0;
}

}  // namespace stoker
