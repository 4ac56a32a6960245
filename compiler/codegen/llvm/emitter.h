// KernelEmitter: the function of one kernel while it is being built, and the pieces that the
// emitters of all targets share: buffers, dims, counted loops, vector loops with a masked tail,
// vector memory access. A target's emitter derives from it: it makes the function, knows how its
// arguments are read, and what the hardware does in one instruction.
//
// A vector of W lanes is <W x T>, and plain T when W is 1. A mask is <W x i1>; null means that all
// lanes are active. Values of dtype bool are i1 in registers and a byte in memory.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/loop_func.h"
#include "protocol/graph/dim/sym_dim.h"

namespace stoker::codegen {

using Values = llvm::SmallVector<llvm::Value*, 8>;

class KernelEmitter {
 public:
  virtual ~KernelEmitter() = default;
  KernelEmitter(const KernelEmitter&) = delete;
  KernelEmitter& operator=(const KernelEmitter&) = delete;

  llvm::IRBuilder<>& b() { return builder_; }
  llvm::Module& module() { return *function_->getParent(); }
  llvm::Function* function() { return function_; }

  // Arguments of the kernel.
  llvm::Value* Buffer(std::uint32_t operand);  // Pointer, loaded once at entry.
  // Code from here on finds the operand there.
  void SetBuffer(std::uint32_t operand, llvm::Value* pointer) { buffers_[operand] = pointer; }
  llvm::Value* Dim(const SymDim& dim);  // i64: a constant or loaded once at entry.
  // Row-major indices of `flat` in a space of these extents.
  Values Unflatten(llvm::Value* flat, llvm::ArrayRef<llvm::Value*> extents);
  void Finish();  // Returns from the function; nothing may be emitted afterwards.

