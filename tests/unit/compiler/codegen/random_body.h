// Random loop functions for what a GPU has few of: registers. Bodies of many values that are all
// needed until the end, of every dtype, with every reduction, over points, rows and columns; what
// they compute is of no interest.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/body_verifier.h"
#include "protocol/graph/combine.h"
#include "tests/unit/compiler/codegen/body_builder.h"

namespace stoker {

class RandomBody {
 public:
  explicit RandomBody(unsigned seed) : random_(seed) { Make(); }

  LoopFunc func;

 private:
  enum class Form { kPoints, kRows, kColumns };

  int Between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(int percent) { return Between(1, 100) <= percent; }
  template <typename T>
  T Pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(Between(0, static_cast<int>(from.size()) - 1))];
  }

  DType AnyDType() {
    return Pick<DType>({DType::kF64, DType::kF32, DType::kF32, DType::kF16, DType::kBF16,
                        DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8,
                        DType::kBool});
  }

  void Make() {
    form_ = Pick<Form>({Form::kPoints, Form::kRows, Form::kRows, Form::kColumns, Form::kColumns});
    const auto size = [&](std::uint32_t symbol) {
      if (Chance(15)) return SymDim::Symbol(symbol) * (Chance(50) ? 16 : 1);
      return SymDim(Pick<std::int64_t>({64, 300, 768, 1001, 4096, 8192, 1 << 17}));
    };
    func.dims = {size(0), size(1)};
    func.num_outer = form_ == Form::kPoints ? 2 : (form_ == Form::kRows ? 1 : 0);
    dtypes_ = {AnyDType(), AnyDType()};
    const int stages = form_ == Form::kPoints ? 1 : Between(1, 5);
    for (int i = 0; i < stages; ++i) MakeStage(i + 1 == stages);
  }

  Access Everywhere(DType dtype, bool written) {
    const auto operand = static_cast<std::uint32_t>(func.operands.size());
    func.operands.push_back({dtype, written, false});
    const bool is_vector = !written && Chance(15);
    return At(operand, dtype, is_vector ? Affine({{1, 1}}) : Affine({{0, func.dims[1]}, {1, 1}}));
  }

  void MakeStage(bool last) {
    Stage stage;
    if (form_ == Form::kRows) stage.loops = {1};
    if (form_ == Form::kColumns) stage.loops = {0, 1};
    BodyBuilder body(stage.body);
    std::vector<std::uint32_t> pool;
    for (const auto& [id, dtype] : given_) pool.push_back(body.Input(id, dtype));
    const int loads = func.operands.empty() ? Between(1, 12) : Between(0, 3);
    for (int i = 0; i < loads; ++i) pool.push_back(body.Load(Everywhere(Pick(dtypes_), false)));
    const std::size_t wanted = static_cast<std::size_t>(Pick<int>({1, 2, 4, 8, 8, 16, 40, 64}));
    while (pool.size() < wanted) pool.push_back(Mix(stage.body, body, pool));
    for (int i = Between(0, 2 * static_cast<int>(pool.size())); i > 0; --i) {
      const std::uint32_t mixed = Mix(stage.body, body, pool);
      pool[static_cast<std::size_t>(Between(0, static_cast<int>(pool.size()) - 1))] = mixed;
    }
    if (form_ != Form::kPoints) {
      for (int i = Between(last ? 0 : 1, 3); i > 0; --i) MakeReduction(stage, body, pool);
      if (!last && Chance(30)) {
        const std::uint32_t kept = Pick(pool);
        stage.temporaries.push_back({next_id_, kept, stage.body.instrs[kept].dtype});
        given_.emplace_back(next_id_++, stage.body.instrs[kept].dtype);
      }
    }
    // One value that needs all of the pool.
    std::uint32_t all = pool[0];
    for (const std::uint32_t value : pool) {
      const DType dtype = stage.body.instrs[all].dtype;
      const std::uint32_t other = body.Convert(dtype, value);
      all = dtype == DType::kBool ? body.Op(OpKind::kXor, {other, all})
                                  : body.Op(OpKind::kAdd, {other, all});
    }
    if (last || Chance(20)) {
      const DType dtype = Pick(dtypes_);
      const std::uint32_t stored = body.Convert(ComputeType(dtype), all);
      stage.stores.push_back({stored, Everywhere(dtype, true)});
    } else {
      MakeReductionOf(stage, body, all);
    }
    func.stages.push_back(std::move(stage));
  }

  // An operation on values of the pool.
  std::uint32_t Mix(Body& instrs, BodyBuilder& body, const std::vector<std::uint32_t>& pool) {
    const std::uint32_t x = Pick(pool);
    const DType dtype = instrs.instrs[x].dtype;
    if (Chance(8)) return body.Convert(ComputeType(AnyDType()), x);
    const std::uint32_t y = body.Convert(dtype, Pick(pool));
    if (dtype == DType::kBool) {
      return body.Op(Pick<OpKind>({OpKind::kAnd, OpKind::kOr, OpKind::kXor}), {x, y});
    }
    if (IsFloat(dtype) && Chance(15)) {
      return body.Op(Pick<OpKind>({OpKind::kExponential, OpKind::kTanh, OpKind::kErf,
                                   OpKind::kRsqrt, OpKind::kSine}),
                     {x});
    }
    if (Chance(10)) return body.Op(OpKind::kDivide, {x, y});
    return body.Op(Pick<OpKind>({OpKind::kAdd, OpKind::kSubtract, OpKind::kMultiply,
                                 OpKind::kMaximum, OpKind::kMinimum}),
                   {x, y});
  }

  void MakeReduction(Stage& stage, BodyBuilder& body, const std::vector<std::uint32_t>& pool) {
    MakeReductionOf(stage, body, Pick(pool));
  }

  void MakeReductionOf(Stage& stage, BodyBuilder& body, std::uint32_t value) {
    DType dtype = stage.body.instrs[value].dtype;
    if (Chance(15)) {  // As sums of bytes and bools are.
      value = body.Convert(DType::kI64, value);
      dtype = DType::kI64;
    }
    std::vector<Combine> kinds;
    for (const OpKind op : {OpKind::kReduce, OpKind::kArgReduce}) {
      for (const Combine kind : CombinesOf(op)) {
        if (Contains(DTypesOf(kind), dtype)) kinds.push_back(kind);
      }
    }
    Reduction reduction;
    reduction.id = next_id_++;
    reduction.value = value;
    reduction.kind = Pick(kinds);
    reduction.dtype = dtype;
    reduction.over = {form_ == Form::kRows ? 1 : 0};
    reduction.is_arg = Has(OpKind::kArgReduce, reduction.kind) && Chance(40);
    given_.emplace_back(reduction.id, reduction.is_arg ? DType::kI64 : dtype);
    stage.reductions.push_back(std::move(reduction));
  }

  std::mt19937 random_;
  Form form_ = Form::kPoints;
  std::vector<DType> dtypes_;                           // In memory.
  std::vector<std::pair<std::uint32_t, DType>> given_;  // To later stages.
  std::uint32_t next_id_ = 0;
};

}  // namespace stoker
