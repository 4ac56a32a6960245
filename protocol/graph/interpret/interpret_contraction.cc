#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "protocol/graph/build/infer.h"
#include "protocol/graph/interpret/interpret.h"
#include "protocol/graph/reference_arithmetic.h"

namespace stoker {
namespace {

// One operand of dot_general as a row-major [batch, rows, columns].
template <typename T>
struct Matrices {
  std::int64_t batch = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::vector<T> elements;
};

template <typename T>
Matrices<T> AsMatrices(const InterpreterTensor& tensor, const Sizes& batch, const Sizes& rows,
                       const Sizes& columns) {
  const Sizes strides = StridesOf(tensor.shape);
  Matrices<T> matrices;
  Sizes shape;
  View view;
  const auto take = [&](const Sizes& dims, std::int64_t& size) {
    for (const std::int64_t dim : dims) {
      shape.push_back(tensor.shape[static_cast<std::size_t>(dim)]);
      view.strides.push_back(strides[static_cast<std::size_t>(dim)]);
      size *= shape.back();
    }
  };
  take(batch, matrices.batch);
  take(rows, matrices.rows);
  take(columns, matrices.columns);
  matrices.elements = Materialize(ElementsOf<T>(tensor), view, shape);
  return matrices;
}

Sizes FreeDims(std::size_t rank, const Sizes& batch, const Sizes& contract) {
  Sizes dims;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i) {
    if (!Contains(batch, i) && !Contains(contract, i)) dims.push_back(i);
  }
  return dims;
}

template <typename T>
void InterpretDotGeneral(Evaluation& e) {
  const Attributes& attributes = e.attributes();
  const Sizes& lhs_batch = attributes.Ints(AttrName::kLhsBatch);
  const Sizes& rhs_batch = attributes.Ints(AttrName::kRhsBatch);
  const Sizes& lhs_contract = attributes.Ints(AttrName::kLhsContract);
  const Sizes& rhs_contract = attributes.Ints(AttrName::kRhsContract);
  const Matrices<T> a =
      AsMatrices<T>(e.operand(0), lhs_batch,
                    FreeDims(e.operand(0).shape.size(), lhs_batch, lhs_contract), lhs_contract);
  const Matrices<T> b = AsMatrices<T>(e.operand(1), rhs_batch, rhs_contract,
                                      FreeDims(e.operand(1).shape.size(), rhs_batch, rhs_contract));
  std::vector<T>& out = ElementsOf<T>(e.results[0]);
  for (std::int64_t i = 0; i < a.batch * a.rows; ++i) {
    const std::int64_t batch = i / a.rows;
    T* row = out.data() + i * b.columns;
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const T scale = a.elements[static_cast<std::size_t>(i * a.columns + k)];
      const T* from = b.elements.data() + (batch * b.rows + k) * b.columns;
      for (std::int64_t j = 0; j < b.columns; ++j) {
        row[j] = WrapAdd(row[j], WrapMultiply(scale, from[j]));
      }
    }
  }
}

// One spatial dimension of a convolution.
struct Spatial {
  std::int64_t in = 1;
  std::int64_t window = 1;
  std::int64_t out = 1;
  std::int64_t stride = 1;
  std::int64_t pad_low = 0;
  std::int64_t dilation = 1;
  std::int64_t lhs_dilation = 1;

  // Which element of the operand window position k at output position o meets; -1: none.
  std::int64_t At(std::int64_t o, std::int64_t k) const {
    const std::int64_t position = o * stride + k * dilation - pad_low;
    if (position < 0 || position % lhs_dilation != 0) return -1;
    const std::int64_t index = position / lhs_dilation;
    return index < in ? index : -1;
  }
};

// The sum over channels and window of one output element. x: channels of one group of one image;
// w: one filter.
double Correlate(const double* x, const double* w, std::int64_t channels,
                 const std::array<Spatial, 3>& s, const std::array<std::int64_t, 3>& at) {
  double sum = 0;
  for (std::int64_t k0 = 0; k0 < s[0].window; ++k0) {
    const std::int64_t i0 = s[0].At(at[0], k0);
    if (i0 < 0) continue;
    for (std::int64_t k1 = 0; k1 < s[1].window; ++k1) {
      const std::int64_t i1 = s[1].At(at[1], k1);
      if (i1 < 0) continue;
      for (std::int64_t k2 = 0; k2 < s[2].window; ++k2) {
        const std::int64_t i2 = s[2].At(at[2], k2);
        if (i2 < 0) continue;
        const double* from = x + (i0 * s[1].in + i1) * s[2].in + i2;
        const double* filter = w + (k0 * s[1].window + k1) * s[2].window + k2;
        for (std::int64_t c = 0; c < channels; ++c) {
          sum += from[c * s[0].in * s[1].in * s[2].in] *
                 filter[c * s[0].window * s[1].window * s[2].window];
        }
      }
    }
  }
  return sum;
}

