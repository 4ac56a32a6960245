// Scans, sorts and scatters, of which a thread does one point of some dims.
#include "compiler/codegen/nvptx/emit_cuda_ordered.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/codegen/llvm/body/pointwise.h"
#include "compiler/codegen/llvm/body/sort_key.h"
#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/llvm/math/float_rounding.h"
#include "compiler/codegen/nvptx/nvptx_emitter.h"

namespace stoker::codegen {
namespace {

// A kernel whose threads have a point each.
class ThreadEmitter {
 protected:
  ThreadEmitter(const CudaSchedule& schedule, const GpuMachine& machine, llvm::Module& module,
                std::vector<SymDim> extents, std::uint32_t num_operands)
      : emitter_(module, machine, schedule, num_operands),
        schedule_(schedule),
        extents_(std::move(extents)),
        dims_(std::get<ThreadSchedule>(schedule.how).dims),
        index_(extents_.size(), nullptr) {}

  llvm::IRBuilder<>& b() { return emitter_.b(); }

  // body() where this thread has a point, at which index_ is then.
  void ForPoint(llvm::function_ref<void()> body) {
    Values extents;
    llvm::Value* points = emitter_.I64(1);
    for (const int dim : dims_) {
      extents.push_back(emitter_.Dim(extents_[static_cast<std::size_t>(dim)]));
      points = emitter_.Mul(points, extents.back());
    }
    llvm::Value* block = emitter_.Mul(emitter_.BlockIndex(), emitter_.I64(schedule_.threads));
    llvm::Value* flat = emitter_.Add(block, emitter_.ThreadIndex());
    emitter_.If(b().CreateICmpSLT(flat, points), [&] {
      const Values at = emitter_.Unflatten(flat, extents);
      for (std::size_t i = 0; i < dims_.size(); ++i)
        index_[static_cast<std::size_t>(dims_[i])] = at[i];
      body();
    });
    emitter_.Finish();
  }

  Lanes Here() const {
    Lanes lanes;
    lanes.index = index_;
    return lanes;
  }

  NvptxEmitter emitter_;
  const CudaSchedule& schedule_;
  const std::vector<SymDim> extents_;  // Of the iteration dims.
  const std::vector<int>& dims_;       // Those that threads have a point of.
  std::vector<llvm::Value*> index_;
};

std::vector<SymDim> With(std::vector<SymDim> dims, const SymDim& last) {
  dims.push_back(last);
  return dims;
}

class ScanEmitter final : ThreadEmitter {
 public:
  ScanEmitter(const ScanFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
              llvm::Module& module)
      : ThreadEmitter(schedule, machine, module, With(func.outer, func.extent), NumOperands(func)),
        func_(func) {}

  void Emit() {
    ForPoint([&] {
      Values carried = {CombineIdentity(emitter_, func_.kind, func_.dtype)};
      emitter_.For(emitter_.I64(0), emitter_.Dim(func_.extent), 1, carried,
                   [&](llvm::Value* i, Values& sums) {
                     index_.back() = i;
                     llvm::Value* next =
                         EmitCombine(emitter_, func_.kind, func_.dtype, sums[0], Load());
                     Store(func_.exclusive ? sums[0] : next);
                     sums[0] = next;
                   });
    });
  }

 private:
  llvm::Value* Load() {
    llvm::Value* value = LoadAt(emitter_, func_.input, Here()).value;
    return IsFloat(func_.dtype) ? b().CreateFPExt(value, emitter_.LaneType(func_.dtype)) : value;
  }
  void Store(llvm::Value* value) {
    const DType dtype = func_.output.dtype;
    if (IsFloat(dtype) && emitter_.LaneType(dtype) != emitter_.LaneType(func_.dtype)) {
      value = dtype == DType::kF32 ? EmitFloat(emitter_, value)
                                   : EmitFloatRoundedToOdd(emitter_, value);
    }
    StoreAt(emitter_, func_.output, Here(), {value, true});
  }

  const ScanFunc& func_;
};

class SortEmitter final : ThreadEmitter {
 public:
  SortEmitter(const SortFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
              llvm::Module& module)
      : ThreadEmitter(schedule, machine, module, With(func.outer, func.extent), NumOperands(func)),
        func_(func) {}

