// Matmul: a matrix product as a library computes it, for each of `batch`:
//
//   D = activation(alpha * A x B + beta * C + bias)
//
// A has m rows and k columns, B k and n, C and D m and n. `bias` is one number for each column. All
// of it is summed up, added and activated in the type of `compute`, and rounded once, to D.
#pragma once

#include <cstdint>
#include <optional>

#include "protocol/base/dtype.h"

namespace stoker {

// How factors are multiplied and summed up. Numeric values are part of the encoded format.
enum class MatmulCompute : std::uint8_t {
  kF32 = 0,
  kTf32 = 1,  // f32 factors are read with 10 of their 23 digits; sums are f32.
  kF64 = 2,
};
inline constexpr int kNumMatmulComputes = 3;

enum class MatmulActivation : std::uint8_t {
  kNone = 0,
  kRelu = 1,
};
inline constexpr int kNumMatmulActivations = 2;

// Element (row, column) of matrix `b` is at offset + b * batch_stride + row * leading + column of
// its place, in elements; `by_columns`: at ... + row + column * leading. A batch stride of 0: one
// matrix for all.
template <typename Size, typename Place>
struct MatmulMatrix {
  Place place{};
  Size offset{};
  Size leading{};
  Size batch_stride{};
  friend bool operator==(const MatmulMatrix&, const MatmulMatrix&) = default;
};

template <typename Size, typename Place>
struct MatmulVector {
  Place place{};
  Size offset{};  // Elements.
  friend bool operator==(const MatmulVector&, const MatmulVector&) = default;
};

// `Size`: of SymDim, or of numbers. `Place`: what names memory.
template <typename Size, typename Place>
struct MatmulOf {
  using Matrix = MatmulMatrix<Size, Place>;

  Size batch{};
  Size m{};
  Size n{};
  Size k{};
  DType factor = DType::kF32;  // Of A and B.
  DType result = DType::kF32;  // Of C, D and bias.
  MatmulCompute compute = MatmulCompute::kF32;
  MatmulActivation activation = MatmulActivation::kNone;
  Matrix a;
  Matrix b;
  Matrix d;  // By rows.
  bool a_by_columns = false;
  bool b_by_columns = false;
  double alpha = 1;
  double beta = 0;          // Other than 0 exactly where there is a C.
  std::optional<Matrix> c;  // By rows. May be D itself.
  std::optional<MatmulVector<Size, Place>> bias;
  Place workspace{};  // What the library may use while it computes.
  friend bool operator==(const MatmulOf&, const MatmulOf&) = default;
};

// Of m, n, k, the batch, and a leading dim: what libraries count in 32 bits.
inline constexpr std::int64_t kMaxMatmulSize = (std::int64_t{1} << 31) - 1;

// Whether libraries multiply factors of this type so, to this result: f32 and f64 to themselves,
// bf16 and f16 to themselves and to f32.
inline bool IsMatmulType(DType factor, DType result, MatmulCompute compute) {
  switch (compute) {
    case MatmulCompute::kF64:
      return factor == DType::kF64 && result == DType::kF64;
    case MatmulCompute::kTf32:
      return factor == DType::kF32 && result == DType::kF32;
    case MatmulCompute::kF32:
      break;
  }
  if (factor == DType::kBF16 || factor == DType::kF16) {
    return result == factor || result == DType::kF32;
  }
  return factor == DType::kF32 && result == DType::kF32;
}

}  // namespace stoker
