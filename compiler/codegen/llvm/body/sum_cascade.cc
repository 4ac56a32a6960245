#include "compiler/codegen/llvm/body/sum_cascade.h"

#include <llvm/IR/Intrinsics.h>

#include <bit>

namespace stoker::codegen {
namespace {

constexpr int kLevels = 4;
constexpr int kRunBits = std::bit_width(static_cast<std::uint64_t>(kSumRun)) - 1;

class SumCascade {
 public:
  SumCascade(KernelEmitter& emitter, std::int64_t step, std::int64_t terms, const CarriedSums& sums,
             KernelEmitter::LoopBody body)
      : e_(emitter), step_(step), term_bits_(BitsOf(terms)), sums_(sums), body_(body) {}

  void Emit(llvm::Value* begin, llvm::Value* end, Values& carried) {
    llvm::Value* count = e_.DivUp(e_.Sub(end, begin), step_);
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(count)) {
      // Levels that have one run are no loops.
      const std::int64_t all = constant->getSExtValue() << term_bits_;
      const int bits = std::max(kRunBits, (BitsOf(all) + kLevels - 1) / kLevels);
      int levels = 1;
      while (levels * bits < BitsOf(all)) ++levels;
      bits_ = e_.I64(bits);
      EmitLevel(levels, begin, end, carried);
      return;
    }
    llvm::IRBuilder<>& b = e_.b();
    llvm::Value* before = b.CreateShl(count, e_.I64(term_bits_));
    before = e_.Sub(before, e_.I64(1));
    llvm::Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, before, b.getInt1(false));
    llvm::Value* bits = e_.Sub(e_.I64(64 + kLevels - 1), zeros);
    bits = b.CreateUDiv(bits, e_.I64(kLevels));
    bits_ = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bits, e_.I64(kRunBits));
    EmitLevel(kLevels, begin, end, carried);
  }

 private:
  // The least b with n <= 2^b.
  static int BitsOf(std::int64_t n) {
    return n <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
  }

  // [begin, end) as one run of level `level`; those of level 1 are chains of terms.
  void EmitLevel(int level, llvm::Value* begin, llvm::Value* end, Values& carried) {
    if (level == 1) {
      e_.For(begin, end, step_, carried, body_);
      return;
    }
    // Of the level below, in iterations: 2^bits at each level, of which some are terms.
    llvm::IRBuilder<>& b = e_.b();
    llvm::Value* run_bits = e_.Mul(bits_, e_.I64(level - 1));
    run_bits = e_.Sub(run_bits, e_.I64(term_bits_));
    llvm::Value* run = e_.Mul(b.CreateShl(e_.I64(1), run_bits), e_.I64(step_));
    e_.For(begin, end, run, carried, [&](llvm::Value* first, Values& above) {
      Values below = sums_.restart(above);
      EmitLevel(level - 1, first, e_.Min(e_.Add(first, run), end), below);
      sums_.add(above, below);
    });
  }

  KernelEmitter& e_;
  std::int64_t step_;
  int term_bits_;
  const CarriedSums& sums_;
  KernelEmitter::LoopBody body_;
  llvm::Value* bits_ = nullptr;  // Of the length of a level.
};

}  // namespace

void EmitSumCascade(KernelEmitter& emitter, llvm::Value* begin, llvm::Value* end, std::int64_t step,
                    std::int64_t terms, Values& carried, const CarriedSums& sums,
                    KernelEmitter::LoopBody body) {
  SumCascade(emitter, step, terms, sums, body).Emit(begin, end, carried);
}

}  // namespace stoker::codegen
