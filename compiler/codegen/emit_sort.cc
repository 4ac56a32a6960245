// Sorting: keys become unsigned integers of the same order, in scratch; what is sorted are these
// and the positions they came from.
#include <algorithm>

#include "compiler/codegen/emit_kernels.h"
#include "compiler/codegen/emitter.h"
#include "compiler/codegen/vector_body.h"

namespace stoker::codegen {
namespace {

// Up to here the first results are found by insertion in one pass.
constexpr std::int64_t kMaxInsertion = 64;

struct SortPlan {
  std::int64_t extent = 0;
  std::int64_t keep = 0;
  bool insertion = false;
  // Keys of 32 bits are sorted together with their positions, as key << 32 | position; others in
  // an array beside that of the positions.
  bool packed = true;
  std::int64_t items_offset[2] = {0, 0};      // Bytes in scratch; u64 items, two buffers.
  std::int64_t positions_offset[2] = {0, 0};  // Likewise, unless packed.
  LaunchShape launch;
};

Result<SortPlan> PlanSort(const SortFunc& func) {
  SortPlan plan;
  if (!func.extent.IsConstant()) {
    return Unimplemented("Sort along a dim of extent " + func.extent.ToString() +
                         ", which is not known when the kernel is compiled.");
  }
  plan.extent = func.extent.constant();
  constexpr std::int64_t kMaxExtent = INT64_C(1) << 31;
  if (plan.extent >= kMaxExtent) {
    return ResourceExhausted("Sort of " + std::to_string(plan.extent) +
                             " elements exceeds the limit of " + std::to_string(kMaxExtent) + ".");
  }
  plan.keep = func.keep < 0 ? plan.extent : std::min(func.keep, plan.extent);
  plan.packed = SizeInBytes(func.key.dtype) <= 4;
  plan.insertion = plan.keep <= kMaxInsertion && plan.keep < plan.extent;
  const std::int64_t items = plan.insertion ? plan.keep + 1 : plan.extent;
  const int buffers = plan.insertion ? 1 : 2;
  for (int i = 0; i < buffers; ++i) {
    plan.items_offset[i] = plan.launch.scratch_bytes;
    plan.launch.scratch_bytes += (items * 8 + 63) / 64 * 64;
    if (plan.packed) continue;
    plan.positions_offset[i] = plan.launch.scratch_bytes;
    plan.launch.scratch_bytes += (items * 8 + 63) / 64 * 64;
  }
  LaunchShape& launch = plan.launch;
  launch.tasks = ProductOf(func.outer);
  launch.min_tasks_per_chunk =
      MinTasksPerChunk(static_cast<double>(plan.extent) * (plan.insertion ? 2 : 40));
  DimTable dims;
  for (const SymDim& dim : func.outer) dims.Add(dim);
  dims.Add(func.key);
  for (const Access& value : func.values) dims.Add(value);
  for (const Access& output : func.outputs) dims.Add(output);
  launch.dims = std::move(dims).Take();
  return plan;
}

class SortEmitter {
 public:
  SortEmitter(const SortFunc& func, const SortPlan& plan, const Machine& machine,
              llvm::Module& module)
      : func_(func),
        plan_(plan),
        emitter_(module, machine, plan.launch.dims,
                 static_cast<std::uint32_t>(1 + func.values.size() + func.outputs.size())),
        b_(emitter_.b()) {}

  void Emit() {
    emitter_.ForEachTask([&](llvm::Value* task) {
      Values extents;
      for (const SymDim& dim : func_.outer) extents.push_back(emitter_.Dim(dim));
      const Values at = emitter_.Unflatten(task, extents);
      index_.assign(at.begin(), at.end());
      index_.push_back(nullptr);
      Sorted sorted = plan_.insertion ? EmitInsertion() : EmitMergeSort();
      EmitOutputs(sorted);
    });
    emitter_.Finish();
  }

 private:
  // An item: its key in sorting order and, unless packed, its position.
  struct Item {
    llvm::Value* key = nullptr;
    llvm::Value* position = nullptr;
  };
  // Arrays of items in scratch.
  struct Sorted {
    llvm::Value* items = nullptr;
    llvm::Value* positions = nullptr;
  };

  Sorted Buffer(int i) {
    return {emitter_.Scratch(plan_.items_offset[i]), emitter_.Scratch(plan_.positions_offset[i])};
  }

