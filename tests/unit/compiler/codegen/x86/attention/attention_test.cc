#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/compiler/codegen/test_array.h"

namespace stoker {
namespace {

enum class Mask { kNone, kBool, kFloat };

struct AttentionCase {
  DType dtype = DType::kF32;
  std::int64_t batch = 1, heads = 2, kv_heads = 2, queries = 8, keys = 8, dim = 16, value_dim = 16;
  bool causal = false;
  Mask mask = Mask::kNone;
  bool mask_broadcasts = false;  // Over batch, heads and queries.
  bool interleaved = false;      // [B, S, H, D] in memory rather than [B, H, S, D].
  bool symbolic = false;
  std::int64_t tasks_per_call = INT64_MAX;
};

std::string NameOf(const AttentionCase& c) {
  std::string text(Name(c.dtype));
  for (const std::int64_t value :
       {c.batch, c.heads, c.kv_heads, c.queries, c.keys, c.dim, c.value_dim}) {
    text += " " + std::to_string(value);
  }
  if (c.causal) text += " causal";
  text += " mask " + std::to_string(static_cast<int>(c.mask));
  if (c.mask_broadcasts) text += " broadcast";
  if (c.interleaved) text += " interleaved";
  if (c.symbolic) text += " symbolic";
  return text;
}

// The arrays of a case, and the function over them.
class Attention {
 public:
  explicit Attention(const AttentionCase& c);

  [[nodiscard]] bool Run(const Target& target);  // Whether there is a result to compare.
  void Compare() const;

  TestArray& q() { return *q_; }
  TestArray& k() { return *k_; }
  TestArray& v() { return *v_; }
  TestArray& mask() { return *mask_; }
  const TestArray& out() const { return *out_; }

 private:
  using Strides = std::array<std::int64_t, 4>;

  SymDim Size(std::int64_t value);
  Strides StridesOf(std::int64_t heads, std::int64_t rows, std::int64_t dim) const;
  std::unique_ptr<TestArray> Make(AttentionOperand& operand, DType dtype, const Strides& strides,
                                  std::int64_t elements);
  double Row(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d,
             double* magnitude) const;

