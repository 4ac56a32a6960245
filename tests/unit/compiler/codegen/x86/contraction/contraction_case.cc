#include "tests/unit/compiler/codegen/x86/contraction/contraction_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "compiler/machine/machine.h"

namespace stoker {
namespace {

std::int64_t Product(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{1}, std::multiplies<>());
}

DType AccumulatorOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return dtype;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return DType::kI32;
  }
  STOKER_CHECK(false);
}

// Sizes as the compiler sees them: constants, or one symbol each.
class Sizes {
 public:
  explicit Sizes(bool symbolic) : symbolic_(symbolic) {}

  SymDim Of(std::int64_t value) { return symbolic_ ? SymbolOf(value) : SymDim(value); }
  SymDim SymbolOf(std::int64_t value) {
    const auto id = static_cast<std::uint32_t>(bindings_.size());
    bindings_[id] = value;
    return SymDim::Symbol(id);
  }
  std::vector<SymDim> Of(const std::vector<std::int64_t>& values) {
    std::vector<SymDim> dims;
    for (const std::int64_t value : values) dims.push_back(Of(value));
    return dims;
  }
  const SymBindings& bindings() const { return bindings_; }

 private:
  bool symbolic_;
  SymBindings bindings_;
};

std::vector<SymDim> RowMajor(const std::vector<SymDim>& extents) {
  std::vector<SymDim> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

IndexMap MapOf(const std::vector<SymDim>& strides) {
  IndexMap map;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == SymDim(0)) continue;
    map.terms.push_back({static_cast<int>(i), strides[i], 1, 0});
  }
  return map;
}

BodyInstr Input(DType dtype) {
  BodyInstr instr;
  instr.op = BodyOp::kInput;
  instr.dtype = dtype;
  return instr;
}

BodyInstr LoadOf(std::uint32_t operand, DType dtype, IndexMap index) {
  BodyInstr instr;
  instr.op = BodyOp::kLoad;
  instr.dtype = dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
  instr.access = {operand, dtype, std::move(index), {}};
  return instr;
}

BodyInstr Constant(DType dtype, double value) {
  BodyInstr instr;
  instr.op = BodyOp::kConstant;
  instr.dtype = dtype;
  instr.constant = value;
  instr.int_constant = static_cast<std::int64_t>(value);
  return instr;
}

BodyInstr Pointwise(OpKind kind, DType dtype, std::vector<std::uint32_t> args) {
  BodyInstr instr;
  instr.op = BodyOp::kPointwise;
  instr.pointwise = kind;
  instr.dtype = dtype;
  instr.args = std::move(args);
  return instr;
}

// Everything about one case: the functions and the arrays they run on.
struct Instance {
  explicit Instance(const ContractionCase& c, const Target& target);

  void Randomize(std::mt19937_64& random, const Terms* terms);
  // In A, what lies outside of the image.
  void FillHalos(double value);
  // Packs and runs: whether there is a result to compare.
  bool Execute(const Target& target, Execution execution);
  void Compare();

  const ContractionCase& c;
  bool flushes = false;   // The target's products may take denormal numbers for zero.
  bool in_parts = false;  // They may leave out the smallest products of parts.
  double lost = 0;        // Of each term, by numerics that allow it.
  Sizes sizes;
  DType accumulator;
  ContractionFunc contraction;
  PackFunc pack;
  std::unique_ptr<TestArray> lhs, rhs, scale, packed, bias, out;
  std::unique_ptr<TestArray> residual;  // A copy of `out` before the run.
  std::unique_ptr<LoadedKernel> pack_kernel, kernel;
  std::vector<std::int64_t> lhs_batch_strides, m_strides, k_strides, rhs_strides;
};

constexpr std::int64_t kLhsOffset = 3;

// Of the element with a flat number among `extents`; strides[first + i] belongs to extents[i].
std::int64_t OffsetOf(std::int64_t flat, const std::vector<std::int64_t>& extents,
                      const std::vector<std::int64_t>& strides, std::size_t first = 0) {
  std::int64_t at = 0;
  for (std::size_t i = extents.size(); i-- > 0;) {
    at += flat % extents[i] * strides[first + i];
    flat /= extents[i];
  }
  return at;
}

// In one of its dims.
std::int64_t IndexOf(std::int64_t flat, const std::vector<std::int64_t>& extents, std::size_t dim) {
  for (std::size_t i = extents.size(); --i > dim;) flat /= extents[i];
  return flat % extents[dim];
}

