// IndexSpace: exact arithmetic on index expressions over an iteration space.
//
// An index expression is an IndexMap: offset + sum of coefficient * ((i[dim] / divisor) % modulus).
// Every operation keeps it in a normal form: terms sorted by (dim, divisor, modulus), equal terms
// merged, the parts of a split index recombined, moduli that cannot bite dropped. Two expressions
// that agree at every point of the space usually compare equal, and only such are ever equal.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/ir/access.h"

namespace stoker {

// The index of one element of a value: one expression per dim of the value.
using ElementIndex = std::vector<IndexMap>;

class IndexSpace {
 public:
  IndexSpace() = default;
  explicit IndexSpace(std::vector<SymDim> extents) : extents_(std::move(extents)) {}

  int AddDim(SymDim extent);  // Its number.
  int rank() const { return static_cast<int>(extents_.size()); }
  const SymDim& extent(int dim) const { return extents_[static_cast<std::size_t>(dim)]; }
  const std::vector<SymDim>& extents() const { return extents_; }

  static IndexMap Constant(SymDim value) { return IndexMap{std::move(value), {}}; }
  IndexMap Dim(int dim) const;  // i[dim]; the constant 0 when its extent is 1.

  IndexMap Add(const IndexMap& a, const IndexMap& b) const;
  IndexMap Scale(const IndexMap& a, const SymDim& factor) const;

  // a = quotient * divisor + remainder with 0 <= remainder < divisor. Nothing when that is not an
  // index expression.
  struct Parts {
    IndexMap quotient;
    IndexMap remainder;
  };
  std::optional<Parts> DivMod(const IndexMap& a, const SymDim& divisor) const;

  // `a` with i[d] replaced by replacements[d], expressions over this space.
  std::optional<IndexMap> Substitute(const IndexMap& a,
                                     std::span<const IndexMap> replacements) const;

  // Smallest and largest value over the space, where the signs of all coefficients are known.
  struct Range {
    SymDim low;
    SymDim high;
  };
  std::optional<Range> RangeOf(const IndexMap& a) const;
  // Whether 0 <= a < size at every point of the space is certain.
  bool IsWithin(const IndexMap& a, const SymDim& size) const;

 private:
  SymDim CountOf(const IndexTerm& term) const;
  std::optional<Parts> DivModThrough(const Parts& parts, std::int64_t divisor,
                                     std::int64_t c) const;
  void Normalize(IndexMap& a) const;

  std::vector<SymDim> extents_;
};

// Row-major element number of `index` in a tensor of these sizes.
IndexMap Linearize(const IndexSpace& space, const ElementIndex& index,
                   std::span<const SymDim> sizes);
// Its inverse; nothing when some part is not an index expression.
std::optional<ElementIndex> Delinearize(const IndexSpace& space, const IndexMap& linear,
                                        std::span<const SymDim> sizes);

// The dims that occur in any of the expressions, sorted.
std::vector<int> DimsOf(std::span<const IndexMap> index);

}  // namespace stoker
