// VectorBody: evaluates a Body for a vector of iteration points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/codegen/llvm/body/row_formulas.h"
#include "compiler/codegen/llvm/body/row_sums.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/ir/body.h"

namespace stoker::codegen {

// `width` iteration points that differ in one dim only.
struct Lanes {
  int width = 1;
  int dim = -1;                     // The dim the lanes run along; -1 when width is 1.
  std::vector<llvm::Value*> index;  // Per iteration dim, i64: the indices of lane 0.
  llvm::Value* mask = nullptr;      // Null: all lanes are active.
  bool aligned = false;             // index[dim] is a multiple of width.
};

// A value of every lane. A uniform one is kept as a scalar until a vector is needed.
struct LaneValue {
  llvm::Value* value = nullptr;
  bool uniform = true;
};

// The value of a kInput instruction.
using InputFn = llvm::function_ref<LaneValue(const BodyInstr&)>;
// The value of a kLoad instruction that lies elsewhere than in its operand; without a value: it
// does not.
using StagedFn = llvm::function_ref<LaneValue(const BodyInstr&)>;

class VectorBody {
 public:
  // `body` and `emitter` must outlive this, and so must `row_sums`, what inputs are (null: nothing
  // special), and `hidden_errors`: for each instruction whether it may be off by more than f32
  // shows (KernelEmitter::hides_errors). Null: none may. `formulas`: those of `body`; null: none.
  VectorBody(KernelEmitter& emitter, const Body& body, const RowSums* row_sums = nullptr,
             const std::vector<bool>* hidden_errors = nullptr,
             const RowFormulas* formulas = nullptr)
      : emitter_(emitter),
        body_(body),
        row_sums_(row_sums),
        hidden_errors_(hidden_errors),
        formulas_(formulas) {}

  // Evaluates every instruction at `lanes`. `staged`: null where nothing is.
  void Evaluate(const Lanes& lanes, InputFn input, StagedFn staged = nullptr);
  // After Evaluate: the value of an instruction, in registers' form.
  const LaneValue& value(std::uint32_t instr) const { return values_[instr]; }
  llvm::Value* Vector(std::uint32_t instr);  // Splatted to the lanes' width if it is uniform.
  // Writes stores' values at the lanes of the last Evaluate.
  void Store(const std::vector<stoker::Store>& stores);

 private:
  LaneValue Load(const BodyInstr& instr);
  // A division by what is one value for all lanes and made of a sum in an earlier stage is a
  // multiplication, within 1.5 ulp, where that does not show: of exponentials, as softmax has them,
  // which are off by as much, and of what is rounded to 16 bits next.
  bool DividesByRowSum(const BodyInstr& instr) const;
  llvm::Value* DividedByRowSum(llvm::Value* x, std::uint32_t instr);
  LaneValue PointwiseOf(std::size_t number);  // Instruction.
  llvm::Value* Pointwise(const BodyInstr& instr, const Values& args);
  // As many lanes of a value, 1 or all.
  llvm::Value* ValueOf(std::uint32_t instr, int width) {
    return width == 1 ? values_[instr].value : Vector(instr);
  }
  // The instruction as a part of a formula of its row; null where it is none.
  llvm::Value* OfRow(const BodyInstr& instr, int width);
  // Where errors are hidden: the instruction and what it is made of as one function, if they are
  // one here; null otherwise.
  llvm::Value* Joined(const BodyInstr& instr, int width);

  KernelEmitter& emitter_;
  const Body& body_;
  const RowSums* row_sums_;
  const std::vector<bool>* hidden_errors_;
  const RowFormulas* formulas_;
  Lanes lanes_;
  std::vector<LaneValue> values_;
};

// Element offset of an access at `lanes`, without its indirect part: `scalar` is that of lane 0.
// Contiguous lanes have stride 1, uniform ones 0; otherwise `offsets` are the lanes' distances from
// `scalar`.
struct LaneOffset {
  llvm::Value* scalar = nullptr;
  enum class Kind { kUniform, kContiguous, kOffsets } kind = Kind::kUniform;
  llvm::Value* offsets = nullptr;  // <width x i64> or <width x i32>.
};
LaneOffset OffsetOf(KernelEmitter& emitter, const IndexMap& index, const Lanes& lanes);

// Loads and stores at an index map, for kernels that have no Body.
LaneValue LoadAt(KernelEmitter& emitter, const Access& access, const Lanes& lanes);
void StoreAt(KernelEmitter& emitter, const Access& access, const Lanes& lanes,
             const LaneValue& value);

}  // namespace stoker::codegen