// The bound of compiler/NUMERICS.md for one element of a product.
struct ProductBound {
  double terms = 0;      // The number of terms,
  double magnitude = 0;  // the sum of their magnitudes,
  double factors = 0;    // and that of the magnitudes of all factors.
  double lost = 0;       // Of each term, by numerics that allow it.

  double Of(DType accumulator, bool flushes, bool in_parts) const {
    if (!IsFloat(accumulator)) return 0;
    const double multiple = 2 * std::sqrt(terms) + (in_parts ? 4 : 0);
    const double spacing = accumulator == DType::kF32 ? 0x1p-23 : 0x1p-52;
    const double flushed = flushes ? 0x1p-126 * factors + 0x1p-123 * terms : 0;
    // A sum in IEEE rounds to what is next, however small.
    const double least = accumulator == DType::kF32 ? 0x1p-149 : 0;
    return (multiple * spacing + lost) * magnitude + flushed + terms * least;
  }
};

Instance::Instance(const ContractionCase& case_, const Target& target)
    : c(case_), sizes(case_.symbolic), accumulator(AccumulatorOf(case_.dtype)) {
  const std::vector<SymDim> batch = sizes.Of(c.batch);
  std::vector<SymDim> m = sizes.Of(c.m);
  if (c.symbolic_rows)
    std::ranges::transform(c.m, m.begin(),
                           [&](std::int64_t extent) { return sizes.SymbolOf(extent); });
  const std::vector<SymDim> k = sizes.Of(c.k);
  const SymDim n = sizes.Of(c.n);
  const std::size_t nb = batch.size();

  // A: row-major [batch, m, k] unless strides are given.
  std::vector<SymDim> lhs_dims = batch;
  lhs_dims.insert(lhs_dims.end(), m.begin(), m.end());
  lhs_dims.insert(lhs_dims.end(), k.begin(), k.end());
  std::vector<SymDim> lhs_strides = RowMajor(lhs_dims);
  for (std::size_t i = 0; i < c.m_strides.size(); ++i) lhs_strides[nb + i] = c.m_strides[i];
  for (std::size_t i = 0; i < c.k_strides.size(); ++i) {
    lhs_strides[nb + m.size() + i] = c.k_strides[i];
  }
  const auto value = [&](const SymDim& dim) { return *dim.Evaluate(sizes.bindings()); };
  std::int64_t last = kLhsOffset;
  for (std::size_t i = 0; i < lhs_dims.size(); ++i) {
    last += (value(lhs_dims[i]) - 1) * value(lhs_strides[i]);
  }
  lhs = std::make_unique<TestArray>(c.dtype, last + 1);

  // B.
  std::vector<SymDim> rhs_extents;
  std::vector<std::size_t> rhs_order;  // Dims of [batch, k, n], outermost first, as stored.
  for (std::size_t i = 0; i < nb; ++i) rhs_order.push_back(i);
  const std::size_t n_dim = nb + k.size();
  if (c.rhs_is_nk || c.rhs_is_convolution) rhs_order.push_back(n_dim);
  if (c.rhs_is_convolution) rhs_order.push_back(n_dim - 1);
  for (std::size_t i = 0; i < k.size() - (c.rhs_is_convolution ? 1 : 0); ++i) {
    rhs_order.push_back(nb + i);
  }
  if (!c.rhs_is_nk && !c.rhs_is_convolution) rhs_order.push_back(n_dim);
  std::vector<SymDim> all = batch;
  all.insert(all.end(), k.begin(), k.end());
  all.push_back(n);
  const auto rhs_has = [&](std::size_t i) { return c.rhs_has.empty() || c.rhs_has[i]; };
  std::vector<SymDim> strides(all.size(), 0);
  SymDim stride = 1;
  for (std::size_t i = rhs_order.size(); i-- > 0;) {
    const std::size_t dim = rhs_order[i];
    if (dim < nb && !rhs_has(dim)) continue;
    strides[dim] = stride;
    stride = stride * all[dim];
  }
  rhs = std::make_unique<TestArray>(c.dtype, value(stride));
  for (const SymDim& s : strides) rhs_strides.push_back(value(s));

  // Packing.
  SymDim m_total = 1;
  SymDim k_total = 1;
  for (const SymDim& dim : m) m_total = m_total * dim;
  for (const SymDim& dim : k) k_total = k_total * dim;
  std::vector<SymDim> pack_strides;
  for (std::size_t i = 0; i < nb; ++i) {
    if (!rhs_has(i)) continue;
    pack.batch.push_back(batch[i]);
    pack_strides.push_back(strides[i]);
  }
  pack_strides.insert(pack_strides.end(), strides.begin() + static_cast<std::ptrdiff_t>(nb),
                      strides.end());
  pack.k = k;
  pack.n = n;
  pack.source = {0, c.dtype, MapOf(pack_strides), {}};
  const ProductLayout product =
      MachineOf(target).value()->LayoutOf({c.dtype, c.numerics, m_total, n, k_total});
  pack.layout = product.rhs;
  contraction.parts = product.parts;
  flushes =
      target.Has("amx_bf16") || (product.rhs.dtype == DType::kBF16 && target.Has("avx512_bf16"));
  in_parts = product.parts > 1;
  if (c.dtype == DType::kF32) {
    if (product.parts == 2) lost = 0x1p-13;
    if (product.rhs.dtype == DType::kBF16) lost = 0x1p-7 * (1 + 0x1p-9);
  }
  pack.has_scale = c.has_scale;
  std::vector<SymDim> scale_strides(pack_strides.size(), 0);
  scale_strides.back() = 1;
  pack.scale = {2, DType::kF32, MapOf(scale_strides), {}};
  scale = std::make_unique<TestArray>(DType::kF32, c.n);
  packed = std::make_unique<TestArray>(pack.layout.dtype, value(PackedElements(pack)));
  packed->Fill(IsFloat(pack.layout.dtype) ? std::nan("") : 77);

  // The contraction.
  for (std::size_t i = 0; i < nb; ++i) {
    contraction.batch.push_back({batch[i], lhs_strides[i], rhs_has(i)});
    lhs_batch_strides.push_back(value(lhs_strides[i]));
  }
  for (std::size_t i = 0; i < m.size(); ++i) {
    contraction.m.push_back({m[i], lhs_strides[nb + i]});
    m_strides.push_back(value(lhs_strides[nb + i]));
  }
  for (std::size_t i = 0; i < k.size(); ++i) {
    contraction.k.push_back({k[i], lhs_strides[nb + m.size() + i]});
    k_strides.push_back(value(lhs_strides[nb + m.size() + i]));
  }
  contraction.halos = c.halos;
  contraction.n = n;
  contraction.lhs_dtype = c.dtype;
  contraction.lhs_offset = kLhsOffset;
  contraction.rhs = pack.layout;
  contraction.accumulator = accumulator;

  std::vector<SymDim> out_dims = batch;
  out_dims.insert(out_dims.end(), m.begin(), m.end());
  out_dims.push_back(n);
  const IndexMap out_map = MapOf(RowMajor(out_dims));
  SymDim out_elements = 1;
  for (const SymDim& dim : out_dims) out_elements = out_elements * dim;
  out = std::make_unique<TestArray>(c.output, value(out_elements));
  residual = std::make_unique<TestArray>(c.output, value(out_elements));
  bias = std::make_unique<TestArray>(c.output, c.n);
  contraction.operands = {{c.dtype, false, false},
                          {pack.layout.dtype, false, false},
                          {c.output, true, false},
                          {c.output, false, false}};
  std::vector<BodyInstr>& body = contraction.epilogue.instrs;
  const DType compute = accumulator;
  body.push_back(Input(compute));
  if (c.epilogue != Epilogue::kNone) {
    IndexMap bias_map;
    bias_map.terms.push_back({static_cast<int>(out_dims.size()) - 1, 1, 1, 0});
    body.push_back(LoadOf(3, c.output, bias_map));
    body.push_back(Pointwise(OpKind::kAdd, compute, {0, 1}));
  }
  if (c.epilogue == Epilogue::kBiasResidual) {
    body.push_back(LoadOf(2, c.output, out_map));
    body.push_back(Pointwise(OpKind::kAdd, compute, {2, 3}));
    body.push_back(Constant(compute, 0));
    body.push_back(Pointwise(OpKind::kMaximum, compute, {4, 5}));
  }
  if (c.epilogue == Epilogue::kBiasGelu) {
    body.push_back(Constant(compute, std::sqrt(0.5)));              // 3
    body.push_back(Pointwise(OpKind::kMultiply, compute, {2, 3}));  // 4
    body.push_back(Pointwise(OpKind::kErf, compute, {4}));          // 5
    body.push_back(Constant(compute, 1));                           // 6
    body.push_back(Pointwise(OpKind::kAdd, compute, {5, 6}));       // 7
    body.push_back(Pointwise(OpKind::kMultiply, compute, {2, 7}));  // 8
    body.push_back(Constant(compute, 0.5));                         // 9
    body.push_back(Pointwise(OpKind::kMultiply, compute, {8, 9}));  // 10
  }
  contraction.stores.push_back(
      {static_cast<std::uint32_t>(body.size()) - 1, {2, c.output, out_map, {}}});
}

