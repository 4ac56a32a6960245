#include <algorithm>

#include "compiler/codegen/llvm/body/pointwise.h"
#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/codegen/x86/ordered/emit_ordered.h"

namespace stoker::codegen {
namespace {

class ScatterEmitter {
 public:
  ScatterEmitter(const ScatterFunc& func, const ScatterSchedule& schedule,
                 const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module)
      : func_(func),
        emitter_(module, machine, dims, 3),
        width_(schedule.width),
        unroll_(schedule.unroll) {}

  void Emit() {
    emitter_.ForEachTask([&](llvm::Value*) {
      index_.assign(func_.dims.size(), nullptr);
      EmitNest(0);
    });
    emitter_.Finish();
  }

 private:
  void EmitNest(std::size_t dim) {
    const bool vector = width_ > 1 && dim + 1 == func_.dims.size();
    if (vector || dim == func_.dims.size()) {
      EmitUpdate();
      return;
    }
    emitter_.For(emitter_.I64(0), emitter_.Dim(func_.dims[dim]), 1, [&](llvm::Value* i) {
      index_[dim] = i;
      EmitNest(dim + 1);
    });
  }

  Lanes LanesFor(int width, llvm::Value* mask) {
    Lanes lanes;
    lanes.width = width;
    lanes.dim = width > 1 ? static_cast<int>(func_.dims.size()) - 1 : -1;
    lanes.index = index_;
    lanes.mask = mask;
    return lanes;
  }

  // The updates at index_; with vectors, those of all lanes of the last dim.
  void EmitUpdate() {
    llvm::IRBuilder<>& b = emitter_.b();
    const bool vector = width_ > 1;
    const int last = static_cast<int>(func_.dims.size()) - 1;
    if (vector) index_.back() = emitter_.I64(0);
    llvm::Value* valid = b.getTrue();
    llvm::Value* position = emitter_.I64(0);
    // The lanes that are in bounds.
    llvm::Value* begin = emitter_.I64(0);
    llvm::Value* end = vector ? emitter_.Dim(func_.dims.back()) : nullptr;
    for (std::size_t k = 0; k < func_.indices.size(); ++k) {
      llvm::Value* start = LoadAt(emitter_, func_.indices[k], LanesFor(1, nullptr)).value;
      start = b.CreateSExt(start, b.getInt64Ty());
      llvm::Value* limit = emitter_.Dim(func_.index_limits[k]);
      const int window = func_.window_dims[k];
      // These sums and differences may wrap around: then the start is so far outside that what
      // they give is out of bounds too.
      if (vector && window == last) {
        begin = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, b.CreateNeg(start));
        end = emitter_.Min(end, b.CreateSub(limit, start));
      } else {
        llvm::Value* at =
            window < 0 ? start : b.CreateAdd(start, index_[static_cast<std::size_t>(window)]);
        valid = b.CreateAnd(valid, b.CreateICmpULT(at, limit));
      }
      position = b.CreateAdd(position, b.CreateMul(start, emitter_.Dim(func_.index_strides[k])));
    }
    if (vector) valid = b.CreateAnd(valid, b.CreateICmpSLT(begin, end));
    emitter_.If(valid, [&] {
      if (!vector) {
        EmitLanes(LanesFor(1, nullptr), position);
        return;
      }
      Values none;
      emitter_.ForLanes(begin, end, width_, unroll_, none,
                        [&](llvm::Value* first, int copies, llvm::Value* mask, Values&) {
                          for (int copy = 0; copy < copies; ++copy) {
                            index_.back() =
                                emitter_.Add(first, emitter_.I64(std::int64_t{copy} * width_));
                            EmitLanes(LanesFor(width_, mask), position);
                          }
                        });
    });
  }

  llvm::Value* Combine(llvm::Value* old, llvm::Value* update) {
    switch (func_.kind) {
      case ScatterFunc::Kind::kAssign:
        return update;
      case ScatterFunc::Kind::kAdd:
        return EmitCombine(emitter_, ReduceKind::kAdd, func_.dtype, old, update);
      case ScatterFunc::Kind::kMultiply:
        return EmitCombine(emitter_, ReduceKind::kMultiply, func_.dtype, old, update);
      case ScatterFunc::Kind::kMaximum:
        return EmitCombine(emitter_, ReduceKind::kMaximum, func_.dtype, old, update);
      case ScatterFunc::Kind::kMinimum:
        return EmitCombine(emitter_, ReduceKind::kMinimum, func_.dtype, old, update);
    }
    STOKER_CHECK(false);
    return nullptr;
  }

  void EmitLanes(const Lanes& lanes, llvm::Value* position) {
    const LaneValue update = LoadAt(emitter_, func_.update, lanes);
    llvm::Value* value = update.uniform ? emitter_.Splat(update.value, lanes.width) : update.value;
    const LaneOffset offset = OffsetOf(emitter_, func_.output.index, lanes);
    llvm::Value* pointer = emitter_.ElementPointer(emitter_.Buffer(0), func_.output.dtype,
                                                   emitter_.Add(offset.scalar, position));
    if (func_.kind != ScatterFunc::Kind::kAssign) {
      llvm::Value* old =
          emitter_.LoadLanes(0, func_.output.dtype, pointer, lanes.width, lanes.mask);
      value = Combine(old, value);
    }
    emitter_.StoreLanes(0, func_.output.dtype, pointer, value, lanes.mask);
  }

  const ScatterFunc& func_;
  X86Emitter emitter_;
  int width_;
  int unroll_;
  std::vector<llvm::Value*> index_;
};

}  // namespace

void EmitScatter(const ScatterFunc& func, const ScatterSchedule& schedule,
                 const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module) {
  ScatterEmitter(func, schedule, dims, machine, module).Emit();
}

}  // namespace stoker::codegen
