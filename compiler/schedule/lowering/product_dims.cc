#include "compiler/schedule/lowering/product_dims.h"

#include <utility>

namespace stoker {
namespace {

using Dims = std::vector<ProductDim>;
using Stride = SymDim ProductDim::*;

constexpr std::pair<ProductOperand, Stride> kOperands[] = {{ProductOperand::kA, &ProductDim::a},
                                                           {ProductOperand::kB, &ProductDim::b},
                                                           {ProductOperand::kC, &ProductDim::c},
                                                           {ProductOperand::kD, &ProductDim::d}};

bool StepsAsOne(const ProductDim& outer, const ProductDim& inner, Stride stride) {
  return outer.*stride == inner.*stride * inner.extent;
}

// Neighbours through which every operand steps as through one.
Dims Merged(Dims dims) {
  for (std::size_t i = dims.size(); i-- > 1;) {
    bool all = true;
    for (const auto& [operand, stride] : kOperands) {
      all = all && StepsAsOne(dims[i - 1], dims[i], stride);
    }
    if (!all) continue;
    dims[i].extent = dims[i - 1].extent * dims[i].extent;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
  return dims;
}

// The first of `among` that keeps these dims from being one.
ProductOperand Blamed(const Dims& dims, std::initializer_list<ProductOperand> among) {
  for (const ProductOperand asked : among) {
    for (const auto& [operand, stride] : kOperands) {
      for (std::size_t i = 1; operand == asked && i < dims.size(); ++i) {
        if (!StepsAsOne(dims[i - 1], dims[i], stride)) return operand;
      }
    }
  }
  return ProductOperand::kD;
}

// Whether lines of `length` elements may lie so far apart. Of what is not known nothing lies over
// itself but what is seen here: a broadcast has a stride of 0, and a reversed dim a negative one.
bool IsLeading(const SymDim& stride, const SymDim& length) {
  if (!stride.IsConstant()) return stride.IsProvablyNonNegative();
  return stride.constant() > 0 && (!length.IsConstant() || stride.constant() >= length.constant());
}

class Flattener {
 public:
  Flattener(ProductDims dims, ProductOperand* blamed) : dims_(std::move(dims)), blamed_(*blamed) {}

  std::optional<FlatProduct> Run() {
    for (Dims* dims : {&dims_.batch, &dims_.m, &dims_.n, &dims_.k}) {
      std::erase_if(*dims, [](const ProductDim& dim) { return dim.extent == SymDim(1); });
      *dims = Merged(std::move(*dims));
    }
    ShareRows();
    if (!SplitRows() || !IsOne(dims_.batch, {ProductOperand::kA, ProductOperand::kB,
                                             ProductOperand::kC, ProductOperand::kD})) {
      return std::nullopt;
    }
    if (!IsOne(dims_.n, {ProductOperand::kB, ProductOperand::kC, ProductOperand::kD}) ||
        !IsOne(dims_.k, {ProductOperand::kA, ProductOperand::kB})) {
      return std::nullopt;
    }
    return Matrices();
  }

 private:
  bool IsOne(const Dims& dims, std::initializer_list<ProductOperand> among) {
    if (dims.size() <= 1) return true;
    blamed_ = Blamed(dims, among);
    return false;
  }

  // A batch that shares B is more rows.
  void ShareRows() {
    while (!dims_.batch.empty() && dims_.batch.back().b == SymDim(0)) {
      Dims more = dims_.m;
      more.insert(more.begin(), dims_.batch.back());
      more = Merged(std::move(more));
      if (more.size() > 1) return;
      dims_.m = std::move(more);
      dims_.batch.pop_back();
    }
  }

  // Outer rows become a batch that shares B.
  bool SplitRows() {
    if (dims_.m.size() <= 1) return true;
    if (!dims_.batch.empty()) {
      blamed_ = Blamed(dims_.m, {ProductOperand::kA, ProductOperand::kC, ProductOperand::kD});
      return false;
    }
    dims_.batch.assign(dims_.m.begin(), dims_.m.end() - 1);
    dims_.m.erase(dims_.m.begin(), dims_.m.end() - 1);
    dims_.batch = Merged(std::move(dims_.batch));
    return true;
  }

  // `rows` and `columns` of the matrix: neighbours along one of them, lines along the other.
  std::optional<FlatMatrix> MatrixOf(ProductOperand operand, Stride stride, const Dims& rows,
                                     const Dims& columns, bool may_be_by_columns) {
    blamed_ = operand;
    const auto size = [](const Dims& dims) { return dims.empty() ? SymDim(1) : dims[0].extent; };
    // Along a dim of one element it may step as it likes.
    const auto steps = [&](const Dims& dims, const SymDim& any) {
      return dims.empty() ? any : dims[0].*stride;
    };
    FlatMatrix matrix;
    matrix.batch_stride = steps(dims_.batch, 0);
    if (!matrix.batch_stride.IsProvablyNonNegative()) return std::nullopt;
    const bool reads_all = operand == ProductOperand::kA || operand == ProductOperand::kB;
    if (!reads_all && matrix.batch_stride == SymDim(0) && !dims_.batch.empty()) return std::nullopt;
    for (const bool by_columns : {false, true}) {
      if (by_columns && !may_be_by_columns) break;
      const Dims& lines = by_columns ? columns : rows;
      const Dims& neighbours = by_columns ? rows : columns;
      if (!(steps(neighbours, 1) == SymDim(1))) continue;
      const SymDim length = size(neighbours);
      matrix.leading = steps(lines, length);
      matrix.by_columns = by_columns;
      if (lines.empty() || IsLeading(matrix.leading, length)) return matrix;
    }
    return std::nullopt;
  }

  std::optional<FlatProduct> Matrices() {
    FlatProduct flat;
    const auto size = [](const Dims& dims) { return dims.empty() ? SymDim(1) : dims[0].extent; };
    flat.batch = size(dims_.batch);
    flat.m = size(dims_.m);
    flat.n = size(dims_.n);
    flat.k = size(dims_.k);
    const auto a = MatrixOf(ProductOperand::kA, &ProductDim::a, dims_.m, dims_.k, true);
    if (!a) return std::nullopt;
    const auto b = MatrixOf(ProductOperand::kB, &ProductDim::b, dims_.k, dims_.n, true);
    if (!b) return std::nullopt;
    const auto c = MatrixOf(ProductOperand::kC, &ProductDim::c, dims_.m, dims_.n, false);
    if (!c) return std::nullopt;
    const auto d = MatrixOf(ProductOperand::kD, &ProductDim::d, dims_.m, dims_.n, false);
    if (!d) return std::nullopt;
    flat.a = *a;
    flat.b = *b;
    flat.c = *c;
    flat.d = *d;
    return flat;
  }

  ProductDims dims_;
  ProductOperand& blamed_;
};

}  // namespace

std::optional<FlatProduct> FlattenProduct(ProductDims dims, ProductOperand* blamed) {
  return Flattener(std::move(dims), blamed).Run();
}

}  // namespace stoker
