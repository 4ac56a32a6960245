#include "compiler/codegen/nvptx/hidden_errors.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>

namespace stoker::codegen {
namespace {

constexpr double kShown = std::numeric_limits<double>::infinity();

constexpr OpKind kNeverBelowZero[] = {OpKind::kAbs,  OpKind::kExponential, OpKind::kExponential2,
                                      OpKind::kErfc, OpKind::kLogistic,    OpKind::kSqrt,
                                      OpKind::kRsqrt};
// Of what is never below zero.
constexpr OpKind kStaysAboveZero[] = {OpKind::kAdd,     OpKind::kMultiply, OpKind::kDivide,
                                      OpKind::kMaximum, OpKind::kMinimum,  OpKind::kConvert};
// As a part of its result, what an argument is off by is as much as it was of the argument.
constexpr OpKind kKeepsParts[] = {OpKind::kNegate, OpKind::kAbs,     OpKind::kMultiply,
                                  OpKind::kDivide, OpKind::kMaximum, OpKind::kMinimum,
                                  OpKind::kClamp,  OpKind::kSqrt,    OpKind::kRsqrt};

template <std::size_t kSize>
bool Contains(const OpKind (&kinds)[kSize], OpKind kind) {
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

bool Is16BitFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

bool Is(const BodyInstr& instr, OpKind kind) {
  return instr.op == BodyOp::kPointwise && instr.pointwise == kind;
}

// Which values are never below zero: a sum of such is off by no larger part than its terms.
class Signs {
 public:
  explicit Signs(const LoopFunc& func) {
    for (const Stage& stage : func.stages) {
      above_.emplace_back();
      for (const BodyInstr& instr : stage.body.instrs) {
        above_.back().push_back(IsAbove(stage.body, instr));
      }
      for (const Temporary& kept : stage.temporaries) inputs_[kept.id] = above_.back()[kept.value];
      for (const Reduction& over : stage.reductions) inputs_[over.id] = above_.back()[over.value];
    }
  }

  bool AreAbove(std::size_t stage, const std::vector<std::uint32_t>& instrs) const {
    return std::ranges::all_of(instrs, [&](std::uint32_t i) { return above_[stage][i]; });
  }

 private:
  bool IsAbove(const Body& body, const BodyInstr& instr) const {
    if (!IsFloat(instr.dtype)) return instr.dtype == DType::kBool;
    if (instr.op == BodyOp::kConstant) return instr.constant >= 0;
    if (instr.op == BodyOp::kInput) return inputs_.at(instr.input);
    if (instr.op != BodyOp::kPointwise) return false;
    if (Contains(kNeverBelowZero, instr.pointwise)) return true;
    const std::size_t stage = above_.size() - 1;
    if (Contains(kStaysAboveZero, instr.pointwise) && AreAbove(stage, instr.args)) return true;
    if (Is(instr, OpKind::kSelect)) return AreAbove(stage, {instr.args[1], instr.args[2]});
    if (Is(instr, OpKind::kMultiply)) return instr.args[0] == instr.args[1];
    if (!Is(instr, OpKind::kAdd)) return false;
    const auto is_one = [&](std::size_t arg) {
      const BodyInstr& other = body.instrs[instr.args[arg]];
      return other.op == BodyOp::kConstant && other.constant >= 1;
    };
    const auto is_erf = [&](std::size_t arg) {
      return Is(body.instrs[instr.args[arg]], OpKind::kErf);
    };
    return (is_one(0) && is_erf(1)) || (is_erf(0) && is_one(1));
  }

  std::vector<std::vector<bool>> above_;  // By stage and instruction.
  std::map<std::uint32_t, bool> inputs_;
};

// For each value, how many times results are off by the part of itself that it is off by, as far as
// values and stages behind it are known; 0 where nothing comes of it.
class Times {
 public:
  Times(const LoopFunc& func, const Signs& signs) : func_(func), signs_(signs) {}

  // Stages are asked for from the last to the first.
  std::vector<double> Of(std::size_t number) {
    const Stage& stage = func_.stages[number];
    std::vector<double> times(stage.body.instrs.size(), 0);
    for (const Store& store : stage.stores) {
      times[store.value] += Is16BitFloat(store.access.dtype) ? 1 : kShown;
    }
    for (const Temporary& kept : stage.temporaries) times[kept.value] += inputs_[kept.id];
    for (const Reduction& over : stage.reductions) {
      const bool keeps = over.kind == Combine::kAdd
                             ? signs_.AreAbove(number, {over.value})
                             : over.kind == Combine::kMaximum || over.kind == Combine::kMinimum;
      times[over.value] += Through(keeps && !over.is_arg, inputs_[over.id]);
    }
    for (std::size_t i = times.size(); i-- > 0;) Spread(number, i, times);
    return times;
  }

 private:
  static double Through(bool keeps, double times) { return keeps || times == 0 ? times : kShown; }

  void Spread(std::size_t stage, std::size_t i, std::vector<double>& times) {
    const Body& body = func_.stages[stage].body;
    const BodyInstr& instr = body.instrs[i];
    if (times[i] == 0) return;
    if (instr.op == BodyOp::kInput) inputs_[instr.input] += times[i];
    for (std::size_t arg = 0; arg < instr.args.size(); ++arg) {
      const std::uint32_t from = instr.args[arg];
      const bool is_single = instr.dtype == DType::kF32 && body.instrs[from].dtype == DType::kF32;
      const bool rounds = Is(instr, OpKind::kConvert) && Is16BitFloat(instr.round_to);
      const bool keeps =
          instr.op == BodyOp::kPointwise &&
          (Contains(kKeepsParts, instr.pointwise) || (Is(instr, OpKind::kSelect) && arg > 0) ||
           (Is(instr, OpKind::kAdd) && signs_.AreAbove(stage, instr.args)));
      times[from] += is_single && rounds ? 1 : Through(is_single && keeps, times[i]);
    }
  }

  const LoopFunc& func_;
  const Signs& signs_;
  std::map<std::uint32_t, double> inputs_;
};

}  // namespace

HiddenErrors::HiddenErrors(const LoopFunc& func)
    : first_(func.stages.data()), hidden_(func.stages.size()) {
  const Signs signs(func);
  Times times(func, signs);
  for (std::size_t stage = func.stages.size(); stage-- > 0;) {
    for (const double each : times.Of(stage)) hidden_[stage].push_back(each <= kMostTimes);
  }
}

}  // namespace stoker::codegen
