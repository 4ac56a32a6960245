#include "compiler/schedule/loops/collapse_loops.h"

#include <algorithm>

namespace stoker {
namespace {

bool StepsAsOne(const IndexMap& index, int dim, const SymDim& inner_extent) {
  for (const IndexTerm& term : index.terms) {
    if ((term.dim == dim || term.dim == dim + 1) && (term.divisor != 1 || term.modulus != 0)) {
      return false;
    }
  }
  return index.CoefficientOf(dim) == index.CoefficientOf(dim + 1) * inner_extent;
}

bool CanCollapse(const LoopFunc& func, int dim) {
  if (dim + 1 == func.num_outer) return false;
  const SymDim& outer = func.dims[static_cast<std::size_t>(dim)];
  const SymDim& inner = func.dims[static_cast<std::size_t>(dim) + 1];
  // Lanes of a known number are worth more than one loop less.
  const bool is_inner = dim >= func.num_outer;
  if (is_inner && outer.IsConstant() != inner.IsConstant()) return false;
  for (const Stage& stage : func.stages) {
    if (ReadsIndexOf(stage.body, dim) || ReadsIndexOf(stage.body, dim + 1)) return false;
    bool fits = true;
    ForEachAccess(stage.body, stage.stores, [&](const Access& access, bool) {
      fits = fits && StepsAsOne(access.index, dim, inner);
    });
    if (!fits) return false;
    if (!is_inner) continue;
    const auto at = std::find(stage.loops.begin(), stage.loops.end(), dim);
    const bool has_outer = at != stage.loops.end();
    const bool has_inner = Contains(stage.loops, dim + 1);
    if (has_outer != has_inner) return false;
    if (has_outer && (at + 1 == stage.loops.end() || *(at + 1) != dim + 1)) return false;
    for (const Reduction& reduction : stage.reductions) {
      if (Contains(reduction.over, dim) != Contains(reduction.over, dim + 1)) return false;
    }
  }
  return true;
}

void Collapse(LoopFunc& func, int dim) {
  const SymDim inner = func.dims[static_cast<std::size_t>(dim) + 1];
  DimMapping mapping;
  std::vector<SymDim> extents = func.dims;
  extents[static_cast<std::size_t>(dim)] = extents[static_cast<std::size_t>(dim)] * inner;
  extents.erase(extents.begin() + dim + 1);
  mapping.space = IndexSpace(std::move(extents));
  // Accesses step through both dims as one: the outer index is dropped, the inner one runs on.
  for (int i = 0; i < static_cast<int>(func.dims.size()); ++i) {
    mapping.replacements.push_back(i == dim ? IndexMap() : mapping.space.Dim(i > dim ? i - 1 : i));
  }
  STOKER_CHECK(RemapLoop(mapping, func));
  const auto renumber = [&](std::vector<int>& dims) {
    std::erase(dims, dim + 1);
    for (int& d : dims) d -= d > dim ? 1 : 0;
  };
  for (Stage& stage : func.stages) {
    renumber(stage.loops);
    for (Reduction& reduction : stage.reductions) renumber(reduction.over);
  }
  if (dim < func.num_outer) --func.num_outer;
}

}  // namespace

bool RemapLoop(const DimMapping& mapping, LoopFunc& func) {
  for (Stage& stage : func.stages) {
    std::vector<std::uint32_t*> values;
    for (Temporary& temporary : stage.temporaries) values.push_back(&temporary.value);
    for (Reduction& reduction : stage.reductions) values.push_back(&reduction.value);
    if (!RemapBody(mapping, stage.body, stage.stores, values)) return false;
  }
  func.dims = mapping.space.extents();
  return true;
}

void CollapseLoops(LoopFunc& func) {
  for (int dim = static_cast<int>(func.dims.size()) - 2; dim >= 0; --dim) {
    if (CanCollapse(func, dim)) Collapse(func, dim);
  }
}

}  // namespace stoker