  Item Load(const Sorted& array, llvm::Value* i) {
    const auto load = [&](llvm::Value* base) {
      llvm::Value* pointer = emitter_.ElementPointer(base, DType::kI64, i);
      return emitter_.LoadLanes(KernelEmitter::kScratch, DType::kI64, pointer, 1, nullptr);
    };
    return {load(array.items), plan_.packed ? nullptr : load(array.positions)};
  }

  void Store(const Sorted& array, llvm::Value* i, const Item& item) {
    const auto store = [&](llvm::Value* base, llvm::Value* value) {
      llvm::Value* pointer = emitter_.ElementPointer(base, DType::kI64, i);
      emitter_.StoreLanes(KernelEmitter::kScratch, DType::kI64, pointer, value, nullptr);
    };
    store(array.items, item.key);
    if (!plan_.packed) store(array.positions, item.position);
  }

  Item Choose(llvm::Value* condition, const Item& x, const Item& y) {
    return {b_.CreateSelect(condition, x.key, y.key),
            plan_.packed ? nullptr : b_.CreateSelect(condition, x.position, y.position)};
  }

  Lanes At(llvm::Value* position) {
    Lanes lanes;
    lanes.index = index_;
    lanes.index.back() = position;
    return lanes;
  }

  // The key at a position of the input: an unsigned integer that sorts ascending.
  Item LoadKey(llvm::Value* position) {
    llvm::Value* value = LoadAt(emitter_, func_.key, At(position)).value;
    llvm::Type* type = value->getType();
    const DType dtype = func_.key.dtype;
    llvm::Value* key = nullptr;
    if (type->isFloatingPointTy()) {
      llvm::Value* zero = llvm::Constant::getNullValue(type);
      value = b_.CreateSelect(b_.CreateFCmpOEQ(value, zero), zero, value);  // -0 equals 0.
      const unsigned bits = type->getScalarSizeInBits();
      llvm::Type* integer = b_.getIntNTy(bits);
      llvm::Value* word = b_.CreateBitCast(value, integer);
      llvm::Value* sign = llvm::ConstantInt::get(integer, llvm::APInt::getSignMask(bits));
      llvm::Value* negative = b_.CreateICmpSLT(word, llvm::Constant::getNullValue(integer));
      key = b_.CreateSelect(negative, b_.CreateNot(word), b_.CreateOr(word, sign));
      llvm::Value* nan = b_.CreateFCmpUNO(value, value);
      key = b_.CreateSelect(nan, llvm::Constant::getAllOnesValue(integer), key);
    } else {
      const bool is_signed = dtype != DType::kU8 && dtype != DType::kBool;
      const unsigned bits = SizeInBytes(dtype) == 8 ? 64 : 32;
      llvm::Type* integer = b_.getIntNTy(bits);
      key = is_signed ? b_.CreateSExt(value, integer) : b_.CreateZExt(value, integer);
      if (is_signed) {
        key = b_.CreateXor(key, llvm::ConstantInt::get(integer, llvm::APInt::getSignMask(bits)));
      }
    }
    if (func_.descending) key = b_.CreateNot(key);
    if (!plan_.packed) return {key, position};
    key = b_.CreateShl(b_.CreateZExt(key, b_.getInt64Ty()), emitter_.I64(32));
    return {b_.CreateOr(key, position), nullptr};
  }