void Instance::FillHalos(double value) {
  for (std::int64_t m = 0; !c.halos.empty() && m < Product(c.m); ++m) {
    for (std::int64_t k = 0; k < Product(c.k); ++k) {
      const bool is_outside = std::ranges::any_of(c.halos, [&](const Halo& halo) {
        const std::int64_t at = IndexOf(m, c.m, halo.m) * halo.stride +
                                IndexOf(k, c.k, halo.k) * halo.dilation - halo.low;
        return at < 0 || at >= halo.size;
      });
      if (!is_outside) continue;
      lhs->Set(kLhsOffset + OffsetOf(m, c.m, m_strides) + OffsetOf(k, c.k, k_strides), value);
    }
  }
}

void Instance::Randomize(std::mt19937_64& random, const Terms* terms) {
  for (TestArray* array : {lhs.get(), rhs.get(), scale.get(), bias.get(), out.get()}) {
    array->Randomize(random);
  }
  // What lies before the first element of A must not be used.
  for (std::int64_t i = 0; i < kLhsOffset; ++i) {
    if (IsFloat(c.dtype)) lhs->Set(i, std::nan(""));
  }
  if (terms != nullptr) {
    const std::int64_t channels = c.k.back();
    for (std::int64_t i = 0; i < lhs->elements() - kLhsOffset; ++i) {
      lhs->Set(kLhsOffset + i, terms->lhs(i / channels, i % channels));
    }
    for (std::int64_t k = 0; k < Product(c.k); ++k) {
      for (std::int64_t n = 0; n < c.n; ++n) {
        rhs->Set(OffsetOf(k, c.k, rhs_strides, c.batch.size()) + n * rhs_strides.back(),
                 terms->rhs(k % channels, n));
      }
    }
  }
  FillHalos(c.outside);
  if (c.special && c.special_in_lhs) lhs->Set(kLhsOffset + Product(c.k) + 1, *c.special);
  if (c.special && !c.special_in_lhs) rhs->Set(c.n + 1, *c.special);
  for (std::int64_t i = 0; i < out->elements(); ++i) residual->Set(i, out->Get(i));
}

