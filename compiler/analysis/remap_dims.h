// Rewrites bodies, stores and whole loop functions over other iteration dims.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/analysis/index_space.h"
#include "compiler/ir/loop_func.h"

namespace stoker {

// Dim d of the old space becomes the expression replacements[d] over `space`.
struct DimMapping {
  IndexSpace space;
  std::vector<IndexMap> replacements;
};

// False, with the arguments unspecified, when some access is no index expression over the new dims.
[[nodiscard]] bool RemapBody(const DimMapping& mapping, Body& body, std::vector<Store>& stores,
                             std::span<std::uint32_t*> values);

// The dims of every access of a body and its stores.
template <typename F>
void ForEachAccess(const Body& body, const std::vector<Store>& stores, F&& f) {
  for (const BodyInstr& instr : body.instrs) {
    if (instr.op == BodyOp::kLoad) f(instr.access, false);
  }
  for (const Store& store : stores) f(store.access, true);
}

bool ReadsIndexOf(const Body& body, int dim);  // A kIndex of it.

}  // namespace stoker
