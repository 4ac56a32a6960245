#include <algorithm>

#include "compiler/codegen/llvm/body/pointwise.h"
#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/llvm/emitter.h"
#include "compiler/codegen/x86/ordered/emit_ordered.h"

namespace stoker::codegen {
namespace {

bool Uses(const Access& access, int dim) {
  return std::any_of(access.index.terms.begin(), access.index.terms.end(),
                     [&](const IndexTerm& term) { return term.dim == dim; });
}

// The last dim is one of the window: all its points go to one place, side by side.
bool LastDimIsWindow(const ScatterFunc& func) {
  if (func.dims.empty()) return false;
  const int last = static_cast<int>(func.dims.size()) - 1;
  const bool indexed = std::any_of(func.indices.begin(), func.indices.end(),
                                   [&](const Access& index) { return Uses(index, last); });
  return !indexed && func.output.index.CoefficientOf(last) == SymDim(1);
}

LaunchShape ShapeOf(const ScatterFunc& func) {
  LaunchShape launch;
  launch.tasks = 1;  // Two updates may go to one place.
  DimTable dims;
  for (const SymDim& dim : func.dims) dims.Add(dim);
  dims.Add(func.update);
  for (const Access& index : func.indices) dims.Add(index);
  for (const SymDim& dim : func.index_limits) dims.Add(dim);
  for (const SymDim& dim : func.index_strides) dims.Add(dim);
  dims.Add(func.output);
  launch.dims = std::move(dims).Take();
  return launch;
}

class ScatterEmitter {
 public:
  ScatterEmitter(const ScatterFunc& func, const LaunchShape& launch, const CpuMachine& machine,
                 llvm::Module& module)
      : func_(func),
        emitter_(module, machine, launch.dims, 3),
        width_(LastDimIsWindow(func) ? machine.Lanes(func.dtype) : 1) {}

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
      emitter_.ForLanes(begin, end, width_, 2, none,
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
  KernelEmitter emitter_;
  int width_;
  std::vector<llvm::Value*> index_;
};

}  // namespace

Status EmitScatter(const ScatterFunc& func, const CpuMachine& machine, llvm::Module& module) {
  ScatterEmitter(func, ShapeOf(func), machine, module).Emit();
  return Ok();
}

Result<LaunchShape> LaunchShapeOfScatter(const ScatterFunc& func) { return ShapeOf(func); }

}  // namespace stoker::codegen
