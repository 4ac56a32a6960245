#include "protocol/graph/dim/sym_expr.h"

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

using Atom = SymExpr::Atom;
using Term = SymExpr::Term;

std::strong_ordering CompareFactors(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  if (const auto by_degree = b.size() <=> a.size(); by_degree != 0) return by_degree;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const auto order = SymExpr::Compare(a[i], b[i]); order != 0) return order;
  }
  return std::strong_ordering::equal;
}

bool AtomLess(const Atom& a, const Atom& b) { return SymExpr::Compare(a, b) < 0; }
bool TermLess(const Term& a, const Term& b) { return CompareFactors(a.factors, b.factors) < 0; }

bool HasOverflow(const SymExpr::Terms& terms) {
  for (const Term& term : terms) {
    for (const Atom& atom : term.factors) {
      if (atom.kind == SymExpr::AtomKind::kOverflow) return true;
    }
  }
  return false;
}

std::size_t Mix(std::size_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15U + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdU;
}

}  // namespace

SymExpr::SymExpr(Terms terms, std::size_t size, int depth)
    : terms_(std::move(terms)), size_(size), depth_(depth), hash_(0x53594dU) {
  for (const Term& term : terms_) {
    hash_ = Mix(hash_, static_cast<std::uint64_t>(term.coefficient));
    for (const Atom& atom : term.factors) {
      hash_ = Mix(hash_, static_cast<std::uint64_t>(atom.kind) << 32 | atom.symbol);
      hash_ = Mix(hash_, atom.a.Hash());
      hash_ = Mix(hash_, atom.b.Hash());
    }
  }
}

std::strong_ordering SymExpr::Compare(const Atom& a, const Atom& b) {
  if (const auto order = a.kind <=> b.kind; order != 0) return order;
  if (const auto order = a.symbol <=> b.symbol; order != 0) return order;
  if (const auto order = Compare(a.a, b.a); order != 0) return order;
  return Compare(a.b, b.b);
}

std::strong_ordering SymExpr::Compare(const SymDim& a, const SymDim& b) {
  if (a.expr_ == b.expr_) {
    return a.expr_ == nullptr ? a.constant_ <=> b.constant_ : std::strong_ordering::equal;
  }
  if (a.expr_ == nullptr) return std::strong_ordering::less;
  if (b.expr_ == nullptr) return std::strong_ordering::greater;
  const Terms& x = a.expr_->terms_;
  const Terms& y = b.expr_->terms_;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (const auto order = CompareFactors(x[i].factors, y[i].factors); order != 0) return order;
    if (const auto order = x[i].coefficient <=> y[i].coefficient; order != 0) return order;
  }
  return x.size() <=> y.size();
}

SymExpr::Terms SymExpr::TermsOf(const SymDim& dim) {
  if (dim.expr_ != nullptr) return dim.expr_->terms_;
  if (dim.constant_ == 0) return {};
  return {Term{{}, dim.constant_}};
}

SymDim SymExpr::Overflow() {
  SymDim dim;
  Terms terms{Term{{Atom{AtomKind::kOverflow, 0, 0, 0}}, 1}};
  dim.expr_ = std::shared_ptr<const SymExpr>(new SymExpr(std::move(terms), 1, 1));
  return dim;
}

SymDim SymExpr::Make(Terms terms) {
  if (HasOverflow(terms)) return Overflow();
  for (Term& term : terms) std::sort(term.factors.begin(), term.factors.end(), AtomLess);
  std::sort(terms.begin(), terms.end(), TermLess);
  Terms merged;
  for (Term& term : terms) {
    if (!merged.empty() && CompareFactors(merged.back().factors, term.factors) == 0) {
      std::int64_t& sum = merged.back().coefficient;
      if (__builtin_add_overflow(sum, term.coefficient, &sum)) return Overflow();
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  if (merged.empty()) return 0;
  if (merged.size() == 1 && merged[0].factors.empty()) return merged[0].coefficient;

  std::size_t size = 0;
  int depth = 0;
  for (const Term& term : merged) {
    ++size;
    for (const Atom& atom : term.factors) {
      ++size;
      for (const SymDim* argument : {&atom.a, &atom.b}) {
        if (argument->expr_ == nullptr) continue;
        size += argument->expr_->size_;
        depth = std::max(depth, argument->expr_->depth_);
      }
    }
  }
  if (size > kMaxSymDimSize || depth >= kMaxSymDimDepth) return Overflow();
  SymDim dim;
  dim.expr_ = std::shared_ptr<const SymExpr>(new SymExpr(std::move(merged), size, depth + 1));
  return dim;
}

SymDim SymExpr::MakeAtom(Atom atom) {
  Terms terms(1);
  terms[0].coefficient = 1;
  terms[0].factors.push_back(std::move(atom));
  return Make(std::move(terms));
}

}  // namespace stoker
