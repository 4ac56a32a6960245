#include "tests/unit/compiler/codegen/loop_interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "protocol/base/float16.h"

namespace stoker {
namespace {

template <typename T>
T Get(const std::string& bytes, std::int64_t element) {
  STOKER_CHECK(element >= 0);
  const std::size_t at = static_cast<std::size_t>(element) * sizeof(T);
  STOKER_CHECK(at + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T>
void Put(std::string& bytes, std::int64_t element, T value) {
  STOKER_CHECK(element >= 0);
  const std::size_t at = static_cast<std::size_t>(element) * sizeof(T);
  STOKER_CHECK(at + sizeof(T) <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

bool CompareScalars(CompareDirection direction, double x, double y) {
  switch (direction) {
    case CompareDirection::kEq:
      return x == y;
    case CompareDirection::kNe:
      return x != y;
    case CompareDirection::kLt:
      return x < y;
    case CompareDirection::kLe:
      return x <= y;
    case CompareDirection::kGt:
      return x > y;
    case CompareDirection::kGe:
      return x >= y;
  }
  return false;
}

// A reduction or temporary of the current outer point: its value at each kept point.
using Row = std::map<std::vector<std::int64_t>, ScalarValue>;

class Interpreter {
 public:
  Interpreter(const LoopFunc& func, const SymBindings& symbols, std::vector<std::string>& buffers)
      : func_(func), symbols_(symbols), buffers_(buffers), point_(func.dims.size(), 0) {
    for (const SymDim& dim : func.dims) extents_.push_back(dim.Evaluate(symbols).value());
  }

  void Run() {
    std::vector<int> outer;
    for (int dim = 0; dim < func_.num_outer; ++dim) outer.push_back(dim);
    ForEach(outer, [&] {
      rows_.clear();
      for (const Stage& stage : func_.stages) RunStage(stage);
    });
  }

 private:
  void ForEach(const std::vector<int>& dims, const std::function<void()>& body,
               std::size_t depth = 0) {
    if (depth == dims.size()) {
      body();
      return;
    }
    const auto dim = static_cast<std::size_t>(dims[depth]);
    for (point_[dim] = 0; point_[dim] < extents_[dim]; ++point_[dim])
      ForEach(dims, body, depth + 1);
    point_[dim] = 0;
  }

  std::vector<std::int64_t> PointOf(const std::vector<int>& dims) const {
    std::vector<std::int64_t> point;
    for (const int dim : dims) point.push_back(point_[static_cast<std::size_t>(dim)]);
    return point;
  }

  void RunStage(const Stage& stage) {
    struct Best {
      bool any = false;
      ScalarValue value;
      std::int64_t position = 0;
    };
    std::vector<std::map<std::vector<std::int64_t>, Best>> accumulators(stage.reductions.size());
    ForEach(stage.loops, [&] {
      const std::vector<ScalarValue> values = Evaluate(stage.body);
      for (const Temporary& temporary : stage.temporaries) {
        row_dims_[temporary.id] = stage.loops;
        rows_[temporary.id][PointOf(stage.loops)] = values[temporary.value];
      }
      for (const Store& store : stage.stores) {
        WriteElement(buffers_[store.access.operand], store.access.dtype,
                     EvaluateIndex(store.access.index, point_, symbols_), values[store.value]);
      }
      for (std::size_t i = 0; i < stage.reductions.size(); ++i) {
        const Reduction& reduction = stage.reductions[i];
        Best& best = accumulators[i][PointOf(Kept(stage, reduction))];
        std::int64_t position = 0;
        for (const int dim : stage.loops) {
          if (!Reduces(reduction, dim)) continue;
          const auto d = static_cast<std::size_t>(dim);
          position = position * extents_[d] + point_[d];
        }
        const ScalarValue value = values[reduction.value];
        if (!best.any) {
          best = {true, value, position};
        } else {
          Merge(reduction, best.value, best.position, value, position);
        }
      }
    });
    for (std::size_t i = 0; i < stage.reductions.size(); ++i) {
      const Reduction& reduction = stage.reductions[i];
      row_dims_[reduction.id] = Kept(stage, reduction);
      for (const auto& [point, best] : accumulators[i]) {
        rows_[reduction.id][point] = reduction.is_arg ? ScalarValue{0, best.position} : best.value;
      }
    }
  }

  static bool Reduces(const Reduction& reduction, int dim) {
    return std::find(reduction.over.begin(), reduction.over.end(), dim) != reduction.over.end();
  }

  static std::vector<int> Kept(const Stage& stage, const Reduction& reduction) {
    std::vector<int> kept;
    for (const int dim : stage.loops) {
      if (!Reduces(reduction, dim)) kept.push_back(dim);
    }
    return kept;
  }

  static void Merge(const Reduction& reduction, ScalarValue& best, std::int64_t& best_position,
                    const ScalarValue& value, std::int64_t position) {
    const bool real = IsFloat(reduction.dtype);
    if (reduction.kind != Combine::kMaximum && reduction.kind != Combine::kMinimum) {
      if (real) {
        best.real = Apply(reduction.kind, best.real, value.real);
      } else {
        best.integer = Apply(reduction.kind, best.integer, value.integer);
      }
      return;
    }
    const bool greater = real ? value.real > best.real : value.integer > best.integer;
    const bool less = real ? value.real < best.real : value.integer < best.integer;
    const bool wins = reduction.kind == Combine::kMaximum ? greater : less;
    const bool tie = !greater && !less;
    if (!wins && !(tie && position < best_position)) return;
    best = value;
    best_position = position;
  }

  std::vector<ScalarValue> Evaluate(const Body& body) {
    std::vector<ScalarValue> values;
    for (const BodyInstr& instr : body.instrs) {
      ScalarValue value;
      switch (instr.op) {
        case BodyOp::kInput:
          value = rows_.at(instr.input).at(PointOf(row_dims_[instr.input]));
          break;
        case BodyOp::kConstant:
          value = {instr.constant, instr.int_constant};
          break;
        case BodyOp::kIndex:
          value.integer = point_[static_cast<std::size_t>(instr.dim)];
          break;
        case BodyOp::kSize:
          value.integer = instr.size.Evaluate(symbols_).value();
          break;
        case BodyOp::kLoad:
          value = Load(instr, values);
          break;
        case BodyOp::kPointwise:
          value = Pointwise(body, instr, values);
          break;
      }
      values.push_back(value);
    }
    return values;
  }

  ScalarValue Load(const BodyInstr& instr, const std::vector<ScalarValue>& values) {
    const Access& access = instr.access;
    if (instr.has_predicate && values[instr.args.back()].integer == 0) return {};
    std::int64_t element = EvaluateIndex(access.index, point_, symbols_);
    for (std::size_t k = 0; k < access.indirect.size(); ++k) {
      element += values[instr.args[k]].integer * access.indirect[k].Evaluate(symbols_).value();
    }
    return ReadElement(buffers_[access.operand], access.dtype, element);
  }

  static ScalarValue Pointwise(const Body& body, const BodyInstr& instr,
                               const std::vector<ScalarValue>& values) {
    const ScalarValue& x = values[instr.args[0]];
    const ScalarValue& y = values[instr.args.back()];
    const bool real = IsFloat(body.instrs[instr.args.back()].dtype);
    const double a = real ? x.real : static_cast<double>(x.integer);
    const double b = real ? y.real : static_cast<double>(y.integer);
    ScalarValue result;
    const auto set = [&](double value) {
      result = {real ? value : 0, real ? 0 : static_cast<std::int64_t>(value)};
    };
    if (instr.pointwise == OpKind::kAdd) set(a + b);
    if (instr.pointwise == OpKind::kSubtract) set(a - b);
    if (instr.pointwise == OpKind::kMultiply) set(a * b);
    if (instr.pointwise == OpKind::kMaximum) set(std::fmax(a, b));
    if (instr.pointwise == OpKind::kMinimum) set(std::fmin(a, b));
    if (instr.pointwise == OpKind::kNegate) set(-a);
    if (instr.pointwise == OpKind::kAbs) set(std::fabs(a));
    if (instr.pointwise == OpKind::kAnd) result.integer = x.integer & y.integer;
    if (instr.pointwise == OpKind::kOr) result.integer = x.integer | y.integer;
    if (instr.pointwise == OpKind::kCompare) {
      result.integer = CompareScalars(instr.direction, a, b) ? 1 : 0;
    }
    if (instr.pointwise == OpKind::kSelect) {
      result = x.integer != 0 ? values[instr.args[1]] : values[instr.args[2]];
    }
    if (instr.pointwise == OpKind::kConvert) {
      const double value = real ? y.real : static_cast<double>(y.integer);
      result = {value, instr.dtype == DType::kBool ? value != 0 : static_cast<std::int64_t>(value)};
    }
    return result;
  }

  const LoopFunc& func_;
  const SymBindings& symbols_;
  std::vector<std::string>& buffers_;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> point_;
  std::map<std::uint32_t, Row> rows_;
  std::map<std::uint32_t, std::vector<int>> row_dims_;
};

}  // namespace

ScalarValue ReadElement(const std::string& bytes, DType dtype, std::int64_t element) {
  switch (dtype) {
    case DType::kF64:
      return {Get<double>(bytes, element), 0};
    case DType::kF32:
      return {static_cast<double>(Get<float>(bytes, element)), 0};
    case DType::kF16: {
      return {static_cast<double>(FloatFromF16(Get<std::uint16_t>(bytes, element))), 0};
    }
    case DType::kBF16: {
      return {static_cast<double>(FloatFromBF16(Get<std::uint16_t>(bytes, element))), 0};
    }
    case DType::kI64:
      return {0, Get<std::int64_t>(bytes, element)};
    case DType::kI32:
      return {0, Get<std::int32_t>(bytes, element)};
    case DType::kI16:
      return {0, Get<std::int16_t>(bytes, element)};
    case DType::kI8:
      return {0, Get<std::int8_t>(bytes, element)};
    case DType::kU8:
    case DType::kBool:
      return {0, Get<std::uint8_t>(bytes, element)};
  }
  return {};
}

void WriteElement(std::string& bytes, DType dtype, std::int64_t element, ScalarValue value) {
  const auto single = static_cast<float>(value.real);
  switch (dtype) {
    case DType::kF64:
      return Put(bytes, element, value.real);
    case DType::kF32:
      return Put(bytes, element, single);
    case DType::kF16:
      return Put(bytes, element, F16FromFloat(single));
    case DType::kBF16:
      return Put(bytes, element, BF16FromFloat(single));
    case DType::kI64:
      return Put(bytes, element, value.integer);
    case DType::kI32:
      return Put(bytes, element, static_cast<std::int32_t>(value.integer));
    case DType::kI16:
      return Put(bytes, element, static_cast<std::int16_t>(value.integer));
    case DType::kI8:
      return Put(bytes, element, static_cast<std::int8_t>(value.integer));
    case DType::kU8:
    case DType::kBool:
      return Put(bytes, element, static_cast<std::uint8_t>(value.integer));
  }
}

std::int64_t EvaluateIndex(const IndexMap& index, const std::vector<std::int64_t>& point,
                           const SymBindings& symbols) {
  std::int64_t sum = index.offset.Evaluate(symbols).value();
  for (const IndexTerm& term : index.terms) {
    std::int64_t at = point[static_cast<std::size_t>(term.dim)] / term.divisor;
    if (term.modulus != 0) at %= term.modulus;
    sum += at * term.coefficient.Evaluate(symbols).value();
  }
  return sum;
}

void InterpretLoop(const LoopFunc& func, const SymBindings& symbols,
                   std::vector<std::string>& buffers) {
  Interpreter(func, symbols, buffers).Run();
}

}  // namespace stoker