  AttentionCase c_;
  AttentionFunc func_;
  SymBindings bindings_;
  Strides q_strides_, k_strides_, v_strides_, out_strides_;
  Strides mask_strides_ = {};
  std::unique_ptr<TestArray> q_, k_, v_, out_, mask_;
};

SymDim Attention::Size(std::int64_t value) {
  if (!c_.symbolic) return value;
  const auto id = static_cast<std::uint32_t>(bindings_.size());
  bindings_[id] = value;
  return SymDim::Symbol(id);
}

Attention::Strides Attention::StridesOf(std::int64_t heads, std::int64_t rows,
                                        std::int64_t dim) const {
  if (c_.interleaved) return {heads * rows * dim, dim, heads * dim, 1};
  return {heads * rows * dim, rows * dim, dim, 1};
}

std::unique_ptr<TestArray> Attention::Make(AttentionOperand& operand, DType dtype,
                                           const Strides& strides, std::int64_t elements) {
  operand.dtype = dtype;
  for (std::size_t i = 0; i < strides.size(); ++i) operand.strides[i] = strides[i];
  auto array = std::make_unique<TestArray>(dtype, elements);
  std::mt19937_64 random(static_cast<std::uint64_t>(elements) + 5);
  array->Randomize(random);
  return array;
}

Attention::Attention(const AttentionCase& c) : c_(c) {
  func_.batch = Size(c.batch);
  func_.heads = Size(c.heads);
  func_.kv_heads = Size(c.kv_heads);
  func_.queries = Size(c.queries);
  func_.keys = Size(c.keys);
  func_.head_dim = c.dim;
  func_.value_dim = c.value_dim;
  func_.scale = 1 / std::sqrt(static_cast<double>(c.dim));
  func_.causal = c.causal;
  func_.has_mask = c.mask != Mask::kNone;
  q_strides_ = StridesOf(c.heads, c.queries, c.dim);
  k_strides_ = StridesOf(c.kv_heads, c.keys, c.dim);
  v_strides_ = StridesOf(c.kv_heads, c.keys, c.value_dim);
  out_strides_ = StridesOf(c.heads, c.queries, c.value_dim);
  q_ = Make(func_.q, c.dtype, q_strides_, c.batch * q_strides_[0]);
  k_ = Make(func_.k, c.dtype, k_strides_, c.batch * k_strides_[0]);
  v_ = Make(func_.v, c.dtype, v_strides_, c.batch * v_strides_[0]);
  out_ = Make(func_.out, c.dtype, out_strides_, c.batch * out_strides_[0]);
  if (!func_.has_mask) return;
  if (c.mask_broadcasts) {
    mask_strides_ = {0, 0, 0, 1};
  } else {
    mask_strides_ = {c.heads * c.queries * c.keys, c.queries * c.keys, c.keys, 1};
  }
  const DType dtype = c.mask == Mask::kBool ? DType::kBool : c.dtype;
  mask_ = Make(func_.mask, dtype, mask_strides_,
               c.mask_broadcasts ? c.keys : c.batch * mask_strides_[0]);
}

bool Attention::Run(const Target& target) {
  const auto kernel = LoadedKernel::Make(func_, target);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
  if (!kernel.ok() || !(*kernel)->Runs()) return false;
  std::vector<void*> buffers = {q_->data(), k_->data(), v_->data(), out_->data()};
  if (mask_ != nullptr) buffers.push_back(mask_->data());
  (*kernel)->Run(buffers, bindings_, c_.tasks_per_call);
  return true;
}

// One element of the result; `magnitude`: the sum of what was added up.
double Attention::Row(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d,
                      double* magnitude) const {
  const std::int64_t hk = h / (c_.heads / c_.kv_heads);
  const auto at = [](const Strides& strides, std::int64_t i, std::int64_t j, std::int64_t row,
                     std::int64_t column) {
    return i * strides[0] + j * strides[1] + row * strides[2] + column * strides[3];
  };
  std::vector<double> scores;
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::int64_t t = 0; t < (c_.causal ? std::min(c_.keys, s + 1) : c_.keys); ++t) {
    double score = 0;
    for (std::int64_t i = 0; i < c_.dim; ++i) {
      score += q_->Get(at(q_strides_, b, h, s, i)) * k_->Get(at(k_strides_, b, hk, t, i));
    }
    score *= func_.scale;
    if (mask_ != nullptr) {
      const double mask = mask_->Get(at(mask_strides_, b, h, s, t));
      if (c_.mask == Mask::kFloat) score += mask;
      if (c_.mask == Mask::kBool && mask == 0) score = -std::numeric_limits<double>::infinity();
    }
    scores.push_back(score);
    maximum = std::max(maximum, score);
  }
  double sum = 0;
  double result = 0;
  *magnitude = 0;
  for (std::size_t t = 0; t < scores.size(); ++t) {
    if (scores[t] == -std::numeric_limits<double>::infinity()) continue;
    const double p = std::exp(scores[t] - maximum);
    const double value = v_->Get(at(v_strides_, b, hk, static_cast<std::int64_t>(t), d));
    sum += p;
    result += p * value;
    *magnitude += p * std::abs(value);
  }
  if (sum == 0) return 0;
  *magnitude /= sum;
  return result / sum;
}

void Attention::Compare() const {
  // Of one rounding: probabilities are rounded to bf16 where products are of bf16.
  const double epsilon = c_.dtype == DType::kBF16  ? 1.0 / 128
                         : c_.dtype == DType::kF16 ? 1.0 / 1024
                         : c_.dtype == DType::kF64 ? 1e-14
                                                   : 4e-6;
  int failures = 0;
  for (std::int64_t b = 0; b < c_.batch; ++b) {
    for (std::int64_t h = 0; h < c_.heads; ++h) {
      for (std::int64_t s = 0; s < c_.queries; ++s) {
        for (std::int64_t d = 0; d < c_.value_dim; ++d) {
          double magnitude = 0;
          const double want = Row(b, h, s, d, &magnitude);
          const double got = out_->Get(b * out_strides_[0] + h * out_strides_[1] +
                                       s * out_strides_[2] + d * out_strides_[3]);
          const bool same = std::isnan(want) ? std::isnan(got)
                                             : std::abs(got - want) <= epsilon * (magnitude + 1e-6);
          if (!same && ++failures <= 3) {
            ADD_FAILURE() << "batch " << b << " head " << h << " query " << s << " column " << d
                          << ": got " << got << ", want " << want << " +- " << epsilon * magnitude;
          }
        }
      }
    }
  }
  EXPECT_EQ(failures, 0);
}

void Check(const AttentionCase& c, const Target& target) {
  SCOPED_TRACE(target.ToString() + ": " + NameOf(c));
  Attention attention(c);
  if (attention.Run(target)) attention.Compare();
}

class AttentionTest : public testing::TestWithParam<Target> {};

INSTANTIATE_TEST_SUITE_P(Targets, AttentionTest, testing::ValuesIn(X86Targets()),
                         [](const auto& param) { return TestNameOf(param.param); });

constexpr DType kFloats[] = {DType::kF32, DType::kBF16};

TEST_P(AttentionTest, AnySize_MatchesDouble) {
  for (const DType dtype : kFloats) {
    Check({dtype, 2, 2, 2, 33, 33, 64, 64}, GetParam());
    Check({dtype, 1, 3, 1, 1, 70, 7, 40}, GetParam());
    Check({dtype, 1, 4, 2, 130, 20, 33, 5}, GetParam());
    Check({dtype, 1, 1, 1, 1, 1, 1, 1}, GetParam());
  }
  Check({DType::kF16, 1, 2, 2, 19, 35, 24, 24}, GetParam());
  Check({DType::kF64, 1, 2, 2, 19, 35, 24, 24}, GetParam());
}

TEST_P(AttentionTest, Causal_SeesNoLaterKey) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t keys : {20, 75, 150}) {
      AttentionCase c{dtype, 1, 2, 2, 75, keys, 32, 32};
      c.causal = true;
      c.tasks_per_call = 1;
      Check(c, GetParam());
    }
  }
}

