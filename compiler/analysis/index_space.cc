#include "compiler/analysis/index_space.h"

#include <algorithm>
#include <tuple>

namespace stoker {
namespace {

bool IsZero(const SymDim& x) { return x.IsConstant() && x.constant() == 0; }
// Certainly a < b.
bool IsLess(const SymDim& a, const SymDim& b) {
  if (a.IsConstant() && b.IsConstant()) return a.constant() < b.constant();
  return (b - a - 1).IsProvablyNonNegative();
}

// The quotient when `divisor` divides `a` whatever the symbols are.
std::optional<SymDim> ExactDivide(const SymDim& a, const SymDim& divisor) {
  if (a.IsConstant() && divisor.IsConstant()) {
    if (divisor.constant() == 0 || a.constant() % divisor.constant() != 0) return std::nullopt;
    return SymDim(a.constant() / divisor.constant());
  }
  const SymDim quotient = SymDim::FloorDiv(a, divisor);
  if (quotient * divisor == a) return quotient;
  return std::nullopt;
}

auto OrderOf(const IndexTerm& term) { return std::tuple(term.dim, term.divisor, term.modulus); }

// The part of `term` in the digits above `scale` (a count of its values), or below it.
std::optional<IndexTerm> HighDigits(const IndexTerm& term, std::int64_t scale) {
  if (term.modulus % scale != 0) return std::nullopt;
  return IndexTerm{term.dim, 1, term.divisor * scale, term.modulus / scale};
}

std::optional<IndexTerm> LowDigits(const IndexTerm& term, std::int64_t scale) {
  if (term.modulus % scale != 0) return std::nullopt;
  return IndexTerm{term.dim, 1, term.divisor, scale};
}

}  // namespace

int IndexSpace::AddDim(SymDim extent) {
  extents_.push_back(std::move(extent));
  return rank() - 1;
}

IndexMap IndexSpace::Dim(int dim) const {
  if (IsOne(extent(dim))) return {};
  return IndexMap{0, {IndexTerm{dim, 1, 1, 0}}};
}

// How many values (i[dim] / divisor) % modulus takes; an upper bound for a symbolic extent.
SymDim IndexSpace::CountOf(const IndexTerm& term) const {
  const SymDim& size = extent(term.dim);
  if (size.IsConstant()) {
    const std::int64_t count = (size.constant() + term.divisor - 1) / term.divisor;
    return term.modulus == 0 ? count : std::min(count, term.modulus);
  }
  if (term.modulus != 0) return term.modulus;
  return term.divisor == 1 ? size : SymDim::CeilDiv(size, term.divisor);
}

void IndexSpace::Normalize(IndexMap& a) const {
  std::vector<IndexTerm>& terms = a.terms;
  for (IndexTerm& term : terms) {
    const SymDim& size = extent(term.dim);
    if (!size.IsConstant()) continue;
    if (term.divisor >= size.constant()) {
      term.coefficient = 0;
    } else if (term.modulus != 0 &&
               (size.constant() + term.divisor - 1) / term.divisor <= term.modulus) {
      term.modulus = 0;
    }
  }
  if (terms.size() > 1) {
    std::sort(terms.begin(), terms.end(),
              [](const IndexTerm& x, const IndexTerm& y) { return OrderOf(x) < OrderOf(y); });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < terms.size(); ++i) {
      if (OrderOf(terms[kept]) == OrderOf(terms[i])) {
        terms[kept].coefficient = terms[kept].coefficient + terms[i].coefficient;
      } else {
        terms[++kept] = std::move(terms[i]);
      }
    }
    terms.resize(kept + 1);
    // c * ((i / d) % m) + c * m * ((i / (d * m)) % n) = c * ((i / d) % (m * n)).
    for (std::size_t i = 0; i < terms.size();) {
      bool merged = false;
      for (std::size_t j = 0; j < terms.size() && terms[i].modulus != 0; ++j) {
        IndexTerm& low = terms[i];
        const IndexTerm& high = terms[j];
        if (low.dim != high.dim || high.divisor != low.divisor * low.modulus ||
            high.coefficient != low.coefficient * low.modulus) {
          continue;
        }
        low.modulus = low.modulus * high.modulus;
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
        merged = true;
        break;
      }
      i = merged ? 0 : i + 1;
    }
  }
  std::erase_if(terms, [](const IndexTerm& term) { return IsZero(term.coefficient); });
}

IndexMap IndexSpace::Add(const IndexMap& a, const IndexMap& b) const {
  IndexMap sum;
  sum.offset = a.offset + b.offset;
  sum.terms.reserve(a.terms.size() + b.terms.size());
  sum.terms.insert(sum.terms.end(), a.terms.begin(), a.terms.end());
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  if (!a.terms.empty() && !b.terms.empty()) Normalize(sum);
  return sum;
}

IndexMap IndexSpace::Scale(const IndexMap& a, const SymDim& factor) const {
  if (IsZero(factor)) return {};
  if (IsOne(factor)) return a;
  IndexMap scaled{a.offset * factor, a.terms};
  for (IndexTerm& term : scaled.terms) term.coefficient = term.coefficient * factor;
  return scaled;
}

std::optional<IndexSpace::Range> IndexSpace::RangeOf(const IndexMap& a) const {
  Range range{a.offset, a.offset};
  for (const IndexTerm& term : a.terms) {
    const SymDim reach = term.coefficient * (CountOf(term) - 1);
    if (term.coefficient.IsProvablyNonNegative()) {
      range.high = range.high + reach;
    } else if ((term.coefficient * -1).IsProvablyNonNegative()) {
      range.low = range.low + reach;
    } else {
      return std::nullopt;
    }
  }
  return range;
}

