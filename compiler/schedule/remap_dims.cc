#include "compiler/schedule/remap_dims.h"

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
        const std::optional<std::uint32_t> value = EmitIndex(map);
        if (!value) return false;
        renumbered_.push_back(*value);
        continue;
      }
      if (instr.op == BodyOp::kLoad && !RemapAccess(instr.access)) return false;
      renumbered_.push_back(Emit(std::move(instr)));
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
  std::uint32_t Emit(BodyInstr instr) {
    body_.instrs.push_back(std::move(instr));
    return static_cast<std::uint32_t>(body_.instrs.size() - 1);
  }

  std::uint32_t EmitInt(std::int64_t value) {
    BodyInstr instr;
    instr.dtype = DType::kI64;
    instr.int_constant = value;
    return Emit(std::move(instr));
  }

  std::uint32_t EmitBinary(OpKind kind, std::uint32_t a, std::uint32_t b) {
    BodyInstr instr;
    instr.op = BodyOp::kPointwise;
    instr.dtype = DType::kI64;
    instr.pointwise = kind;
    instr.args = {a, b};
    return Emit(std::move(instr));
  }

  std::optional<std::uint32_t> EmitIndex(const IndexMap& map) {
    if (!map.offset.IsConstant()) return std::nullopt;
    std::optional<std::uint32_t> sum;
    for (const IndexTerm& term : map.terms) {
      if (!term.coefficient.IsConstant()) return std::nullopt;
      BodyInstr index;
      index.op = BodyOp::kIndex;
      index.dtype = DType::kI64;
      index.dim = term.dim;
      std::uint32_t value = Emit(std::move(index));
      const auto apply = [&](OpKind kind, std::int64_t by) {
        value = EmitBinary(kind, value, EmitInt(by));
      };
      if (term.divisor != 1) apply(OpKind::kDivide, term.divisor);
      if (term.modulus != 0) apply(OpKind::kRemainder, term.modulus);
      if (term.coefficient.constant() != 1) {
        apply(OpKind::kMultiply, term.coefficient.constant());
      }
      sum = sum ? EmitBinary(OpKind::kAdd, *sum, value) : value;
    }
    if (!sum) return EmitInt(map.offset.constant());
    if (map.offset.constant() == 0) return sum;
    return EmitBinary(OpKind::kAdd, *sum, EmitInt(map.offset.constant()));
  }

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
