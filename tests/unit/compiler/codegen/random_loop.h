// Random loop functions for the tests of compiled code. All floats are small integers, so that
// results are exact and must be equal.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/loop_interpreter.h"

namespace stoker {

inline constexpr std::int64_t kMaxPoints = 6000;

class RandomLoop {
 public:
  explicit RandomLoop(unsigned seed) : random_(seed) { Make(); }

  LoopFunc func;
  SymBindings symbols;
  std::vector<std::string> buffers;

 private:
  struct Row {
    std::uint32_t id;
    DType dtype;
    std::vector<int> dims;
  };

  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool Chance(int percent) { return Between(1, 100) <= percent; }
  template <typename T>
  T Pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(Between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }

  void Make() {
    const std::int64_t num_dims = Between(1, 4);
    std::int64_t points = 1;
    for (std::int64_t i = 0; i < num_dims; ++i) {
      std::int64_t extent =
          Pick<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 48, 64, 70, 133});
      if (points * extent > kMaxPoints) extent = 1 + extent % 3;
      points *= extent;
      extents_.push_back(extent);
      if (Chance(25)) {
        const auto symbol = static_cast<std::uint32_t>(i);
        symbols[symbol] = extent;
        func.dims.push_back(SymDim::Symbol(symbol));
      } else {
        func.dims.push_back(extent);
      }
    }
    func.num_outer = static_cast<int>(Between(0, std::min<std::int64_t>(num_dims, 2)));
    const std::int64_t num_stages = Between(1, 3);
    for (std::int64_t i = 0; i < num_stages; ++i) MakeStage(i + 1 == num_stages);
  }

  std::vector<int> Shuffled(std::vector<int> dims) {
    std::shuffle(dims.begin(), dims.end(), random_);
    return dims;
  }

  void MakeStage(bool last) {
    Stage stage;
    usable_.clear();
    for (int dim = 0; dim < static_cast<int>(func.dims.size()); ++dim) {
      if (dim < func.num_outer) {
        usable_.push_back(dim);
      } else if (Chance(75)) {
        stage.loops.push_back(dim);
      }
    }
    stage.loops = Shuffled(stage.loops);
    usable_.insert(usable_.end(), stage.loops.begin(), stage.loops.end());
    BodyBuilder body(stage.body);
    std::vector<std::uint32_t> reals = {body.Constant(DType::kF32, 2)};
    std::vector<std::uint32_t> bools;
    for (const Row& row : rows_) {
      const bool fits = std::all_of(row.dims.begin(), row.dims.end(), [&](int dim) {
        return std::find(stage.loops.begin(), stage.loops.end(), dim) != stage.loops.end();
      });
      if (!fits || !Chance(80)) continue;
      std::uint32_t value = body.Input(row.id, row.dtype);
      if (row.dtype == DType::kI64) value = body.Convert(DType::kF32, value);
      if (row.dtype == DType::kBool) {
        bools.push_back(value);
      } else {
        reals.push_back(value);
      }
    }
    const std::int64_t num_loads = Between(1, 3);
    for (std::int64_t i = 0; i < num_loads; ++i) reals.push_back(MakeLoad(body));
    const std::int64_t num_ops = Between(1, 4);
    for (std::int64_t i = 0; i < num_ops; ++i) {
      const std::uint32_t x = Pick(reals);
      const std::uint32_t y = reals.back();
      if (Chance(25)) bools.push_back(body.Compare(CompareDirection::kLt, x, y));
      if (!bools.empty() && Chance(30)) {
        reals.push_back(body.Op(OpKind::kSelect, {Pick(bools), x, y}));
      } else {
        reals.push_back(body.Op(
            Pick<OpKind>({OpKind::kAdd, OpKind::kSubtract, OpKind::kMaximum, OpKind::kMinimum}),
            {x, y}));
      }
    }
    // What leaves the stage; values stay small enough to be exact.
    const std::uint32_t high = body.Constant(DType::kF32, 50);
    const std::uint32_t low = body.Constant(DType::kF32, -50);
    const std::uint32_t limited = body.Op(OpKind::kMaximum, {low, reals.back()});
    const std::uint32_t result = body.Op(OpKind::kMinimum, {limited, high});
    if (Chance(50) && !stage.loops.empty()) {
      stage.temporaries.push_back({next_id_, result, DType::kF32});
      new_rows_.push_back({next_id_++, DType::kF32, stage.loops});
    }
    if (!stage.loops.empty() && Chance(70)) MakeReductions(stage, body, result);
    if (last || Chance(40)) {
      stage.stores.push_back(
          MakeStore(result, Pick<DType>({DType::kF32, DType::kF32, DType::kBF16, DType::kF16})));
    }
    if (Chance(20))
      stage.stores.push_back(MakeStore(body.Convert(DType::kI64, result), DType::kI64));
    if (Chance(20)) {
      const std::uint32_t flag = body.Compare(CompareDirection::kGt, result, high - 1);
      stage.stores.push_back(MakeStore(flag, DType::kBool));
    }
    rows_.insert(rows_.end(), new_rows_.begin(), new_rows_.end());
    new_rows_.clear();
    func.stages.push_back(std::move(stage));
  }

  void MakeReductions(Stage& stage, BodyBuilder& body, std::uint32_t value) {
    const std::int64_t count = Between(1, 2);
    for (std::int64_t i = 0; i < count; ++i) {
      Reduction reduction;
      reduction.id = next_id_++;
      reduction.value = value;
      reduction.kind =
          Pick<Combine>({Combine::kAdd, Combine::kAdd, Combine::kMaximum, Combine::kMinimum,
                         Combine::kMaximum, Combine::kMinimum, Combine::kAnd});
      const bool is_extreme =
          reduction.kind == Combine::kMaximum || reduction.kind == Combine::kMinimum;
      reduction.is_arg = is_extreme && Chance(50);
      std::vector<int> kept;
      for (const int dim : stage.loops) {
        // Kept dims of unknown extent have no place in scratch.
        if (Chance(60) || !func.dims[static_cast<std::size_t>(dim)].IsConstant()) {
          reduction.over.push_back(dim);
        } else {
          kept.push_back(dim);
        }
      }
      if (reduction.over.empty()) continue;
      reduction.over = Shuffled(reduction.over);
      DType dtype = DType::kF32;
      if (reduction.kind == Combine::kAnd) {
        reduction.value = body.Compare(CompareDirection::kNe, value, 0);
        reduction.dtype = dtype = DType::kBool;
      }
      if (reduction.is_arg) dtype = DType::kI64;
      new_rows_.push_back({reduction.id, dtype, kept});
      stage.reductions.push_back(std::move(reduction));
    }
  }

  // Row-major over `dims` in that order.
  IndexMap Dense(const std::vector<int>& dims) {
    IndexMap index;
    SymDim stride = 1;
    for (std::size_t i = dims.size(); i-- > 0;) {
      index.terms.push_back({dims[i], stride, 1, 0});
      stride = stride * func.dims[static_cast<std::size_t>(dims[i])];
    }
    Sort(index);
    return index;
  }

  static void Sort(IndexMap& index) {
    std::sort(index.terms.begin(), index.terms.end(),
              [](const IndexTerm& x, const IndexTerm& y) { return x.dim < y.dim; });
  }

  std::uint32_t MakeLoad(BodyBuilder& body) {
    std::vector<int> dims;
    for (const int dim : Chance(60) ? usable_ : Shuffled(usable_)) {
      if (Chance(80)) dims.push_back(dim);
    }
    IndexMap index = Dense(dims);
    const std::int64_t factor = Chance(20) ? Between(2, 3) : 1;
    for (IndexTerm& term : index.terms) {
      term.coefficient = term.coefficient * SymDim(factor);
      if (Chance(15)) {  // Backwards.
        const SymDim extent = func.dims[static_cast<std::size_t>(term.dim)];
        index.offset = index.offset + term.coefficient * (extent - SymDim(1));
        term.coefficient = SymDim(0) - term.coefficient;
      } else if (Chance(15)) {  // As a reshape leaves it.
        term.divisor = Pick<std::int64_t>({1, 2, 3, 4, 16, 32});
        term.modulus = Pick<std::int64_t>({0, 2, 3, 8, 16, 64});
      }
    }
    const DType dtype =
        Pick<DType>({DType::kF32, DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64,
                     DType::kI8, DType::kBool, DType::kF64});
    std::vector<std::uint32_t> args;
    std::vector<SymDim> indirect;
    std::int64_t beyond = 0;  // Elements that indirect indices reach further.
    if (Chance(15)) {
      args.push_back(MakeIndirect(body));
      indirect.push_back(Between(1, 5));
      beyond = 7 * indirect[0].constant();
    }
    const auto operand = static_cast<std::uint32_t>(func.operands.size());
    func.operands.push_back({dtype, false, false});
    Access access = At(operand, dtype, index);
    access.indirect = indirect;
    std::function<bool(const std::vector<std::int64_t>&)> reads = [](const auto&) { return true; };
    bool predicated = false;
    if (!usable_.empty() && Chance(15)) {
      const int dim = Pick(usable_);
      const std::int64_t limit = Between(0, extents_[static_cast<std::size_t>(dim)]);
      const std::uint32_t bound = body.Constant(DType::kI64, static_cast<double>(limit));
      args.push_back(body.Compare(CompareDirection::kLt, body.Index(dim), bound));
      predicated = true;
      reads = [=](const auto& point) { return point[static_cast<std::size_t>(dim)] < limit; };
    }
    AddBuffer(dtype, index, beyond, reads);
    std::uint32_t value = body.Load(std::move(access), args);
    body.SetPredicated(value, predicated);
    if (dtype != DType::kF32 && dtype != DType::kBF16 && dtype != DType::kF16) {
      value = body.Convert(DType::kF32, value);
    }
    return value;
  }

  // Loads an i64 in [0, 7].
  std::uint32_t MakeIndirect(BodyBuilder& body) {
    std::vector<int> dims;
    for (const int dim : usable_) {
      if (Chance(50)) dims.push_back(dim);
    }
    const auto operand = static_cast<std::uint32_t>(func.operands.size());
    func.operands.push_back({DType::kI64, false, false});
    const IndexMap index = Dense(dims);
    std::string bytes(static_cast<std::size_t>(Elements(dims) * 8), '\0');
    for (std::int64_t i = 0; i < Elements(dims); ++i) {
      WriteElement(bytes, DType::kI64, i, {0, Between(0, 7)});
    }
    buffers.push_back(std::move(bytes));
    return body.Load(At(operand, DType::kI64, index));
  }

  std::int64_t Elements(const std::vector<int>& dims) {
    std::int64_t elements = 1;
    for (const int dim : dims) elements *= extents_[static_cast<std::size_t>(dim)];
    return elements;
  }

  // A buffer just large enough for the points that are read.
  void AddBuffer(DType dtype, const IndexMap& index, std::int64_t beyond,
                 const std::function<bool(const std::vector<std::int64_t>&)>& reads) {
    std::int64_t highest = -1;
    std::vector<std::int64_t> point(extents_.size(), 0);
    const std::function<void(std::size_t)> visit = [&](std::size_t depth) {
      if (depth == usable_.size()) {
        if (reads(point)) highest = std::max(highest, EvaluateIndex(index, point, symbols));
        return;
      }
      const auto dim = static_cast<std::size_t>(usable_[depth]);
      for (point[dim] = 0; point[dim] < extents_[dim]; ++point[dim]) visit(depth + 1);
      point[dim] = 0;
    };
    visit(0);
    const std::int64_t elements = highest < 0 ? 0 : highest + 1 + beyond;
    std::string bytes(static_cast<std::size_t>(elements * SizeInBytes(dtype)), '\0');
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::int64_t value = dtype == DType::kBool ? Between(0, 1) : Between(-4, 4);
      WriteElement(bytes, dtype, i, {static_cast<double>(value), value});
    }
    buffers.push_back(std::move(bytes));
  }

  Store MakeStore(std::uint32_t value, DType dtype) {
    const auto operand = static_cast<std::uint32_t>(func.operands.size());
    func.operands.push_back({dtype, true, false});
    buffers.emplace_back(static_cast<std::size_t>(Elements(usable_) * SizeInBytes(dtype)), '\0');
    return {value, At(operand, dtype, Dense(Chance(70) ? usable_ : Shuffled(usable_)))};
  }

  std::mt19937 random_;
  std::vector<std::int64_t> extents_;
  std::vector<int> usable_;  // Outer dims and the loops of the stage.
  std::vector<Row> rows_;
  std::vector<Row> new_rows_;
  std::uint32_t next_id_ = 0;
};

}  // namespace stoker
