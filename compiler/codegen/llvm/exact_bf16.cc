#include "compiler/codegen/llvm/exact_bf16.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

namespace stoker::codegen {
namespace {

constexpr unsigned kMaxValues = 64;  // That are looked at.

using Seen = llvm::SmallPtrSet<const llvm::Value*, 16>;

bool IsExactNumber(const llvm::ConstantFP& number) {
  return number.getType()->isFloatTy() &&
         (number.getValueAPF().bitcastToAPInt().getZExtValue() & 0xffff) == 0;
}

bool IsExactConstant(const llvm::Constant& constant) {
  if (llvm::isa<llvm::PoisonValue>(constant) || constant.isNullValue()) return true;
  if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(&constant)) {
    return IsExactNumber(*number);
  }
  const auto* splat = llvm::dyn_cast_or_null<llvm::ConstantFP>(
      constant.getType()->isVectorTy() ? constant.getSplatValue() : nullptr);
  return splat != nullptr && IsExactNumber(*splat);
}

// What KernelEmitter::FromMemory makes of bf16, and KernelEmitter::Round.
bool IsRounded(const llvm::Value& value) {
  using namespace llvm::PatternMatch;
  llvm::Value* stored = nullptr;
  if (match(&value, m_BitCast(m_And(m_Value(), m_SpecificInt(0xffff0000))))) {
    return value.getType()->getScalarType()->isFloatTy();
  }
  return match(&value, m_BitCast(m_Shl(m_ZExt(m_Value(stored)), m_SpecificInt(16)))) &&
         stored->getType()->getScalarSizeInBits() == 16;
}

bool IsMove(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::copysign:  // Of its first operand.
      return true;
    default:
      return false;
  }
}

// What is carried around a loop is exact if all is that is ever put there.
bool IsExact(const llvm::Value* value, Seen& seen) {
  if (!seen.insert(value).second) return true;
  if (seen.size() > kMaxValues) return false;
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    return IsExactConstant(*constant);
  }
  if (IsRounded(*value)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return false;
  const auto is_exact = [&](unsigned operand) {
    return IsExact(instruction->getOperand(operand), seen);
  };
  if (const auto* merged = llvm::dyn_cast<llvm::PHINode>(instruction)) {
    // With one, it is that of a loop that is being written.
    return merged->getNumIncomingValues() > 1 &&
           llvm::all_of(merged->incoming_values(),
                        [&](const llvm::Use& use) { return IsExact(use.get(), seen); });
  }
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(instruction)) {
    return IsMove(call->getIntrinsicID()) && is_exact(0);
  }
  switch (instruction->getOpcode()) {
    case llvm::Instruction::FNeg:
    case llvm::Instruction::Freeze:
    case llvm::Instruction::ExtractElement:
      return is_exact(0);
    case llvm::Instruction::InsertElement:
    case llvm::Instruction::ShuffleVector:
      return is_exact(0) && is_exact(1);
    case llvm::Instruction::Select:
      return is_exact(1) && is_exact(2);
    default:
      return false;
  }
}

}  // namespace

bool IsExactBF16(const llvm::Value* value) {
  Seen seen;
  return IsExact(value, seen);
}

}  // namespace stoker::codegen
