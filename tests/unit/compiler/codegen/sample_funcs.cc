#include "tests/unit/compiler/codegen/sample_funcs.h"

#include "tests/unit/compiler/codegen/body_builder.h"

namespace stoker {
namespace {

// [rows, columns], the rows being outer; x and the result.
LoopFunc RowFunc(SymDim rows, SymDim columns, DType dtype) {
  LoopFunc func;
  func.dims = {std::move(rows), std::move(columns)};
  func.num_outer = 1;
  func.operands = {{dtype, false, false}, {dtype, true, false}};
  return func;
}

Access Row(const LoopFunc& func, std::uint32_t operand) {
  return At(operand, func.operands[operand].dtype, Affine({{0, func.dims[1]}, {1, 1}}));
}

Stage ColumnStage() {
  Stage stage;
  stage.loops = {1};
  return stage;
}

// A stage that stores f(x).
template <typename F>
LoopFunc Unary(SymDim rows, SymDim columns, DType dtype, F f) {
  LoopFunc func = RowFunc(std::move(rows), std::move(columns), dtype);
  Stage stage = ColumnStage();
  BodyBuilder b(stage.body);
  const std::uint32_t result = f(b, b.Load(Row(func, 0)));
  stage.stores = {{result, Row(func, 1)}};
  func.stages = {stage};
  return func;
}

}  // namespace

LoopFunc CopyFunc(SymDim rows, SymDim columns, DType dtype) {
  return Unary(std::move(rows), std::move(columns), dtype,
               [](BodyBuilder&, std::uint32_t x) { return x; });
}

LoopFunc GeluErfFunc(SymDim rows, SymDim columns, DType dtype) {
  return Unary(std::move(rows), std::move(columns), dtype, [](BodyBuilder& b, std::uint32_t x) {
    const std::uint32_t scaled = b.Op(OpKind::kMultiply, {x, b.Constant(DType::kF32, 0.70710678)});
    const std::uint32_t erf = b.Op(OpKind::kErf, {scaled});
    const std::uint32_t sum = b.Op(OpKind::kAdd, {erf, b.Constant(DType::kF32, 1)});
    const std::uint32_t half = b.Op(OpKind::kMultiply, {x, b.Constant(DType::kF32, 0.5)});
    return b.Op(OpKind::kMultiply, {half, sum});
  });
}

LoopFunc GeluTanhFunc(SymDim rows, SymDim columns, DType dtype) {
  return Unary(std::move(rows), std::move(columns), dtype, [](BodyBuilder& b, std::uint32_t x) {
    const std::uint32_t square = b.Op(OpKind::kMultiply, {x, x});
    const std::uint32_t cube = b.Op(OpKind::kMultiply, {square, x});
    const std::uint32_t small = b.Op(OpKind::kMultiply, {cube, b.Constant(DType::kF32, 0.044715)});
    const std::uint32_t inner = b.Op(OpKind::kAdd, {x, small});
    const std::uint32_t scaled =
        b.Op(OpKind::kMultiply, {inner, b.Constant(DType::kF32, 0.7978845608)});
    const std::uint32_t tanh = b.Op(OpKind::kTanh, {scaled});
    const std::uint32_t sum = b.Op(OpKind::kAdd, {tanh, b.Constant(DType::kF32, 1)});
    const std::uint32_t half = b.Op(OpKind::kMultiply, {x, b.Constant(DType::kF32, 0.5)});
    return b.Op(OpKind::kMultiply, {half, sum});
  });
}

LoopFunc SoftmaxFunc(SymDim rows, SymDim columns, DType dtype) {
  LoopFunc func = RowFunc(std::move(rows), std::move(columns), dtype);
  Stage max = ColumnStage();
  BodyBuilder m(max.body);
  max.reductions = {{0, m.Load(Row(func, 0)), Combine::kMaximum, DType::kF32, {1}}};
  Stage sum = ColumnStage();
  BodyBuilder s(sum.body);
  const std::uint32_t x = s.Load(Row(func, 0));
  const std::uint32_t shifted = s.Op(OpKind::kSubtract, {x, s.Input(0, DType::kF32)});
  const std::uint32_t e = s.Op(OpKind::kExponential, {shifted});
  sum.temporaries = {{1, e, DType::kF32}};
  sum.reductions = {{2, e, Combine::kAdd, DType::kF32, {1}}};
  Stage divide = ColumnStage();
  BodyBuilder d(divide.body);
  const std::uint32_t t = d.Input(1, DType::kF32);
  const std::uint32_t q = d.Op(OpKind::kDivide, {t, d.Input(2, DType::kF32)});
  divide.stores = {{q, Row(func, 1)}};
  func.stages = {max, sum, divide};
  return func;
}

LoopFunc LayerNormFunc(SymDim rows, std::int64_t columns, DType dtype) {
  LoopFunc func = RowFunc(std::move(rows), columns, dtype);
  func.operands.push_back({DType::kF32, false, false});
  func.operands.push_back({DType::kF32, false, false});
  const auto count = static_cast<double>(columns);
  Stage sum = ColumnStage();
  BodyBuilder s(sum.body);
  sum.reductions = {{0, s.Load(Row(func, 0)), Combine::kAdd, DType::kF32, {1}}};
  const auto centered = [&](BodyBuilder& b) {
    const std::uint32_t x = b.Load(Row(func, 0));
    const std::uint32_t total = b.Input(0, DType::kF32);
    const std::uint32_t mean = b.Op(OpKind::kDivide, {total, b.Constant(DType::kF32, count)});
    return b.Op(OpKind::kSubtract, {x, mean});
  };
  Stage squares = ColumnStage();
  BodyBuilder v(squares.body);
  const std::uint32_t difference = centered(v);
  const std::uint32_t square = v.Op(OpKind::kMultiply, {difference, difference});
  squares.reductions = {{1, square, Combine::kAdd, DType::kF32, {1}}};
  Stage normalize = ColumnStage();
  BodyBuilder n(normalize.body);
  const std::uint32_t c = centered(n);
  const std::uint32_t variance =
      n.Op(OpKind::kDivide, {n.Input(1, DType::kF32), n.Constant(DType::kF32, count)});
  const std::uint32_t shifted = n.Op(OpKind::kAdd, {variance, n.Constant(DType::kF32, 1e-5)});
  const std::uint32_t unit = n.Op(OpKind::kMultiply, {c, n.Op(OpKind::kRsqrt, {shifted})});
  const std::uint32_t gamma = n.Load(At(2, DType::kF32, Affine({{1, 1}})));
  const std::uint32_t beta = n.Load(At(3, DType::kF32, Affine({{1, 1}})));
  const std::uint32_t scaled = n.Op(OpKind::kMultiply, {unit, gamma});
  normalize.stores = {{n.Op(OpKind::kAdd, {scaled, beta}), Row(func, 1)}};
  func.stages = {sum, squares, normalize};
  return func;
}

LoopFunc ColumnSumFunc(std::int64_t reduced, std::int64_t columns, DType dtype) {
  LoopFunc func;
  func.dims = {reduced, columns};
  func.operands = {{dtype, false, false}, {dtype, true, false}};
  Stage sum;
  sum.loops = {0, 1};
  BodyBuilder s(sum.body);
  const DType compute = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  sum.reductions = {{0, s.Load(Row(func, 0)), Combine::kAdd, compute, {0}}};
  Stage store;
  store.loops = {1};
  BodyBuilder t(store.body);
  store.stores = {{t.Input(0, compute), At(1, dtype, Affine({{1, 1}}))}};
  func.stages = {sum, store};
  return func;
}

}  // namespace stoker
