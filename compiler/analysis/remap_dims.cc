#include "compiler/analysis/remap_dims.h"

#include "compiler/analysis/index_instrs.h"

namespace stoker {
namespace {

class BodyRemapper {
 public:
  BodyRemapper(const DimMapping& mapping) : mapping_(mapping) {}

  bool Run(Body& body) {
    for (BodyInstr& instr : body.instrs) {
      for (std::uint32_t& arg : instr.args) arg = renumbered_[arg];
      if (instr.op == BodyOp::kIndex) {
        const IndexMap& map = mapping_.replacements[static_cast<std::size_t>(instr.dim)];
        renumbered_.push_back(
            AppendIndexMap(body_, map, [&](int dim) { return AppendIndex(body_, dim); }));
        continue;
      }
      if (instr.op == BodyOp::kLoad && !RemapAccess(instr.access)) return false;
      renumbered_.push_back(Append(body_, std::move(instr)));
    }
    body = std::move(body_);
    return true;
  }

  bool RemapAccess(Access& access) const {
    std::optional<IndexMap> map = mapping_.space.Substitute(access.index, mapping_.replacements);
    if (!map) return false;
    access.index = *std::move(map);
    return true;
  }

  std::uint32_t renumbered(std::uint32_t instr) const { return renumbered_[instr]; }

 private:
  const DimMapping& mapping_;
  Body body_;
  std::vector<std::uint32_t> renumbered_;
};

}  // namespace

bool RemapBody(const DimMapping& mapping, Body& body, std::vector<Store>& stores,
               std::span<std::uint32_t*> values) {
  BodyRemapper remapper(mapping);
  if (!remapper.Run(body)) return false;
  for (Store& store : stores) {
    store.value = remapper.renumbered(store.value);
    if (!remapper.RemapAccess(store.access)) return false;
  }
  for (std::uint32_t* value : values) *value = remapper.renumbered(*value);
  return true;
}

bool ReadsIndexOf(const Body& body, int dim) {
  for (const BodyInstr& instr : body.instrs) {
    if (instr.op == BodyOp::kIndex && instr.dim == dim) return true;
  }
  return false;
}

}  // namespace stoker
