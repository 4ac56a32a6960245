#include "compiler/codegen/llvm/body/row_formulas.h"

#include <algorithm>
#include <cmath>

#include "compiler/codegen/llvm/body/one_function.h"

namespace stoker::codegen {
namespace {

bool Is16BitFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

bool LeavesStage(const Stage& stage, std::uint32_t value) {
  const auto is_it = [&](const auto& out) { return out.value == value; };
  return std::ranges::any_of(stage.stores, is_it) ||
         std::ranges::any_of(stage.temporaries, is_it) ||
         std::ranges::any_of(stage.reductions, is_it);
}

bool Reads(const BodyInstr& instr, std::uint32_t value) {
  return std::ranges::find(instr.args, value) != instr.args.end();
}

bool IsArgument(const Body& body, std::uint32_t value) {
  return std::ranges::any_of(body.instrs,
                             [&](const BodyInstr& instr) { return Reads(instr, value); });
}

}  // namespace

RowFormulas::RowFormulas(const LoopFunc& func, const HidesErrors& hides_errors) : func_(func) {
  FindSources();
  for (const Stage& stage : func_.stages) {
    for (std::uint32_t i = 0; i < stage.body.instrs.size(); ++i) {
      if (hides_errors(stage, i)) AddExponential(stage, i);
    }
  }
}

void RowFormulas::FindSources() {
  for (const Stage& stage : func_.stages) {
    for (const Temporary& kept : stage.temporaries) {
      sources_[kept.id] = {&stage, kept.value, nullptr};
    }
    for (const Reduction& reduction : stage.reductions) {
      sources_[reduction.id] = {&stage, reduction.value, &reduction};
    }
  }
}

bool RowFormulas::IsReduced(const BodyInstr& reduced, Combine kind, const BodyInstr& kept) const {
  if (reduced.op != BodyOp::kInput || kept.op != BodyOp::kInput) return false;
  const auto of = sources_.find(reduced.input);
  const auto from = sources_.find(kept.input);
  if (of == sources_.end() || from == sources_.end()) return false;
  const Reduction* reduction = of->second.reduction;
  return reduction != nullptr && reduction->kind == kind && !reduction->is_arg &&
         reduction->dtype == DType::kF32 && from->second.reduction == nullptr &&
         of->second.stage == from->second.stage && of->second.value == from->second.value;
}

bool RowFormulas::Is16Bit(const Body& body, std::uint32_t number) const {
  const BodyInstr& instr = body.instrs[number];
  if (instr.op == BodyOp::kLoad) return Is16BitFloat(instr.access.dtype);
  if (instr.op == BodyOp::kInput) {
    const auto source = sources_.find(instr.input);
    return source != sources_.end() && source->second.reduction == nullptr &&
           Is16Bit(source->second.stage->body, source->second.value);
  }
  if (IsF32(instr, OpKind::kConvert)) return Is16BitFloat(instr.round_to);
  if (!IsF32(instr, OpKind::kMultiply)) return false;
  const auto is_scaled = [&](std::size_t x, std::size_t by) {
    return body.instrs[instr.args[by]].op == BodyOp::kConstant && Is16Bit(body, instr.args[x]);
  };
  return is_scaled(0, 1) || is_scaled(1, 0);
}

bool RowFormulas::AreOnlyDivided(std::uint32_t kept, std::uint32_t sum) const {
  for (const Stage& stage : func_.stages) {
    const std::vector<BodyInstr>& instrs = stage.body.instrs;
    const auto is = [&](std::uint32_t number, std::uint32_t input) {
      return instrs[number].op == BodyOp::kInput && instrs[number].input == input;
    };
    for (std::uint32_t i = 0; i < instrs.size(); ++i) {
      if ((is(i, kept) || is(i, sum)) && LeavesStage(stage, i)) return false;
      const std::vector<std::uint32_t>& args = instrs[i].args;
      const bool reads = std::ranges::any_of(
          args, [&](std::uint32_t arg) { return is(arg, kept) || is(arg, sum); });
      if (!reads) continue;
      if (!IsF32(instrs[i], OpKind::kDivide) || !is(args[0], kept) || !is(args[1], sum))
        return false;
    }
  }
  return true;
}

void RowFormulas::AddExponential(const Stage& stage, std::uint32_t number) {
  const std::vector<BodyInstr>& instrs = stage.body.instrs;
  if (!IsF32(instrs[number], OpKind::kExponential)) return;
  const BodyInstr& difference = instrs[instrs[number].args[0]];
  if (!IsF32(difference, OpKind::kSubtract)) return;
  const std::uint32_t x = difference.args[0];
  const std::uint32_t most = difference.args[1];
  if (!IsReduced(instrs[most], Combine::kMaximum, instrs[x])) return;
  const auto is_it = [&](const auto& out) { return out.value == number; };
  if (IsArgument(stage.body, number) || std::ranges::any_of(stage.stores, is_it) ||
      std::ranges::count_if(stage.temporaries, is_it) != 1 ||
      std::ranges::count_if(stage.reductions, is_it) != 1) {
    return;
  }
  const std::uint32_t kept = std::ranges::find_if(stage.temporaries, is_it)->id;
  const Reduction& sum = *std::ranges::find_if(stage.reductions, is_it);
  if (sum.kind != Combine::kAdd || sum.is_arg || !AreOnlyDivided(kept, sum.id)) return;
  Exponential& exponential = exponentials_[&instrs[number]];
  exponential = {x, most, 1, Is16Bit(stage.body, x)};
  TakeScale(stage, number, exponential);
  shares_.insert({kept, sum.id});
}

bool RowFormulas::IsOnlyFor(const Stage& stage, std::uint32_t instr, std::uint32_t user) {
  if (LeavesStage(stage, instr)) return false;
  for (std::uint32_t i = 0; i < stage.body.instrs.size(); ++i) {
    if (i != user && Reads(stage.body.instrs[i], instr)) return false;
  }
  return true;
}

// The largest of products with a constant above 0 is the product of the largest.
void RowFormulas::TakeScale(const Stage& stage, std::uint32_t number, Exponential& exponential) {
  constexpr double kLeast = 0x1p-60;
  const std::vector<BodyInstr>& instrs = stage.body.instrs;
  const std::uint32_t difference = instrs[number].args[0];
  const std::uint32_t kept = instrs[exponential.x].input;
  const std::uint32_t reduced = instrs[exponential.most].input;
  for (const Stage& other : func_.stages) {
    for (const BodyInstr& instr : other.body.instrs) {
      if (instr.op != BodyOp::kInput || (instr.input != kept && instr.input != reduced)) continue;
      if (&instr != &instrs[exponential.x] && &instr != &instrs[exponential.most]) return;
    }
  }
  if (!IsOnlyFor(stage, exponential.x, difference) ||
      !IsOnlyFor(stage, exponential.most, difference) || !IsOnlyFor(stage, difference, number)) {
    return;
  }
  const Source& source = sources_.at(kept);
  const BodyInstr& product = source.stage->body.instrs[source.value];
  if (!IsF32(product, OpKind::kMultiply)) return;
  for (std::size_t i = 0; i < 2; ++i) {
    const BodyInstr& by = source.stage->body.instrs[product.args[i]];
    if (by.op != BodyOp::kConstant || !(by.constant >= kLeast && by.constant <= 1)) continue;
    unscaled_[kept] = unscaled_[reduced] = product.args[1 - i];
    exponential.scale = by.constant;
    return;
  }
}

std::uint32_t RowFormulas::ValueOf(std::uint32_t id, std::uint32_t value) const {
  const auto found = unscaled_.find(id);
  return found == unscaled_.end() ? value : found->second;
}

std::optional<RowFormulas::Exponential> RowFormulas::ExponentialOf(const BodyInstr& instr) const {
  const auto found = exponentials_.find(&instr);
  if (found == exponentials_.end()) return std::nullopt;
  return found->second;
}

bool RowFormulas::IsShare(const Body& body, const BodyInstr& instr) const {
  if (!IsF32(instr, OpKind::kDivide)) return false;
  const BodyInstr& x = body.instrs[instr.args[0]];
  const BodyInstr& y = body.instrs[instr.args[1]];
  return x.op == BodyOp::kInput && y.op == BodyOp::kInput && shares_.contains({x.input, y.input});
}

bool RowFormulas::IsMeanOf(const Body& body, std::uint32_t mean, std::uint32_t x) const {
  if (!IsF32(body.instrs[mean], OpKind::kMultiply)) return false;
  const BodyInstr& sum = body.instrs[body.instrs[mean].args[0]];
  const BodyInstr& over = body.instrs[body.instrs[mean].args[1]];
  if (over.op != BodyOp::kConstant || !IsReduced(sum, Combine::kAdd, body.instrs[x])) return false;
  SymDim count(1);
  for (const int dim : sources_.at(sum.input).reduction->over) {
    count = count * func_.dims[static_cast<std::size_t>(dim)];
  }
  return count.IsConstant() &&
         std::abs(over.constant) * static_cast<double>(count.constant()) <= 1.001;
}

// Elsewhere a mean may be far larger than what it is subtracted from, less it.
bool RowFormulas::IsFromMean(const BodyInstr& kept) const {
  const auto found = kept.op == BodyOp::kInput ? sources_.find(kept.input) : sources_.end();
  if (found == sources_.end() || found->second.reduction != nullptr) return false;
  const Body& body = found->second.stage->body;
  const BodyInstr& difference = body.instrs[found->second.value];
  return IsF32(difference, OpKind::kSubtract) &&
         IsMeanOf(body, difference.args[1], difference.args[0]);
}

std::optional<RowFormulas::Normalized> RowFormulas::NormalizedOf(const Body& body,
                                                                 const BodyInstr& instr) const {
  if (!IsF32(instr, OpKind::kMultiply)) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const BodyInstr& difference = body.instrs[instr.args[i]];
    const std::uint32_t scale = instr.args[1 - i];
    if (!IsF32(difference, OpKind::kSubtract) || !IsF32(body.instrs[scale], OpKind::kRsqrt))
      continue;
    const auto [x, mean] = std::pair(difference.args[0], difference.args[1]);
    if (IsMeanOf(body, mean, x) && IsFromMean(body.instrs[x])) return Normalized{x, mean, scale};
  }
  return std::nullopt;
}

}  // namespace stoker::codegen
