#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/llvm/body/pointwise.h"
#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/llvm/math/float_rounding.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/codegen/x86/ordered/emit_ordered.h"

namespace stoker::codegen {
namespace {

class ScanEmitter {
 public:
  ScanEmitter(const ScanFunc& func, const ScanSchedule& schedule, const std::vector<SymDim>& dims,
              const CpuMachine& machine, llvm::Module& module)
      : func_(func),
        schedule_(schedule),
        emitter_(module, machine, dims, 2),
        width_(schedule.width),
        dim_(func.outer.size()) {}

  void Emit() {
    emitter_.ForEachTask([&](llvm::Value* task) {
      Values extents;
      for (const SymDim& dim : func_.outer) extents.push_back(emitter_.Dim(dim));
      const bool outer_lanes = schedule_.lanes_are_outer;
      llvm::Value* last = outer_lanes ? extents.back() : nullptr;
      if (outer_lanes) extents.back() = emitter_.DivUp(last, schedule_.lane_block);
      const Values at = emitter_.Unflatten(task, extents);
      index_.assign(at.begin(), at.end());
      index_.push_back(nullptr);
      if (outer_lanes) {
        EmitOuterLanes(emitter_.Mul(at.back(), emitter_.I64(schedule_.lane_block)), last);
      } else {
        EmitAlong();
      }
    });
    emitter_.Finish();
  }

 private:
  llvm::Value* Merge(llvm::Value* x, llvm::Value* y) {
    return EmitCombine(emitter_, func_.kind, func_.dtype, x, y);
  }
  llvm::Value* Identity(int width) {
    return emitter_.Splat(CombineIdentity(emitter_, func_.kind, func_.dtype), width);
  }
  Lanes LanesAlong(std::size_t dim, llvm::Value* mask) {
    Lanes lanes;
    lanes.width = width_;
    lanes.dim = static_cast<int>(dim);
    lanes.index = index_;
    lanes.mask = mask;
    lanes.aligned = true;
    return lanes;
  }
  llvm::Value* Load(const Lanes& lanes) {
    const LaneValue loaded = LoadAt(emitter_, func_.input, lanes);
    llvm::Value* value = loaded.uniform ? emitter_.Splat(loaded.value, width_) : loaded.value;
    llvm::Type* type = KernelEmitter::VectorOf(emitter_.LaneType(func_.dtype), width_);
    return IsFloat(func_.dtype) ? emitter_.b().CreateFPExt(value, type) : value;
  }
  void Store(const Lanes& lanes, llvm::Value* value) {
    const DType dtype = func_.output.dtype;
    if (IsFloat(dtype) && emitter_.LaneType(dtype) != emitter_.LaneType(func_.dtype)) {
      value = dtype == DType::kF32 ? EmitFloat(emitter_, value)
                                   : EmitFloatRoundedToOdd(emitter_, value);
    }
    StoreAt(emitter_, func_.output, lanes, {value, false});
  }

  // Every lane scans its own row.
  void EmitOuterLanes(llvm::Value* begin, llvm::Value* extent) {
    llvm::Value* end =
        emitter_.Min(emitter_.Add(begin, emitter_.I64(schedule_.lane_block)), extent);
    Values none;
    emitter_.ForLanes(begin, end, width_, schedule_.unroll, none,
                      [&](llvm::Value* first, int copies, llvm::Value* mask, Values&) {
                        Values carried(static_cast<std::size_t>(copies), Identity(width_));
                        emitter_.For(emitter_.I64(0), emitter_.Dim(func_.extent), 1, carried,
                                     [&](llvm::Value* i, Values& sums) {
                                       index_[dim_] = i;
                                       for (std::size_t copy = 0; copy < sums.size(); ++copy) {
                                         const auto lane = static_cast<std::int64_t>(copy) * width_;
                                         index_[dim_ - 1] = emitter_.Add(first, emitter_.I64(lane));
                                         const Lanes lanes = LanesAlong(dim_ - 1, mask);
                                         llvm::Value* next = Merge(sums[copy], Load(lanes));
                                         Store(lanes, func_.exclusive ? sums[copy] : next);
                                         sums[copy] = next;
                                       }
                                     });
                      });
  }

