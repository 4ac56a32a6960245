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
        schedule_(schedule),
        emitter_(module, machine, dims, 3),
        width_(schedule.width),
        unroll_(schedule.unroll) {}

  void Emit() {
    emitter_.ForEachTask([&](llvm::Value* task) {
      index_.assign(func_.dims.size(), nullptr);
      PlaceTask(task);
      EmitNest(0);
    });
    emitter_.Finish();
  }

 private:
  // The part of the window that is the task's: index_ of its outer dims, and its lanes.
  void PlaceTask(llvm::Value* task) {
    Values extents;
    for (const int dim : schedule_.outer) extents.push_back(Extent(static_cast<std::size_t>(dim)));
    const bool has_block = schedule_.lane_block != 0;
    llvm::Value* block = emitter_.I64(schedule_.lane_block);
    if (has_block) {
      extents.push_back(emitter_.DivUp(Extent(func_.dims.size() - 1), schedule_.lane_block));
    }
    const Values at = emitter_.Unflatten(task, extents);
    for (std::size_t k = 0; k < schedule_.outer.size(); ++k) {
      index_[static_cast<std::size_t>(schedule_.outer[k])] = at[k];
    }
    first_lane_ = has_block ? emitter_.Mul(at.back(), block) : emitter_.I64(0);
    if (width_ == 1) return;
    end_lane_ = Extent(func_.dims.size() - 1);
    if (has_block) end_lane_ = emitter_.Min(emitter_.Add(first_lane_, block), end_lane_);
  }

  llvm::Value* Extent(std::size_t dim) { return emitter_.Dim(func_.dims[dim]); }

  void EmitNest(std::size_t dim) {
    const bool vector = width_ > 1 && dim + 1 == func_.dims.size();
    if (vector || dim == func_.dims.size()) {
      EmitUpdate();
      return;
    }
    if (index_[dim] != nullptr) {  // The task's.
      EmitNest(dim + 1);
      return;
    }
    emitter_.For(emitter_.I64(0), Extent(dim), 1, [&](llvm::Value* i) {
      index_[dim] = i;
      EmitNest(dim + 1);
      index_[dim] = nullptr;
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
    // The task's lanes that are in bounds.
    llvm::Value* begin = first_lane_;
    llvm::Value* end = end_lane_;
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

  void EmitLanes(const Lanes& lanes, llvm::Value* position) {
    const LaneValue update = LoadAt(emitter_, func_.update, lanes);
    llvm::Value* value = update.uniform ? emitter_.Splat(update.value, lanes.width) : update.value;
    const LaneOffset offset = OffsetOf(emitter_, func_.output.index, lanes);
    llvm::Value* pointer = emitter_.ElementPointer(emitter_.Buffer(0), func_.output.dtype,
                                                   emitter_.Add(offset.scalar, position));
    if (func_.kind != Combine::kAssign) {
      llvm::Value* old =
          emitter_.LoadLanes(0, func_.output.dtype, pointer, lanes.width, lanes.mask);
      value = EmitCombine(emitter_, func_.kind, func_.dtype, old, value);
    }
    emitter_.StoreLanes(0, func_.output.dtype, pointer, value, lanes.mask);
  }

  const ScatterFunc& func_;
  const ScatterSchedule& schedule_;
  X86Emitter emitter_;
  int width_;
  int unroll_;
  llvm::Value* first_lane_ = nullptr;
  llvm::Value* end_lane_ = nullptr;
  std::vector<llvm::Value*> index_;
};

}  // namespace

void EmitScatter(const ScatterFunc& func, const ScatterSchedule& schedule,
                 const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module) {
  ScatterEmitter(func, schedule, dims, machine, module).Emit();
}

}  // namespace stoker::codegen