  // i64 arithmetic that folds constants and identities.
  llvm::ConstantInt* I64(std::int64_t value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Value* Add(llvm::Value* x, llvm::Value* y);
  llvm::Value* Sub(llvm::Value* x, llvm::Value* y);
  llvm::Value* Mul(llvm::Value* x, llvm::Value* y);
  llvm::Value* DivUp(llvm::Value* x, std::int64_t y);  // x >= 0, y > 0.
  llvm::Value* Min(llvm::Value* x, llvm::Value* y);    // Signed.

  using LoopBody = llvm::function_ref<void(llvm::Value* i, Values& carried)>;
  // for (i = begin; i < end; i += step) body(i, carried). `carried` holds the loop-carried values:
  // initial values on entry, replaced by the body with the next ones, final values on return. No
  // loop is emitted for a constant trip count of 0 or 1.
  void For(llvm::Value* begin, llvm::Value* end, llvm::Value* step, Values& carried,
           LoopBody body) {
    Loop(begin, end, step, carried, body, /*may_be_empty=*/true);
  }
  void For(llvm::Value* begin, llvm::Value* end, std::int64_t step, Values& carried,
           LoopBody body) {
    For(begin, end, I64(step), carried, body);
  }
  void For(llvm::Value* begin, llvm::Value* end, std::int64_t step,
           llvm::function_ref<void(llvm::Value* i)> body);
  // For, of which begin < end is known: there is no way around it to emit.
  void ForSome(llvm::Value* begin, llvm::Value* end, std::int64_t step, Values& carried,
               LoopBody body) {
    Loop(begin, end, I64(step), carried, body, /*may_be_empty=*/false);
  }
  // while (condition(carried)) body(carried).
  void While(Values& carried, llvm::function_ref<llvm::Value*(const Values& carried)> condition,
             llvm::function_ref<void(Values& carried)> body);
  // if (condition) then(). The body must not carry values out.
  void If(llvm::Value* condition, llvm::function_ref<void()> then);
  // The same, where the body replaces the carried values by what they are after it.
  void If(llvm::Value* condition, Values& carried, llvm::function_ref<void(Values& carried)> then);

  // Covers lanes [begin, end), `width` a vector: blocks of `unroll` unmasked vectors, then single
  // vectors, the last of them masked. body(first, copies, mask, carried) handles the vectors that
  // start at first, first + width, ... (`copies` of them); mask is set only with copies == 1.
  // Blocks start at begin + a multiple of width. `loop`: what runs over
  // the blocks in place of For.
  using LaneBody =
      llvm::function_ref<void(llvm::Value* first, int copies, llvm::Value* mask, Values& carried)>;
  using LoopOver = llvm::function_ref<void(llvm::Value* begin, llvm::Value* end, std::int64_t step,
                                           Values& carried, LoopBody body)>;
  void ForLanes(llvm::Value* begin, llvm::Value* end, int width, int unroll, Values& carried,
                LaneBody body);
  void ForLanes(llvm::Value* begin, llvm::Value* end, int width, int unroll, Values& carried,
                LoopOver loop, LaneBody body);
  // Lanes 0 .. active-1 of `width`, none when active <= 0; null if that is all of them for certain.
  llvm::Value* TailMask(llvm::Value* active, int width);

  // Lanes of a value: 1 for a scalar.
  static int WidthOf(const llvm::Value* value);

  // Types and values of lanes.
  llvm::Type* LaneType(DType dtype);    // In registers: f16/bf16 are f32, bool is i1.
  llvm::Type* MemoryType(DType dtype);  // In memory: f16 is half, bf16 is i16, bool is i8.
  static llvm::Type* VectorOf(llvm::Type* lane, int width);
  llvm::Value* Splat(llvm::Value* scalar, int width);
  // An integer constant of a scalar type, or splatted for a vector type; wraps to the type.
  static llvm::Constant* IntOf(llvm::Type* type, std::int64_t value);
  // 0, 1, ..., width-1 of an integer type.
  llvm::Constant* Iota(llvm::IntegerType* type, int width);

  // Address of an element; `index` in elements.
  llvm::Value* ElementPointer(llvm::Value* base, DType dtype, llvm::Value* index);
  // Names the operand an access belongs to, so that the optimizer knows what cannot overlap.
  // kScratch for the kernel's own scratch.
  static constexpr std::uint32_t kScratch = 0xffffffff;
  void TagAccess(llvm::Instruction* access, std::uint32_t operand);

  // Vectors of `width` consecutive elements in registers' form (widened, bool as i1). Inactive
  // lanes are not touched in memory and read as 0. A mask of one bit, where BranchesOverLanes: for
  // all.
  llvm::Value* LoadLanes(std::uint32_t operand, DType dtype, llvm::Value* pointer, int width,
                         llvm::Value* mask);
  void StoreLanes(std::uint32_t operand, DType dtype, llvm::Value* pointer, llvm::Value* value,
                  llvm::Value* mask);
  // The same for elements at base[offsets[lane]]; offsets in elements, <width x i64> or <width x
  // i32>.
  llvm::Value* GatherLanes(std::uint32_t operand, DType dtype, llvm::Value* base,
                           llvm::Value* offsets, llvm::Value* mask);
  void ScatterLanes(std::uint32_t operand, DType dtype, llvm::Value* base, llvm::Value* offsets,
                    llvm::Value* value, llvm::Value* mask);

  // Between memory's form and registers' form, any width.
  llvm::Value* FromMemory(DType dtype, llvm::Value* value);
  llvm::Value* ToMemory(DType dtype, llvm::Value* value);  // Rounds to nearest even; NaN stays NaN.
  llvm::Value* Round(DType dtype, llvm::Value* value);     // To memory's form and back.

  // Whether a lane whose number is not known when the kernel is compiled is taken from a register.
  virtual bool IndexesLanes() const { return true; }
  // Whether lanes that are loaded all or none are branched around.
  virtual bool BranchesOverLanes() const { return false; }

  // x * 2^n, rounded once, where one instruction does that for these types; null otherwise.
  virtual llvm::Value* ScaleInHardware(llvm::Value* x, llvm::Value* n) = 0;
  // The larger or the smaller of two floats, and NaN where there is one, where one instruction does
  // that for this type; null otherwise.
  virtual llvm::Value* ExtremeInHardware(bool is_largest, llvm::Value* x, llvm::Value* y) = 0;
  // 1 / sqrt(x), off by 2^-22 of itself at most, where an instruction gives that for all floats of
  // this type; null otherwise.
  virtual llvm::Value* ReciprocalRootInHardware(llvm::Value*) { return nullptr; }
  // Whether one instruction gives 2^x of floats of this type, off by 1.5 units in the last place at
  // most, and 0 below the least normal number.
  virtual bool HasExp2(llvm::Type*) const { return false; }
  virtual llvm::Value* Exp2InHardware(llvm::Value*) { return nullptr; }
  // Is all that comes of what is emitted now rounded to 16 bits, before it shows? Then functions
  // that HasExp2 makes may be off by what such a rounding hides (NUMERICS.md).
  bool hides_errors() const { return hides_errors_; }
  void set_hides_errors(bool hides) { hides_errors_ = hides; }
  // 1 / x of a normal number that has a normal reciprocal, off by one unit in the last place at
  // most, where one instruction does that for this type; null otherwise.
  virtual llvm::Value* ReciprocalInHardware(llvm::Value*) { return nullptr; }

  // Where nobody looks at what a kernel gives, it fails with the message unless all lanes are true.
  virtual void Require(llvm::Value*, const std::string&) {}

  // a * b + c, fused.
  llvm::Value* Fma(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  // Of the lanes of a vector: one scalar. Identity for width 1.
  llvm::Value* ReduceLanes(llvm::Value* vector,
                           llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> combine);
  // Calls an LLVM intrinsic by name, e.g. "llvm.x86.tdpbf16ps.internal"; STOKER_CHECKs that it
  // exists and is not overloaded.
  llvm::Value* CallIntrinsic(const char* name, llvm::ArrayRef<llvm::Value*> args);

 protected:
  // `dims`: the non-constant expressions passed at launch, in order. `num_operands`: buffers of the
  // launch; accesses to different buffers are taken not to overlap, except that an element may be
  // overwritten after its last read (in-place launches).
  KernelEmitter(llvm::Function* function, std::vector<SymDim> dims, std::uint32_t num_operands);

  // The block of what is loaded once, before everything else.
  llvm::BasicBlock* entry() { return entry_; }
  // Emit into the entry block.
  virtual llvm::Value* LoadBuffer(std::uint32_t operand) = 0;
  virtual llvm::Value* LoadDim(std::size_t slot) = 0;
  // Whether lanes of this dtype are gathered and scattered by one instruction.
  virtual bool HasGather(DType dtype) const = 0;
  // That of a vector of `width` neighbours; of an element unless it is known to be more.
  virtual llvm::Align AlignOf(DType dtype, int width) const;
  // Of one element in memory's form, or of lanes where these are branched around, where `condition`
  // holds; 0 otherwise.
  virtual llvm::Value* LoadIf(llvm::Value* condition, llvm::Type* type, llvm::Value* pointer,
                              llvm::Align align);
  virtual void StoreIf(llvm::Value* condition, llvm::Value* value, llvm::Value* pointer,
                       llvm::Align align);
  // The bits of bf16 as those of the f32 that it is.
  virtual llvm::Value* BitsOfBF16(llvm::Value* value);
  // f32 to the bits of bf16, to nearest even, where one instruction does that; null otherwise.
  virtual llvm::Value* RoundToBF16InHardware(llvm::Value* value) = 0;
  // f32 rounded to bf16 and still f32, where one instruction does that; null otherwise.
  virtual llvm::Value* RoundLikeBF16InHardware(llvm::Value*) { return nullptr; }
  // The same by integers.
  llvm::Value* RoundBitsToBF16(llvm::Value* value);
  // The bits of bf16 of f32 that are exactly that.
  llvm::Value* UpperHalves(llvm::Value* value);
  // `otherwise`, but where `value` is NaN that as a quiet one. Both f32.
  virtual llvm::Value* QuietNaNOr(llvm::Value* value, llvm::Value* otherwise);
  // Is what goes on in registers rounded to bf16 by integers, too?
  virtual bool RoundsInRegisters() const { return false; }

 private:
  void Loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, Values& carried, LoopBody body,
            bool may_be_empty);
  llvm::Value* RoundToBF16(llvm::Value* value);
  // f32 to the bits of which the upper half is that of bf16.
  llvm::Value* RoundedBits(llvm::Value* value);
  // Stack bytes that stand in for the memory of inactive lanes: read zeros, ignored writes.
  llvm::Value* Zeros();
  llvm::Value* Sink();
  llvm::AllocaInst* EntryBytes(const char* name);

  llvm::Function* function_;
  std::vector<SymDim> dims_;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::IRBuilder<> builder_;
  std::map<std::uint32_t, llvm::Value*> buffers_;
  std::vector<llvm::Value*> dim_values_;
  llvm::Value* zeros_ = nullptr;
  llvm::Value* sink_ = nullptr;
  bool hides_errors_ = false;
  std::vector<llvm::MDNode*> alias_scopes_;    // Per operand, scratch last: its own scope.
  std::vector<llvm::MDNode*> noalias_scopes_;  // The scopes of all others.
};

}  // namespace stoker::codegen
