// In which form the operands of a product multiply fastest on a CPU.
#include "compiler/machine/cpu_machine.h"

namespace stoker {
namespace {

// Few rows read all of B for little arithmetic: wide panels have more sums in flight per row.
constexpr std::int64_t kFewRows = 6;
// bf16 parts make six products (two parts: three) at 16 times the rate of f32, but a panel is split
// for every block of rows.
constexpr std::int64_t kMinRowsForParts = 56;
constexpr std::int64_t kMinRowsForTwoParts = 32;

// Of a row of A that is rounded or split.
constexpr std::int64_t kMinDepth = 27;
constexpr std::int64_t kMaxDepth = 16384;

DType ElementOf(DType dtype, const CpuMachine& machine) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kI64:
    case DType::kI32:
      return dtype;
    case DType::kBF16:
      return machine.amx_bf16 || machine.avx512_bf16 ? DType::kBF16 : DType::kF32;
    case DType::kF16:
      return DType::kF32;
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return DType::kI32;
  }
  STOKER_CHECK(false);
}

// Whether f32 is multiplied faster in parts on AMX, although K and N are padded: a constant K, one
// row of which is kept whole, and rows enough.
bool WorthParts(int parts, const SymDim& m, const SymDim& n, const SymDim& k) {
  constexpr std::int64_t kMinColumns = 17;
  const auto at_least = [](const SymDim& dim, std::int64_t least) {
    return !dim.IsConstant() || dim.constant() >= least;
  };
  return k.IsConstant() && k.constant() >= kMinDepth && k.constant() <= kMaxDepth &&
         at_least(m, parts == 3 ? kMinRowsForParts : kMinRowsForTwoParts) &&
         at_least(n, kMinColumns);
}

// Whether f32 is multiplied faster as bf16: on AMX. The dot products of AVX-512 have no more than
// the rate of multiply-adds where this was measured, and A is rounded on its way.
bool WorthRounding(const SymDim& k, const CpuMachine& machine) {
  return machine.amx_bf16 && k.IsConstant() && k.constant() >= kMinDepth &&
         k.constant() <= kMaxDepth;
}

// Vectors of columns in a panel: the fewest padded columns, two vectors where that is equal.
std::int64_t PanelVectors(const SymDim& m, const SymDim& n, std::int64_t lanes) {
  if (!n.IsConstant()) return 2;
  const std::int64_t columns = n.constant();
  if (m.IsConstant() && m.constant() <= kFewRows && columns >= 16 * lanes) return 4;
  const auto padded = [&](std::int64_t vectors) {
    const std::int64_t nr = vectors * lanes;
    return (columns + nr - 1) / nr * nr;
  };
  std::int64_t best = 2;
  for (const std::int64_t vectors : {3, 1}) {
    // Each costs some: fewer rows in a tile, more loads a product.
    if (padded(vectors) * 9 <= padded(best) * 8) best = vectors;
  }
  return best;
}

}  // namespace

ProductLayout CpuMachine::LayoutOf(const Product& product) const {
  DType dtype = product.dtype;
  if (dtype == DType::kF32 && product.numerics == Numerics::kMedium &&
      WorthRounding(product.k, *this)) {
    dtype = DType::kBF16;
  }
  ProductLayout chosen;
  PackedLayout& layout = chosen.rhs;
  layout.dtype = ElementOf(dtype, *this);
  if (layout.dtype == DType::kBF16) layout.kr = 2;
  layout.k_multiple = layout.kr;
  if (layout.dtype == DType::kBF16 && amx_bf16) {
    layout.k_multiple = 32;
    layout.nr = product.n.IsConstant() && product.n.constant() <= 16 ? 16 : 32;
    return chosen;
  }
  const int parts = product.numerics == Numerics::kHighest ? 3 : 2;
  if (layout.dtype == DType::kF32 && amx_bf16 &&
      WorthParts(parts, product.m, product.n, product.k)) {
    layout.kr = 2;
    layout.k_multiple = 32;
    layout.nr = 32;
    chosen.parts = parts;
    return chosen;
  }
  const std::int64_t lanes = Lanes(layout.dtype);
  layout.nr = lanes * PanelVectors(product.m, product.n, lanes);
  return chosen;
}

}  // namespace stoker
