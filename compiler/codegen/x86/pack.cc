// Packing of B into panels; see PackedLayout in contraction_func.h. A task is one panel of one
// batch.
#include "compiler/codegen/x86/pack.h"

#include <algorithm>

#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/x86/emitter/transpose.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"

namespace stoker::codegen {
namespace {

constexpr std::uint32_t kSource = 0;
constexpr std::uint32_t kPacked = 1;

class PackEmitter {
 public:
  PackEmitter(X86Emitter& emitter, const PackFunc& func, const PackSchedule& schedule)
      : e_(emitter),
        func_(func),
        schedule_(schedule),
        width_(schedule.width),
        n_dim_(static_cast<int>(func.batch.size() + func.k.size())) {}

  void Emit() {
    e_.ForEachTask([&](llvm::Value* task) {
      const Values at = e_.Unflatten(task, {e_.I64(0), e_.Dim(PanelsOf(func_))});
      batch_ = e_.Unflatten(at[0], Extents(func_.batch));
      first_column_ = e_.Mul(at[1], e_.I64(func_.layout.nr));
      columns_ = e_.Sub(e_.Dim(func_.n), first_column_);
      llvm::Value* elements =
          e_.Mul(e_.Mul(task, e_.Dim(PaddedDepth(func_))), e_.I64(func_.layout.nr));
      panel_ = e_.b().CreateGEP(e_.MemoryType(func_.layout.dtype), e_.Buffer(kPacked), elements);
      if (schedule_.transposed) {
        EmitTransposed();
      } else {
        EmitDirect();
      }
    });
  }

 private:
  // What lies together in a panel: kr elements of one column.
  int UnitBytes() const {
    return static_cast<int>(func_.layout.kr) * SizeInBytes(func_.layout.dtype);
  }

  Values Extents(const std::vector<SymDim>& dims) {
    Values extents;
    for (const SymDim& dim : dims) extents.push_back(e_.Dim(dim));
    return extents;
  }

  Lanes LanesAt(llvm::Value* k, llvm::Value* column, int width) {
    Lanes lanes;
    lanes.width = width;
    lanes.dim = width == 1 ? -1 : n_dim_;
    for (llvm::Value* index : batch_) lanes.index.push_back(index);
    for (llvm::Value* index : e_.Unflatten(k, Extents(func_.k))) lanes.index.push_back(index);
    lanes.index.push_back(column);
    lanes.aligned = true;
    return lanes;
  }

  void StoreUnits(llvm::Value* k_unit, llvm::Value* column, llvm::Value* value) {
    llvm::Value* unit = e_.Add(e_.Mul(k_unit, e_.I64(func_.layout.nr)), column);
    llvm::Type* type = e_.b().getIntNTy(static_cast<unsigned>(UnitBytes()) * 8);
    llvm::Value* pointer = e_.b().CreateGEP(type, panel_, unit);
    e_.TagAccess(e_.b().CreateAlignedStore(value, pointer,
                                           llvm::Align(static_cast<std::uint64_t>(UnitBytes()))),
                 kPacked);
  }

  // kr values of each column, in memory's form, as one integer of UnitBytes a column.
  llvm::Value* Combine(llvm::ArrayRef<llvm::Value*> values) {
    llvm::IRBuilder<>& b = e_.b();
    const int bits = 8 * SizeInBytes(func_.layout.dtype);
    llvm::Type* narrow = KernelEmitter::VectorOf(b.getIntNTy(static_cast<unsigned>(bits)), width_);
    llvm::Type* wide =
        KernelEmitter::VectorOf(b.getIntNTy(static_cast<unsigned>(UnitBytes()) * 8), width_);
    llvm::Value* unit = nullptr;
    for (std::size_t i = 0; i < values.size(); ++i) {
      llvm::Value* part = b.CreateBitCast(e_.ToMemory(func_.layout.dtype, values[i]), narrow);
      part = b.CreateZExtOrBitCast(part, wide);
      if (i > 0) {
        part =
            b.CreateShl(part, llvm::ConstantInt::get(wide, i * static_cast<std::uint64_t>(bits)));
      }
      unit = unit == nullptr ? part : b.CreateOr(unit, part);
    }
    return unit;
  }