  void Emit() {
    ForPoint([&] {
      llvm::Value* const own = index_.back();
      llvm::Value* const key = KeyHere();
      Values rank = {emitter_.I64(0)};
      emitter_.For(emitter_.I64(0), emitter_.Dim(func_.extent), 1, rank,
                   [&](llvm::Value* i, Values& before) {
                     index_.back() = i;
                     llvm::Value* other = KeyHere();
                     // Of equal ones the first stays the first.
                     llvm::Value* is_tie =
                         b().CreateAnd(b().CreateICmpEQ(other, key), b().CreateICmpSLT(i, own));
                     llvm::Value* is_before = b().CreateOr(b().CreateICmpULT(other, key), is_tie);
                     before[0] =
                         emitter_.Add(before[0], b().CreateZExt(is_before, b().getInt64Ty()));
                   });
      const auto store = [&] { StoreAll(own, rank[0]); };
      if (func_.keep < 0) {
        store();
      } else {
        emitter_.If(b().CreateICmpSLT(rank[0], emitter_.I64(func_.keep)), store);
      }
    });
  }

 private:
  llvm::Value* KeyHere() {
    llvm::Value* value = LoadAt(emitter_, func_.key, Here()).value;
    return SortKey(emitter_, func_.key.dtype, value, func_.descending);
  }

  // What lies at `from` is the result number `rank`.
  void StoreAll(llvm::Value* from, llvm::Value* rank) {
    for (std::size_t k = 0; k < func_.outputs.size(); ++k) {
      index_.back() = from;
      LaneValue value = {from, true};
      if (k == 0) value = LoadAt(emitter_, func_.key, Here());
      if (k > 0 && k <= func_.values.size()) {
        value = LoadAt(emitter_, func_.values[k - 1], Here());
      }
      index_.back() = rank;
      StoreAt(emitter_, func_.outputs[k], Here(), value);
    }
  }

  const SortFunc& func_;
};

class ScatterEmitter final : ThreadEmitter {
 public:
  ScatterEmitter(const ScatterFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                 llvm::Module& module)
      : ThreadEmitter(schedule, machine, module, func.dims, NumOperands(func)), func_(func) {}

  void Emit() {
    ForPoint([&] { EmitNest(0); });
  }

 private:
  void EmitNest(std::size_t dim) {
    if (dim == func_.dims.size()) return EmitUpdate();
    if (std::ranges::find(dims_, static_cast<int>(dim)) != dims_.end()) return EmitNest(dim + 1);
    emitter_.For(emitter_.I64(0), emitter_.Dim(func_.dims[dim]), 1, [&](llvm::Value* i) {
      index_[dim] = i;
      EmitNest(dim + 1);
    });
  }

  void EmitUpdate() {
    llvm::Value* valid = b().getTrue();
    llvm::Value* position = OffsetOf(emitter_, func_.output.index, Here()).scalar;
    for (std::size_t k = 0; k < func_.indices.size(); ++k) {
      llvm::Value* start = LoadAt(emitter_, func_.indices[k], Here()).value;
      start = b().CreateSExt(start, b().getInt64Ty());
      // A sum that wraps around is of a start so far outside that it is out of bounds, too.
      const int window = func_.window_dims[k];
      llvm::Value* at =
          window < 0 ? start : b().CreateAdd(start, index_[static_cast<std::size_t>(window)]);
      valid = b().CreateAnd(valid, b().CreateICmpULT(at, emitter_.Dim(func_.index_limits[k])));
      position =
          b().CreateAdd(position, b().CreateMul(start, emitter_.Dim(func_.index_strides[k])));
    }
    emitter_.If(valid, [&] { Combine(position); });
  }

  void Combine(llvm::Value* position) {
    llvm::Value* value = LoadAt(emitter_, func_.update, Here()).value;
    const DType dtype = func_.output.dtype;
    llvm::Value* place = emitter_.ElementPointer(emitter_.Buffer(0), dtype, position);
    if (func_.kind != stoker::Combine::kAssign) {
      llvm::Value* old = emitter_.LoadLanes(0, dtype, place, 1, nullptr);
      value = EmitCombine(emitter_, func_.kind, func_.dtype, old, value);
    }
    emitter_.StoreLanes(0, dtype, place, value, nullptr);
  }

  const ScatterFunc& func_;
};

}  // namespace

void EmitCudaScan(const ScanFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module) {
  ScanEmitter(func, schedule, machine, module).Emit();
}

void EmitCudaSort(const SortFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module) {
  SortEmitter(func, schedule, machine, module).Emit();
}

void EmitCudaScatter(const ScatterFunc& func, const CudaSchedule& schedule,
                     const GpuMachine& machine, llvm::Module& module) {
  ScatterEmitter(func, schedule, machine, module).Emit();
}

}  // namespace stoker::codegen