void InterpretConvolution(Evaluation& e) {
  const InterpreterTensor& x = e.operand(0);
  const InterpreterTensor& w = e.operand(1);
  // Fewer than three spatial dims: the leading ones have size 1.
  std::array<Spatial, 3> s;
  const std::size_t spatial = x.shape.size() - 2;
  for (std::size_t i = 0; i < spatial; ++i) {
    s[3 - spatial + i] = {x.shape[i + 2],
                          w.shape[i + 2],
                          e.results[0].shape[i + 2],
                          e.attributes().Ints(AttrName::kStrides)[i],
                          e.attributes().Ints(AttrName::kPadLow)[i],
                          e.attributes().Ints(AttrName::kDilation)[i],
                          e.attributes().Ints(AttrName::kLhsDilation)[i]};
  }
  const std::int64_t groups = e.attributes().Int(AttrName::kGroups);
  const std::int64_t filters = w.shape[0];
  const std::int64_t channels = w.shape[1];
  const std::int64_t image = s[0].in * s[1].in * s[2].in;
  const std::int64_t window = s[0].window * s[1].window * s[2].window;
  const double* x_data = ElementsOf<double>(x).data();
  const double* w_data = ElementsOf<double>(w).data();
  double* out = ElementsOf<double>(e.results[0]).data();
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t o = 0; o < filters; ++o) {
      const std::int64_t group = o / (filters / groups);
      const double* from = x_data + (n * x.shape[1] + group * channels) * image;
      const double* filter = w_data + o * channels * window;
      ForEachIndex(std::array{s[0].out, s[1].out, s[2].out}, [&](const Sizes& at) {
        *out++ = Correlate(from, filter, channels, s, {at[0], at[1], at[2]});
      });
    }
  }
}

// The fourth operand of attention, or nothing.
class Mask {
 public:
  explicit Mask(const Evaluation& e) {
    if (e.operands.size() < 4) return;
    mask_ = &e.operand(3);
    strides_ = StridesOf(mask_->shape);
    for (std::size_t i = 0; i < 4; ++i) {
      if (mask_->shape[i] == 1) strides_[i] = 0;
    }
  }

  // What is added to a score; nothing: the score is left out.
  std::optional<double> At(const std::array<std::int64_t, 4>& index) const {
    if (mask_ == nullptr) return 0.0;
    const auto offset = static_cast<std::size_t>(Offset(index, strides_));
    if (mask_->dtype != DType::kBool) return ElementsOf<double>(*mask_)[offset];
    if (ElementsOf<std::int64_t>(*mask_)[offset] == 0) return std::nullopt;
    return 0.0;
  }

 private:
  const InterpreterTensor* mask_ = nullptr;
  Sizes strides_;
};

double Dot(const double* a, const double* b, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

// One row of softmax(scores) v; a score that is left out is nothing.
void Attend(const std::vector<std::optional<double>>& scores, const double* v, std::int64_t width,
            double* out) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const std::optional<double>& score : scores) {
    if (score) highest = MaximumOf(highest, *score);
  }
  if (highest == -std::numeric_limits<double>::infinity()) return;  // Nothing is kept: zeros.
  double sum = 0;
  for (std::size_t t = 0; t < scores.size(); ++t) {
    if (!scores[t]) continue;
    const double weight = std::exp(*scores[t] - highest);
    sum += weight;
    const double* from = v + static_cast<std::int64_t>(t) * width;
    for (std::int64_t d = 0; d < width; ++d) out[d] += weight * from[d];
  }
  for (std::int64_t d = 0; d < width; ++d) out[d] /= sum;
}

Status InterpretAttention(Evaluation& e) {
  const Sizes& q_shape = e.operand(0).shape;
  const Sizes& v_shape = e.operand(2).shape;
  const std::int64_t heads = q_shape[1];
  const std::int64_t queries = q_shape[2];
  const std::int64_t depth = q_shape[3];
  const std::int64_t kv_heads = v_shape[1];
  const std::int64_t keys = v_shape[2];
  const std::int64_t width = v_shape[3];
  const double scale = e.attributes().Float(AttrName::kScale);
  const bool causal = e.attributes().Bool(AttrName::kCausal);
  if (kv_heads == 0 || heads % kv_heads != 0) {
    return InvalidArgument(std::to_string(kv_heads) + " key heads do not divide " +
                           std::to_string(heads) + " heads.");
  }
  const Mask mask(e);
  const double* q = ElementsOf<double>(e.operand(0)).data();
  const double* k = ElementsOf<double>(e.operand(1)).data();
  const double* v = ElementsOf<double>(e.operand(2)).data();
  double* out = ElementsOf<double>(e.results[0]).data();
  std::vector<std::optional<double>> scores(static_cast<std::size_t>(keys));
  ForEachIndex(std::array{q_shape[0], heads, queries}, [&](const Sizes& at) {
    const std::int64_t kv = at[0] * kv_heads + at[1] / (heads / kv_heads);
    for (std::int64_t t = 0; t < keys; ++t) {
      std::optional<double>& score = scores[static_cast<std::size_t>(t)];
      score = causal && t > at[2] ? std::nullopt : mask.At({at[0], at[1], at[2], t});
      if (score) *score += scale * Dot(q, k + (kv * keys + t) * depth, depth);
    }
    Attend(scores, v + kv * keys * width, width, out);
    q += depth;
    out += width;
  });
  return Ok();
}

}  // namespace

Status InterpretContraction(Evaluation& e) {
  if (e.node.kind == OpKind::kAttention) return InterpretAttention(e);
  if (e.node.kind == OpKind::kConvolution) {
    InterpretConvolution(e);
  } else if (IsFloat(e.results[0].dtype)) {
    InterpretDotGeneral<double>(e);
  } else {
    InterpretDotGeneral<std::int64_t>(e);
  }
  return Ok();
}

}  // namespace stoker
