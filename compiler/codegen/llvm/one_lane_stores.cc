#include "compiler/codegen/llvm/one_lane_stores.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

namespace stoker::codegen {
namespace {

// The active lane of a constant mask that has exactly one.
std::optional<unsigned> OnlyLane(const llvm::Value* mask) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  if (constant == nullptr) return std::nullopt;
  const auto width = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  std::optional<unsigned> only;
  for (unsigned i = 0; i < width; ++i) {
    const llvm::Constant* lane = constant->getAggregateElement(i);
    if (lane == nullptr || lane->isNullValue()) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only;
}

void StoreLane(llvm::IntrinsicInst& masked, unsigned lane) {
  llvm::IRBuilder<> builder(&masked);
  llvm::Value* element = builder.CreateExtractElement(masked.getArgOperand(0), lane);
  llvm::Value* pointer =
      builder.CreateConstInBoundsGEP1_32(element->getType(), masked.getArgOperand(1), lane);
  llvm::StoreInst* store = builder.CreateAlignedStore(element, pointer, llvm::Align(1));
  store->copyMetadata(masked);
  masked.eraseFromParent();
}

}  // namespace

void StoreSingleLanes(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
      const llvm::Value* mask = call->getArgOperand(call->arg_size() - 1);
      if (const std::optional<unsigned> lane = OnlyLane(mask)) StoreLane(*call, *lane);
    }
  }
}

}  // namespace stoker::codegen