// Compiles `func` at the first call, and calls it if it can run: whether it did.
bool Call(std::unique_ptr<LoadedKernel>& kernel, const KernelFunc& func, const Target& target,
          Execution execution, const std::vector<void*>& buffers, const SymBindings& symbols,
          std::int64_t tasks_per_call) {
  if (kernel == nullptr) {
    auto made = LoadedKernel::Make(func, target, execution);
    EXPECT_TRUE(made.ok()) << made.error().message;
    if (!made.ok()) return false;
    kernel = std::move(made).value();
  }
  if (kernel->Runs()) kernel->Run(buffers, symbols, tasks_per_call);
  return kernel->Runs();
}

bool Instance::Execute(const Target& target, Execution execution) {
  const bool is_packed =
      Call(pack_kernel, pack, target, execution, {rhs->data(), packed->data(), scale->data()},
           sizes.bindings(), c.tasks_per_call);
  // Both are compiled, whatever can run.
  return Call(kernel, contraction, target, execution,
              {lhs->data(), packed->data(), out->data(), bias->data()}, sizes.bindings(),
              c.tasks_per_call) &&
         is_packed;
}

// Unit roundoff of a dtype.
double Epsilon(DType dtype) {
  if (dtype == DType::kBF16) return 1.0 / 256;
  if (dtype == DType::kF16) return 1.0 / 2048;
  if (dtype == DType::kF32) return std::ldexp(1.0, -24);
  return IsFloat(dtype) ? std::ldexp(1.0, -53) : 0;
}