  // Bottom-up merge sort; the left item goes first when keys are equal.
  Sorted EmitMergeSort() {
    llvm::Value* count = emitter_.I64(plan_.extent);
    Sorted from = Buffer(0);
    Sorted to = Buffer(1);
    emitter_.For(emitter_.I64(0), count, 1, [&](llvm::Value* i) { Store(from, i, LoadKey(i)); });
    llvm::Value* last = emitter_.I64(std::max<std::int64_t>(plan_.extent - 1, 0));
    for (std::int64_t run = 1; run < plan_.extent; run *= 2) {
      emitter_.For(emitter_.I64(0), count, 2 * run, [&](llvm::Value* begin) {
        llvm::Value* middle = emitter_.Min(emitter_.Add(begin, emitter_.I64(run)), count);
        llvm::Value* end = emitter_.Min(emitter_.Add(begin, emitter_.I64(2 * run)), count);
        Values heads = {begin, middle};
        emitter_.For(begin, end, 1, heads, [&](llvm::Value* out, Values& at) {
          // A head that has run out reads some item; it is not taken.
          const Item left = Load(from, emitter_.Min(at[0], last));
          const Item right = Load(from, emitter_.Min(at[1], last));
          llvm::Value* in_order = b_.CreateICmpULE(left.key, right.key);
          llvm::Value* right_done = b_.CreateICmpSGE(at[1], end);
          llvm::Value* take_left =
              b_.CreateAnd(b_.CreateICmpSLT(at[0], middle), b_.CreateOr(right_done, in_order));
          Store(to, out, Choose(take_left, left, right));
          llvm::Value* step = b_.CreateZExt(take_left, b_.getInt64Ty());
          at[0] = b_.CreateAdd(at[0], step);
          at[1] = b_.CreateAdd(at[1], b_.CreateSub(emitter_.I64(1), step));
        });
      });
      std::swap(from, to);
    }
    return from;
  }

  // The first `keep` items, found in one pass: most elements are no better than the last of them.
  Sorted EmitInsertion() {
    const Sorted best = Buffer(0);
    llvm::Value* keep = emitter_.I64(plan_.keep);
    if (plan_.keep == 0) return best;
    llvm::Value* worst_at = emitter_.I64(plan_.keep - 1);
    const auto insert = [&](llvm::Value* end, const Item& item) {
      // Moves what is greater one place up, from `end` down.
      Values at = {end};
      emitter_.While(
          at,
          [&](const Values& v) {
            llvm::Value* inside = b_.CreateICmpSGT(v[0], emitter_.I64(0));
            llvm::Value* before =
                b_.CreateSelect(inside, b_.CreateSub(v[0], emitter_.I64(1)), v[0]);
            return b_.CreateAnd(inside, b_.CreateICmpUGT(Load(best, before).key, item.key));
          },
          [&](Values& v) {
            llvm::Value* before = b_.CreateSub(v[0], emitter_.I64(1));
            Store(best, v[0], Load(best, before));
            v[0] = before;
          });
      Store(best, at[0], item);
    };
    emitter_.For(emitter_.I64(0), keep, 1, [&](llvm::Value* i) { insert(i, LoadKey(i)); });
    emitter_.For(keep, emitter_.I64(plan_.extent), 1, [&](llvm::Value* i) {
      const Item item = LoadKey(i);
      llvm::Value* better = b_.CreateICmpULT(item.key, Load(best, worst_at).key);
      emitter_.If(better, [&] { insert(worst_at, item); });
    });
    return best;
  }

  void EmitOutputs(const Sorted& sorted) {
    emitter_.For(emitter_.I64(0), emitter_.I64(plan_.keep), 1, [&](llvm::Value* i) {
      const Item item = Load(sorted, i);
      llvm::Value* position =
          plan_.packed ? b_.CreateAnd(item.key, emitter_.I64(0xffffffff)) : item.position;
      for (std::size_t k = 0; k < func_.outputs.size(); ++k) {
        LaneValue value = {position, true};
        if (k == 0) value = LoadAt(emitter_, func_.key, At(position));
        if (k > 0 && k <= func_.values.size()) {
          value = LoadAt(emitter_, func_.values[k - 1], At(position));
        }
        StoreAt(emitter_, func_.outputs[k], At(i), value);
      }
    });
  }

  const SortFunc& func_;
  const SortPlan& plan_;
  KernelEmitter emitter_;
  llvm::IRBuilder<>& b_;
  std::vector<llvm::Value*> index_;  // Outer indices, then that along the sorted dim.
};

}  // namespace

Status EmitSort(const SortFunc& func, const Target& target, llvm::Module& module) {
  STOKER_TRY(const Machine machine, MachineOf(target));
  STOKER_TRY(const SortPlan plan, PlanSort(func));
  SortEmitter(func, plan, machine, module).Emit();
  return Ok();
}

Result<LaunchShape> LaunchShapeOfSort(const SortFunc& func, const Target& target) {
  STOKER_RETURN_IF_ERROR(MachineOf(target));
  STOKER_TRY(SortPlan plan, PlanSort(func));
  return std::move(plan.launch);
}

}  // namespace stoker::codegen