bool IndexSpace::IsWithin(const IndexMap& a, const SymDim& size) const {
  const std::optional<Range> range = RangeOf(a);
  return range && range->low.IsProvablyNonNegative() && IsLess(range->high, size);
}

std::optional<IndexSpace::Parts> IndexSpace::DivMod(const IndexMap& a,
                                                    const SymDim& divisor) const {
  if (IsOne(divisor)) return Parts{a, {}};
  // Only an empty tensor has such a size: no point of the space reaches it.
  if (divisor.IsConstant() && divisor.constant() <= 0) return Parts{};
  Parts parts;
  for (const IndexTerm& term : a.terms) {
    if (std::optional<SymDim> exact = ExactDivide(term.coefficient, divisor)) {
      parts.quotient.terms.push_back(term);
      parts.quotient.terms.back().coefficient = *std::move(exact);
    } else {
      parts.remainder.terms.push_back(term);
    }
  }
  if (a.offset.IsConstant() && divisor.IsConstant()) {
    const SymDim whole = SymDim::FloorDiv(a.offset, divisor);
    parts.quotient.offset = whole;
    parts.remainder.offset = a.offset - whole * divisor;
  } else if (std::optional<SymDim> exact = ExactDivide(a.offset, divisor)) {
    parts.quotient.offset = *std::move(exact);
  } else {
    parts.remainder.offset = a.offset;
  }
  if (IsWithin(parts.remainder, divisor)) return parts;

  // remainder = c * high + low with 0 <= low < c and c dividing the divisor: the division is one of
  // high by divisor / c.
  if (!divisor.IsConstant()) return std::nullopt;
  std::vector<std::int64_t> candidates;
  for (const IndexTerm& term : parts.remainder.terms) {
    if (!term.coefficient.IsConstant()) return std::nullopt;
    const std::int64_t c = term.coefficient.constant();
    if (c > 0 && divisor.constant() % c == 0) candidates.push_back(c);
  }
  std::sort(candidates.begin(), candidates.end());
  for (const std::int64_t c : candidates) {
    if (std::optional<Parts> through = DivModThrough(parts, divisor.constant(), c)) return through;
  }
  return std::nullopt;
}

// Divides the remainder of `parts` as c * high + low; nothing where low may reach c.
std::optional<IndexSpace::Parts> IndexSpace::DivModThrough(const Parts& parts, std::int64_t divisor,
                                                           std::int64_t c) const {
  IndexMap high;
  IndexMap low{parts.remainder.offset, {}};
  for (const IndexTerm& term : parts.remainder.terms) {
    if (term.coefficient.constant() % c == 0) {
      high.terms.push_back(term);
      high.terms.back().coefficient = term.coefficient.constant() / c;
    } else {
      low.terms.push_back(term);
    }
  }
  if (!IsWithin(low, c)) return std::nullopt;
  const std::int64_t scale = divisor / c;
  Parts inner;
  if (high.terms.size() == 1 && IsOne(high.terms[0].coefficient)) {
    std::optional<IndexTerm> above = HighDigits(high.terms[0], scale);
    std::optional<IndexTerm> below = LowDigits(high.terms[0], scale);
    if (!above || !below) return std::nullopt;
    inner.quotient.terms.push_back(*std::move(above));
    inner.remainder.terms.push_back(*std::move(below));
    Normalize(inner.quotient);
    Normalize(inner.remainder);
  } else if (c > 1) {
    std::optional<Parts> divided = DivMod(high, scale);
    if (!divided) return std::nullopt;
    inner = *std::move(divided);
  } else {
    return std::nullopt;
  }
  return Parts{Add(parts.quotient, inner.quotient), Add(Scale(inner.remainder, c), low)};
}

std::optional<IndexMap> IndexSpace::Substitute(const IndexMap& a,
                                               std::span<const IndexMap> replacements) const {
  IndexMap result{a.offset, {}};
  for (const IndexTerm& term : a.terms) {
    IndexMap value = replacements[static_cast<std::size_t>(term.dim)];
    if (term.divisor != 1) {
      std::optional<Parts> parts = DivMod(value, term.divisor);
      if (!parts) return std::nullopt;
      value = std::move(parts->quotient);
    }
    if (term.modulus != 0) {
      std::optional<Parts> parts = DivMod(value, term.modulus);
      if (!parts) return std::nullopt;
      value = std::move(parts->remainder);
    }
    result = Add(result, Scale(value, term.coefficient));
  }
  return result;
}

IndexMap Linearize(const IndexSpace& space, const ElementIndex& index,
                   std::span<const SymDim> sizes) {
  IndexMap linear;
  SymDim stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    linear = space.Add(linear, space.Scale(index[i], stride));
    if (i > 0) stride = stride * sizes[i];
  }
  return linear;
}

std::optional<ElementIndex> Delinearize(const IndexSpace& space, const IndexMap& linear,
                                        std::span<const SymDim> sizes) {
  ElementIndex index(sizes.size());
  IndexMap rest = linear;
  for (std::size_t i = sizes.size(); i-- > 1;) {
    std::optional<IndexSpace::Parts> parts = space.DivMod(rest, sizes[i]);
    if (!parts) return std::nullopt;
    index[i] = std::move(parts->remainder);
    rest = std::move(parts->quotient);
  }
  if (!sizes.empty()) index[0] = std::move(rest);
  return index;
}

std::vector<int> DimsOf(std::span<const IndexMap> index) {
  std::vector<int> dims;
  for (const IndexMap& map : index) {
    for (const IndexTerm& term : map.terms) dims.push_back(term.dim);
  }
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

}  // namespace stoker
