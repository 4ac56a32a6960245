// A contraction with the packing of its right side, made and checked against sums in double.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/contraction_func.h"
#include "protocol/key/compile_options.h"
#include "tests/unit/compiler/codegen/test_array.h"

namespace stoker {

enum class Epilogue {
  kNone,
  kBias,          // + bias[n]
  kBiasResidual,  // + bias[n] + residual[b, m, n], then max with 0; the output is the residual
  kBiasGelu,      // exact gelu of (+ bias[n])
};

struct ContractionCase {
  DType dtype = DType::kF32;
  DType output = DType::kF32;
  Numerics numerics = Numerics::kHighest;
  std::vector<std::int64_t> batch;
  std::vector<bool> rhs_has;  // Empty: all.
  std::vector<std::int64_t> m;
  std::vector<std::int64_t> m_strides;  // Empty: row-major [batch, m, k].
  std::vector<std::int64_t> k;
  std::vector<std::int64_t> k_strides;
  // Of m and k as above. A is zero there, or `outside`, which then must not be read.
  std::vector<Halo> halos;
  double outside = 0;
  std::int64_t n = 1;
  bool rhs_is_nk = false;  // B is stored [batch, n, k] rather than [batch, k, n].
  // B is stored [batch, n, k.back(), k...]: convolution weights with channels before the window.
  bool rhs_is_convolution = false;
  bool has_scale = false;
  Epilogue epilogue = Epilogue::kNone;
  // If set, takes the place of one element of A, in its second row, or of B.
  std::optional<float> special;
  bool special_in_lhs = true;
  bool symbolic = false;       // All sizes and strides are symbols.
  bool symbolic_rows = false;  // The extents of m are.
  std::int64_t tasks_per_call = INT64_MAX;

  std::string Name() const;
};

// A case of [m, k] x [k, n].
ContractionCase Matmul(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);
// Channels-last images of [n, h, w, c] (halo included) under a window of [kh, kw].
ContractionCase Convolution(DType dtype, std::int64_t images, std::int64_t oh, std::int64_t ow,
                            std::int64_t channels, std::int64_t window, std::int64_t stride,
                            std::int64_t features);

// The same over images of [n, h, w, c] with a halo of zeros, `low` before and what the window needs
// behind; `dilation` between the taps of a window.
struct PaddedImage {
  std::int64_t images, h, w, channels;
};
struct PaddedWindow {
  std::int64_t size, stride, dilation, low, high;
};
ContractionCase PaddedConvolution(DType dtype, const PaddedImage& image, const PaddedWindow& window,
                                  std::int64_t features);

// What the elements of A and B are. `channel` counts along the last k dim.
struct Terms {
  std::string name;
  std::function<double(std::int64_t row, std::int64_t channel)> lhs;
  std::function<double(std::int64_t channel, std::int64_t column)> rhs;
};

// Packs, runs and compares; failures are reported through GoogleTest. Elements are normal and
// independent, or what each of `terms` says in turn.
void Check(const ContractionCase& c, const Target& target);
void Check(const ContractionCase& c, const Target& target, const std::vector<Terms>& terms);
// Of a target with tiles, on a processor that has them: its own results and those of emulated tiles
// are the same bits.
void CheckSameResult(const ContractionCase& c, const Target& target, const Terms* terms = nullptr);
// However many threads share the tasks, and however many a call has, results are the same bits.
void CheckSameForThreads(const ContractionCase& c, const Target& target);

}  // namespace stoker