  // The packed type of a loaded value: integers may widen.
  llvm::Value* Convert(llvm::Value* value) {
    llvm::Type* type = e_.LaneType(func_.layout.dtype);
    if (func_.source.dtype == DType::kBool || !IsInteger(func_.source.dtype)) {
      return value->getType()->getScalarType() == type
                 ? value
                 : e_.b().CreateZExt(value, KernelEmitter::VectorOf(type, width_));
    }
    return e_.b().CreateIntCast(value, KernelEmitter::VectorOf(type, width_),
                                func_.source.dtype != DType::kU8);
  }

  llvm::Value* LoadColumns(llvm::Value* k, llvm::Value* column, llvm::Value* mask) {
    Lanes lanes = LanesAt(k, column, width_);
    lanes.mask = mask;
    const auto vector = [&](const Access& access) {
      const LaneValue value = LoadAt(e_, access, lanes);
      return value.uniform ? e_.Splat(value.value, width_) : value.value;
    };
    llvm::Value* value = vector(func_.source);
    if (func_.has_scale) value = e_.b().CreateFMul(value, vector(func_.scale));
    return Convert(value);
  }

  // Reads vectors of columns, gathered where N is strided.
  void EmitDirect() {
    const std::int64_t kr = func_.layout.kr;
    llvm::Value* depth = e_.Dim(ProductOf(func_.k));
    const auto emit = [&](llvm::Value* unit, bool partial) {
      e_.For(e_.I64(0), e_.I64(func_.layout.nr), width_, [&](llvm::Value* column) {
        llvm::Value* mask = e_.TailMask(e_.Sub(columns_, column), width_);
        Values values;
        for (std::int64_t i = 0; i < kr; ++i) {
          llvm::Value* k = e_.Add(e_.Mul(unit, e_.I64(kr)), e_.I64(i));
          llvm::Value* active = mask;
          if (partial) {
            llvm::Value* inside = e_.b().CreateICmpSLT(k, depth);
            active = e_.Splat(inside, width_);
            if (mask != nullptr) active = e_.b().CreateAnd(mask, active);
            k = e_.b().CreateSelect(inside, k, e_.I64(0));
          }
          llvm::Value* value = LoadColumns(k, e_.Add(first_column_, column), active);
          if (active != nullptr) {
            // A uniform or scaled value is not zero by itself where it is inactive.
            llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
            value = e_.b().CreateSelect(active, value, zero);
          }
          values.push_back(value);
        }
        StoreUnits(unit, column, Combine(values));
      });
    };
    llvm::Value* whole = e_.b().CreateUDiv(depth, e_.I64(kr));
    llvm::Value* all = e_.b().CreateUDiv(e_.Dim(PaddedDepth(func_)), e_.I64(kr));
    e_.For(e_.I64(0), whole, 1, [&](llvm::Value* unit) { emit(unit, false); });
    e_.For(whole, all, 1, [&](llvm::Value* unit) { emit(unit, true); });
  }

  // `width_` units of the row of one column, starting at flat k. Elements from `active` on are
  // zeros; null: all are there.
  llvm::Value* LoadRun(llvm::Value* row, llvm::Value* k, llvm::Value* active, llvm::Value* scale) {
    llvm::IRBuilder<>& b = e_.b();
    const DType from = func_.source.dtype;
    const int elements = width_ * static_cast<int>(func_.layout.kr);
    llvm::Type* units =
        KernelEmitter::VectorOf(b.getIntNTy(static_cast<unsigned>(UnitBytes()) * 8), width_);
    llvm::Value* mask = active == nullptr ? nullptr : e_.TailMask(active, elements);
    llvm::Value* pointer = e_.ElementPointer(row, from, k);
    if (from == func_.layout.dtype && scale == nullptr && SizeInBytes(from) == 2) {
      return b.CreateBitCast(e_.LoadLanes(kSource, DType::kI16, pointer, elements, mask), units);
    }
    llvm::Value* value = e_.LoadLanes(kSource, from, pointer, elements, mask);
    if (scale != nullptr) value = b.CreateFMul(value, e_.Splat(scale, elements));
    if (func_.layout.kr == 1) value = Convert(value);
    return b.CreateBitCast(e_.ToMemory(func_.layout.dtype, value), units);
  }