void Instance::Compare() {
  FillHalos(0);
  const std::int64_t b_total = Product(c.batch);
  const std::int64_t m_total = Product(c.m);
  const std::int64_t k_total = Product(c.k);
  int failures = 0;
  const auto num_terms = static_cast<std::size_t>(k_total);
  std::vector<double> row(num_terms);
  std::vector<double> columns(num_terms * static_cast<std::size_t>(c.n));
  for (std::int64_t b = 0; b < b_total; ++b) {
    const std::int64_t lhs_b = kLhsOffset + OffsetOf(b, c.batch, lhs_batch_strides);
    const std::int64_t rhs_b = OffsetOf(b, c.batch, rhs_strides);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i / num_terms);
      const auto k = static_cast<std::int64_t>(i % num_terms);
      columns[i] =
          rhs->Get(rhs_b + OffsetOf(k, c.k, rhs_strides, c.batch.size()) + n * rhs_strides.back()) *
          (c.has_scale ? scale->Get(n) : 1);
    }
    for (std::int64_t m = 0; m < m_total; ++m) {
      const std::int64_t lhs_m = lhs_b + OffsetOf(m, c.m, m_strides);
      for (std::size_t k = 0; k < num_terms; ++k) {
        row[k] = lhs->Get(lhs_m + OffsetOf(static_cast<std::int64_t>(k), c.k, k_strides));
      }
      for (std::int64_t n = 0; n < c.n; ++n) {
        long double sum = 0;  // Of which f64 is the one to be checked.
        ProductBound bound{static_cast<double>(k_total), 0, 0, lost};
        const double* column = columns.data() + static_cast<std::size_t>(n) * num_terms;
        for (std::size_t k = 0; k < num_terms; ++k) {
          const double x = row[k];
          const double y = column[k];
          // The packed product is rounded to the packed dtype; a relative error per term.
          sum += static_cast<long double>(x) * y;
          bound.magnitude += std::abs(x * y);
          bound.factors += std::abs(x) + std::abs(y);
        }
        auto want = static_cast<double>(sum);
        const std::int64_t at = (b * m_total + m) * c.n + n;
        if (c.epilogue != Epilogue::kNone) want += bias->Get(n);
        if (c.epilogue == Epilogue::kBiasResidual) {
          want = std::max(want + residual->Get(at), 0.0);
        }
        if (c.epilogue == Epilogue::kBiasGelu)
          want = want * 0.5 * std::erfc(-want * std::sqrt(0.5));
        if (c.output == DType::kF32 && std::abs(want) > std::numeric_limits<float>::max()) {
          want = std::copysign(INFINITY, want);
        }
        const double got = out->Get(at);
        const double scaled = c.has_scale ? Epsilon(c.dtype) : 0;
        const double of_product =
            bound.Of(accumulator, flushes, in_parts) + scaled * bound.magnitude;
        // The product is rounded once more where it is not stored as it was summed up.
        const double tolerance =
            of_product +
            (c.epilogue != Epilogue::kNone ? (std::abs(want) + 1e-3) * 2 * Epsilon(c.output)
             : c.output != accumulator     ? (std::abs(want) + of_product) * Epsilon(c.output)
                                           : 0);
        const bool same = std::isfinite(want) ? std::abs(got - want) <= tolerance
                          : std::isnan(want)  ? std::isnan(got)
                                              : got == want;
        if (!same && ++failures <= 5) {
          ADD_FAILURE() << c.Name() << " at batch " << b << " row " << m << " column " << n
                        << ": got " << got << ", want " << want << " +- " << tolerance;
        }
      }
    }
  }
  EXPECT_EQ(failures, 0) << c.Name();
}

}  // namespace

std::string ContractionCase::Name() const {
  const auto list = [](const std::vector<std::int64_t>& values) {
    std::string text;
    for (const std::int64_t value : values)
      text += (text.empty() ? "" : ",") + std::to_string(value);
    return "[" + text + "]";
  };
  return std::string(stoker::Name(dtype)) + "->" + std::string(stoker::Name(output)) + " batch " +
         list(batch) + " m " + list(m) + list(m_strides) + " k " + list(k) + list(k_strides) +
         " n " + std::to_string(n) + (rhs_is_nk ? " nk" : "") +
         (rhs_is_convolution ? " conv" : "") + (halos.empty() ? "" : " halo") +
         (has_scale ? " scale" : "") + " epilogue " + std::to_string(static_cast<int>(epilogue)) +
         (symbolic ? " symbolic" : "") + (symbolic_rows ? " symbolic rows" : "") + " per call " +
         std::to_string(tasks_per_call);
}

ContractionCase Matmul(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  ContractionCase c;
  c.dtype = dtype;
  c.output = IsFloat(dtype) ? dtype : AccumulatorOf(dtype);
  if (c.output == DType::kBF16 || c.output == DType::kF16) c.output = DType::kF32;
  c.m = {m};
  c.n = n;
  c.k = {k};
  return c;
}