TEST_P(AttentionTest, Mask_BoolOrFloat_IsApplied) {
  for (const DType dtype : kFloats) {
    for (const Mask mask : {Mask::kBool, Mask::kFloat}) {
      for (const bool broadcasts : {false, true}) {
        AttentionCase c{dtype, 2, 2, 1, 18, 37, 32, 32};
        c.mask = mask;
        c.mask_broadcasts = broadcasts;
        Check(c, GetParam());
      }
    }
  }
}

TEST_P(AttentionTest, ManyKeys_InBlocks_MatchDouble) {
  for (const DType dtype : kFloats) {
    AttentionCase c{dtype, 1, 2, 2, 20, 700, 32, 48};
    Check(c, GetParam());
    c.mask = Mask::kFloat;
    Check(c, GetParam());
    c = {dtype, 1, 1, 1, 530, 530, 8, 8};
    c.causal = true;
    Check(c, GetParam());
  }
}

TEST_P(AttentionTest, SymbolicSizes_AndInterleavedHeads_MatchDouble) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t size : {5, 140, 270}) {
      AttentionCase c{dtype, 1, 2, 1, size, size, 16, 16};
      c.interleaved = true;
      c.symbolic = true;
      c.causal = size == 270;
      c.tasks_per_call = 2;
      Check(c, GetParam());
    }
  }
}

TEST_P(AttentionTest, RowWithNothingKept_IsZero) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t keys : {40, 600}) {
      AttentionCase c{dtype, 1, 1, 1, 3, keys, 32, 32};
      c.mask = Mask::kBool;
      Attention attention(c);
      for (std::int64_t t = 0; t < keys; ++t) attention.mask().Set(keys + t, 0);
      if (!attention.Run(GetParam())) continue;
      attention.Compare();
      for (std::int64_t d = 0; d < 32; ++d) EXPECT_EQ(attention.out().Get(32 + d), 0);
    }
  }
}

TEST_P(AttentionTest, NaN_StaysInItsRow) {
  for (const DType dtype : kFloats) {
    AttentionCase c{dtype, 1, 1, 1, 20, 40, 32, 32};
    Attention attention(c);
    attention.q().Set(7 * 32 + 3, std::nan(""));
    if (!attention.Run(GetParam())) continue;
    attention.Compare();
    for (std::int64_t d = 0; d < 32; ++d) EXPECT_TRUE(std::isnan(attention.out().Get(7 * 32 + d)));
  }
}

TEST_P(AttentionTest, LargeScores_DoNotOverflow) {
  for (const DType dtype : kFloats) {
    AttentionCase c{dtype, 1, 1, 1, 20, 40, 32, 32};
    Attention attention(c);
    for (std::int64_t i = 0; i < attention.q().elements(); ++i) {
      attention.q().Set(i, attention.q().Get(i) * 128);
    }
    if (!attention.Run(GetParam())) continue;
    for (std::int64_t i = 0; i < attention.out().elements(); ++i) {
      ASSERT_TRUE(std::isfinite(attention.out().Get(i)));
    }
  }
}

}  // namespace
}  // namespace stoker
