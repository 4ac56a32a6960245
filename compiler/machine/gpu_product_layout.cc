// In which form the operands of a product multiply fastest on a GPU.
#include <algorithm>

#include "compiler/machine/gpu_machine.h"

namespace stoker {
namespace {

// A core matrix: 8 rows of 16 bytes that lie together, the unit in which ldmatrix, wgmma and
// tcgen05 read shared memory.
constexpr std::int64_t kCoreRows = 8;
constexpr std::int64_t kCoreRowBytes = 16;

// What the elements are multiplied as. Integers that tensor cores do not multiply are widened.
DType ElementOf(const Product& product, const GpuMachine& machine) {
  switch (product.dtype) {
    case DType::kF32:
      // TF32 keeps fewer digits than `high` allows to be lost, and is slower than the bf16 that
      // `medium` allows.
      return product.numerics == Numerics::kMedium ? DType::kBF16 : DType::kF32;
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI64:
    case DType::kI32:
      return product.dtype;
    case DType::kI8:
      return machine.TileOf(DType::kI8) != nullptr ? DType::kI8 : DType::kI32;
    case DType::kI16:
    case DType::kU8:
    case DType::kBool:
      return DType::kI32;
  }
  STOKER_CHECK(false);
}

}  // namespace

ProductLayout GpuMachine::LayoutOf(const Product& product) const {
  ProductLayout chosen;
  PackedLayout& layout = chosen.rhs;
  layout.dtype = ElementOf(product, *this);
  const TensorCoreTile* tile = layout.dtype == DType::kF32 ? nullptr : TileOf(layout.dtype);
  if (tile == nullptr) {  // Multiply-adds: a warp reads neighbours along N.
    layout.nr = warp_size * kCoreRowBytes / SizeInBytes(layout.dtype);
    return chosen;
  }
  layout.nr = kCoreRows;
  layout.kr = kCoreRowBytes / SizeInBytes(layout.dtype);
  layout.k_multiple = tile->k;
  return chosen;
}

// What PyTorch gives cuBLASLt on Hopper, but no more than sixteen parts of each sum take in f32.
std::int64_t GpuMachine::ProductWorkspaceBytes(std::optional<std::int64_t> numbers) const {
  constexpr std::int64_t kMost = 32 << 20;
  constexpr std::int64_t kLeast = 1 << 20;
  constexpr std::int64_t kBytesOfParts = 16 * 4;
  if (!numbers || *numbers >= kMost / kBytesOfParts) return kMost;
  return std::max(kLeast, *numbers * kBytesOfParts);
}

}  // namespace stoker