  void EmitTransposed() {
    llvm::IRBuilder<>& b = e_.b();
    const std::int64_t kr = func_.layout.kr;
    llvm::Value* depth = e_.Dim(ProductOf(func_.k));
    llvm::Value* units = b.CreateUDiv(e_.Dim(PaddedDepth(func_)), e_.I64(kr));
    const int columns = width_;
    e_.For(e_.I64(0), e_.I64(func_.layout.nr), columns, [&](llvm::Value* column) {
      // Columns past N repeat the last one and are cleared after loading.
      Values rows;
      Values valid;
      Values scales;
      for (int i = 0; i < columns; ++i) {
        llvm::Value* at = e_.Add(column, e_.I64(i));
        valid.push_back(b.CreateICmpSLT(at, columns_));
        llvm::Value* n = e_.Add(first_column_, e_.Min(at, e_.Sub(columns_, e_.I64(1))));
        const Lanes lanes = LanesAt(e_.I64(0), n, 1);
        rows.push_back(e_.ElementPointer(e_.Buffer(kSource), func_.source.dtype,
                                         OffsetOf(e_, func_.source.index, lanes).scalar));
        scales.push_back(func_.has_scale ? LoadAt(e_, func_.scale, lanes).value : nullptr);
      }
      const auto emit = [&](llvm::Value* unit, bool tail) {
        llvm::Value* k = e_.Mul(unit, e_.I64(kr));
        Values block;
        for (std::size_t i = 0; i < rows.size(); ++i) {
          llvm::Value* active =
              tail ? b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e_.Sub(depth, k), e_.I64(0))
                   : nullptr;
          llvm::Value* run = LoadRun(rows[i], k, active, scales[i]);
          block.push_back(
              b.CreateSelect(valid[i], run, llvm::Constant::getNullValue(run->getType())));
        }
        Transpose(e_, block);
        for (std::size_t i = 0; i < block.size(); ++i) {
          llvm::Value* row = e_.Add(unit, e_.I64(static_cast<std::int64_t>(i)));
          if (!tail) {
            StoreUnits(row, column, block[i]);
            continue;
          }
          e_.If(b.CreateICmpSLT(row, units), [&] { StoreUnits(row, column, block[i]); });
        }
      };
      llvm::Value* whole = b.CreateUDiv(depth, e_.I64(width_ * kr));
      whole = e_.Mul(whole, e_.I64(width_));
      e_.For(e_.I64(0), whole, width_, [&](llvm::Value* unit) { emit(unit, false); });
      e_.For(whole, units, width_, [&](llvm::Value* unit) { emit(unit, true); });
    });
  }

  X86Emitter& e_;
  const PackFunc& func_;
  const PackSchedule& schedule_;
  int width_;  // Units in a vector.
  int n_dim_;  // The iteration dim of n in the accesses.
  Values batch_;
  llvm::Value* first_column_ = nullptr;
  llvm::Value* columns_ = nullptr;  // Columns from first_column_ to N.
  llvm::Value* panel_ = nullptr;
};

}  // namespace

void EmitPack(const PackFunc& func, const PackSchedule& schedule, const std::vector<SymDim>& dims,
              const CpuMachine& machine, llvm::Module& module) {
  X86Emitter emitter(module, machine, dims, func.has_scale ? 3 : 2);
  PackEmitter(emitter, func, schedule).Emit();
  emitter.Finish();
}

}  // namespace stoker::codegen