ContractionCase Convolution(DType dtype, std::int64_t images, std::int64_t oh, std::int64_t ow,
                            std::int64_t channels, std::int64_t window, std::int64_t stride,
                            std::int64_t features) {
  ContractionCase c = Matmul(dtype, 1, features, 1);
  const std::int64_t h = (oh - 1) * stride + window;
  const std::int64_t w = (ow - 1) * stride + window;
  c.m = {images, oh, ow};
  c.m_strides = {h * w * channels, stride * w * channels, stride * channels};
  c.k = {window, window, channels};
  c.k_strides = {w * channels, channels, 1};
  c.rhs_is_convolution = true;
  return c;
}

ContractionCase PaddedConvolution(DType dtype, const PaddedImage& image, const PaddedWindow& window,
                                  std::int64_t features) {
  ContractionCase c = Matmul(dtype, 1, features, 1);
  const std::int64_t reach = (window.size - 1) * window.dilation + 1;
  const std::int64_t h = image.h + window.low + window.high;
  const std::int64_t w = image.w + window.low + window.high;
  c.m = {image.images, (h - reach) / window.stride + 1, (w - reach) / window.stride + 1};
  c.m_strides = {h * w * image.channels, window.stride * w * image.channels,
                 window.stride * image.channels};
  c.k = {window.size, window.size, image.channels};
  c.k_strides = {window.dilation * w * image.channels, window.dilation * image.channels, 1};
  c.halos = {{1, 0, window.stride, window.dilation, window.low, image.h},
             {2, 1, window.stride, window.dilation, window.low, image.w}};
  c.rhs_is_convolution = true;
  return c;
}

void Check(const ContractionCase& c, const Target& target) {
  SCOPED_TRACE(target.ToString() + ": " + c.Name());
  Instance instance(c, target);
  std::mt19937_64 random(7);
  instance.Randomize(random, nullptr);
  if (instance.Execute(target, ExecutionOf(target))) instance.Compare();
}

void Check(const ContractionCase& c, const Target& target, const std::vector<Terms>& terms) {
  Instance instance(c, target);
  std::mt19937_64 random(7);
  for (const Terms& each : terms) {
    SCOPED_TRACE(target.ToString() + ": " + c.Name() + " of " + each.name);
    instance.Randomize(random, &each);
    if (instance.Execute(target, ExecutionOf(target))) instance.Compare();
  }
}

void CheckSameResult(const ContractionCase& c, const Target& target, const Terms* terms) {
  SCOPED_TRACE(target.ToString() + ": " + c.Name());
  Instance native(c, target);
  Instance emulated(c, target);
  for (Instance* instance : {&native, &emulated}) {
    std::mt19937_64 random(7);
    instance->Randomize(random, terms);
  }
  ASSERT_TRUE(native.Execute(target, Execution::kNative));
  ASSERT_TRUE(emulated.Execute(target, Execution::kEmulated));
  for (std::int64_t i = 0; i < native.out->elements(); ++i) {
    const double want = native.out->Get(i);
    const double got = emulated.out->Get(i);
    ASSERT_TRUE(want == got || (std::isnan(want) && std::isnan(got)))
        << "element " << i << " is " << got << ", not " << want;
  }
}

void CheckSameForThreads(const ContractionCase& c, const Target& target) {
  SCOPED_TRACE(target.ToString() + ": " + c.Name());
  Instance instance(c, target);
  std::mt19937_64 random(7);
  instance.Randomize(random, nullptr);
  if (!instance.Execute(target, ExecutionOf(target))) return;
  const TestArray& out = *instance.out;
  const auto bytes = static_cast<std::size_t>(out.elements() * SizeInBytes(out.dtype()));
  const auto* first = static_cast<const std::byte*>(out.data());
  const std::vector<std::byte> want(first, first + bytes);
  const std::int64_t tasks =
      instance.kernel->launch().tasks.Evaluate(instance.sizes.bindings()).value();
  for (const std::int64_t threads : {1, 2, 3, 5, 7, 16}) {
    for (const std::int64_t chunks : {threads, 3 * threads}) {
      std::memcpy(out.data(), instance.residual->data(), bytes);
      instance.kernel->Run(
          {instance.lhs->data(), instance.packed->data(), out.data(), instance.bias->data()},
          instance.sizes.bindings(), std::max<std::int64_t>(1, tasks / chunks), threads);
      EXPECT_EQ(std::memcmp(out.data(), want.data(), bytes), 0)
          << threads << " threads, " << chunks << " chunks of " << tasks << " tasks";
    }
  }
}

}  // namespace stoker