  // value[i] becomes value[i - distance], the first ones `fill`.
  llvm::Value* ShiftLanes(llvm::Value* value, llvm::Value* fill, int distance) {
    llvm::SmallVector<int, 16> lanes;
    for (int i = 0; i < width_; ++i) {
      lanes.push_back(i < distance ? width_ + i : i - distance);
    }
    return emitter_.b().CreateShuffleVector(value, fill, lanes);
  }

  llvm::Value* ScanInTurn(llvm::Value* total, llvm::Value* value) {
    llvm::IRBuilder<>& b = emitter_.b();
    llvm::Value* last = b.CreateExtractElement(total, std::uint64_t{0});
    for (std::uint64_t lane = 0; lane < static_cast<std::uint64_t>(width_); ++lane) {
      last = Merge(last, b.CreateExtractElement(value, lane));
      value = b.CreateInsertElement(value, last, lane);
    }
    return value;
  }

  // Neither 0 nor subnormal, nor infinite, nor NaN.
  llvm::Value* IsNormal(llvm::Value* x) {
    llvm::IRBuilder<>& b = emitter_.b();
    llvm::Value* size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    return b.CreateAnd(b.CreateFCmpOGE(size, llvm::ConstantFP::get(x->getType(), 0x1p-1022)),
                       b.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(x->getType())));
  }

  // A product of some factors may overflow or vanish where the one of all does not, and a product
  // that did either stays so. There factors are multiplied one after the other.
  llvm::Value* ScanProducts(llvm::Value* total, llvm::Value* value) {
    llvm::IRBuilder<>& b = emitter_.b();
    llvm::Value* partial = ScanByDoubling(Identity(width_), value);
    llvm::Value* result = Merge(total, partial);
    llvm::Value* zero = llvm::Constant::getNullValue(total->getType());
    llvm::Value* is_final =
        b.CreateOr(b.CreateFCmpUEQ(total, zero),
                   b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, total),
                                   llvm::ConstantFP::getInfinity(total->getType())));
    llvm::Value* fits = b.CreateAnd(IsNormal(partial), b.CreateOr(IsNormal(result), is_final));
    Values carried = {result, b.CreateNot(b.CreateAndReduce(fits))};
    emitter_.While(
        carried, [](const Values& values) { return values[1]; },
        [&](Values& values) {
          values = {ScanInTurn(total, value), b.getFalse()};
        });
    return carried[0];
  }

  // Partial results of neighbours, then what came before is added.
  llvm::Value* ScanByDoubling(llvm::Value* total, llvm::Value* value) {
    llvm::Value* identity = Identity(width_);
    for (int distance = 1; distance < width_; distance *= 2) {
      value = Merge(ShiftLanes(value, identity, distance), value);
    }
    return Merge(total, value);
  }

  // The lanes scan neighbours.
  void EmitAlong() {
    Values carried = {Identity(width_)};  // The total so far, in every lane.
    emitter_.ForLanes(
        emitter_.I64(0), emitter_.Dim(func_.extent), width_, 1, carried,
        [&](llvm::Value* first, int, llvm::Value* mask, Values& totals) {
          llvm::IRBuilder<>& b = emitter_.b();
          index_[dim_] = first;
          const Lanes lanes = LanesAlong(dim_, mask);
          llvm::Value* value = Load(lanes);
          llvm::Value* identity = Identity(width_);
          if (mask != nullptr) value = b.CreateSelect(mask, value, identity);
          value = func_.kind == Combine::kMultiply && IsFloat(func_.dtype)
                      ? ScanProducts(totals[0], value)
                      : ScanByDoubling(totals[0], value);
          llvm::Value* out = func_.exclusive ? ShiftLanes(value, totals[0], 1) : value;
          Store(lanes, out);
          const llvm::SmallVector<int, 16> last(static_cast<std::size_t>(width_), width_ - 1);
          totals[0] = b.CreateShuffleVector(value, last);
        });
  }

  const ScanFunc& func_;
  const ScanSchedule& schedule_;
  X86Emitter emitter_;
  int width_;
  std::size_t dim_;  // The scanned one.
  std::vector<llvm::Value*> index_;
};

}  // namespace

void EmitScan(const ScanFunc& func, const ScanSchedule& schedule, const std::vector<SymDim>& dims,
              const CpuMachine& machine, llvm::Module& module) {
  ScanEmitter(func, schedule, dims, machine, module).Emit();
}

}  // namespace stoker::codegen
