// Sorting: keys become unsigned integers of the same order, in scratch; what is sorted are these
// and the positions they came from.
#include <algorithm>
#include <array>

#include "compiler/codegen/llvm/body/sort_key.h"
#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/codegen/x86/ordered/emit_ordered.h"

namespace stoker::codegen {
namespace {

class SortEmitter {
 public:
  SortEmitter(const SortFunc& func, const SortSchedule& schedule, const std::vector<SymDim>& dims,
              const CpuMachine& machine, llvm::Module& module)
      : func_(func),
        schedule_(schedule),
        has_work_(SortWorkElements(func).has_value()),
        array_bytes_(SortArrayBytes(func, schedule)),
        emitter_(module, machine, dims, NumOperands(func)),
        b_(emitter_.b()),
        extent_(emitter_.Dim(func.extent)),
        keep_(func.keep < 0 ? extent_ : emitter_.I64(func.keep)) {}

  void Emit() {
    emitter_.ForEachTask([&](llvm::Value* task) {
      Values extents;
      for (const SymDim& dim : func_.outer) extents.push_back(emitter_.Dim(dim));
      const Values at = emitter_.Unflatten(task, extents);
      index_.assign(at.begin(), at.end());
      index_.push_back(nullptr);
      FindBuffers(task);
      Sorted sorted = schedule_.insertion ? EmitInsertion() : EmitMergeSort();
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
  // Arrays of items.
  struct Sorted {
    llvm::Value* items = nullptr;
    llvm::Value* positions = nullptr;
  };

  // Arrays side by side: in scratch, or in this task's part of the work operand.
  void FindBuffers(llvm::Value* task) {
    std::vector<llvm::Value**> arrays;
    for (std::size_t i = 0; i < (schedule_.insertion ? 1U : 2U); ++i) {
      arrays.push_back(&buffers_[i].items);
      if (!schedule_.packed) arrays.push_back(&buffers_[i].positions);
    }
    const auto count = static_cast<std::int64_t>(arrays.size());
    for (std::int64_t i = 0; i < count; ++i) {
      llvm::Value*& array = *arrays[static_cast<std::size_t>(i)];
      if (!has_work_) {
        array = emitter_.Scratch(array_bytes_ * i);
        continue;
      }
      llvm::Value* before = emitter_.Add(emitter_.Mul(task, emitter_.I64(count)), emitter_.I64(i));
      array = emitter_.ElementPointer(emitter_.Buffer(WorkOperand()), DType::kI64,
                                      emitter_.Mul(before, extent_));
    }
  }

  std::uint32_t WorkOperand() const {
    return static_cast<std::uint32_t>(1 + func_.values.size() + func_.outputs.size());
  }
  // What accesses to the arrays are tagged with.
  std::uint32_t Memory() const { return has_work_ ? WorkOperand() : KernelEmitter::kScratch; }

  Item Load(const Sorted& array, llvm::Value* i) {
    const auto load = [&](llvm::Value* base) {
      llvm::Value* pointer = emitter_.ElementPointer(base, DType::kI64, i);
      return emitter_.LoadLanes(Memory(), DType::kI64, pointer, 1, nullptr);
    };
    return {load(array.items), schedule_.packed ? nullptr : load(array.positions)};
  }

  void Store(const Sorted& array, llvm::Value* i, const Item& item) {
    const auto store = [&](llvm::Value* base, llvm::Value* value) {
      llvm::Value* pointer = emitter_.ElementPointer(base, DType::kI64, i);
      emitter_.StoreLanes(Memory(), DType::kI64, pointer, value, nullptr);
    };
    store(array.items, item.key);
    if (!schedule_.packed) store(array.positions, item.position);
  }

  Item Choose(llvm::Value* condition, const Item& x, const Item& y) {
    return {b_.CreateSelect(condition, x.key, y.key),
            schedule_.packed ? nullptr : b_.CreateSelect(condition, x.position, y.position)};
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
    llvm::Value* key = SortKey(emitter_, func_.key.dtype, value, func_.descending);
    if (!schedule_.packed) return {key, position};
    key = b_.CreateShl(b_.CreateZExt(key, b_.getInt64Ty()), emitter_.I64(32));
    return {b_.CreateOr(key, position), nullptr};
  }

  // Bottom-up merge sort; the left item goes first when keys are equal.
  Sorted EmitMergeSort() {
    emitter_.For(emitter_.I64(0), extent_, 1,
                 [&](llvm::Value* i) { Store(buffers_[0], i, LoadKey(i)); });
    // The length of the runs that are in order, and the buffers in turn.
    Values pass = {emitter_.I64(1)};
    for (const Sorted& buffer : buffers_) {
      pass.push_back(buffer.items);
      if (!schedule_.packed) pass.push_back(buffer.positions);
    }
    const auto buffer_of = [&](const Values& values, std::size_t i) {
      return schedule_.packed ? Sorted{values[1 + i], nullptr}
                              : Sorted{values[1 + 2 * i], values[2 + 2 * i]};
    };
    emitter_.While(
        pass, [&](const Values& values) { return b_.CreateICmpSLT(values[0], extent_); },
        [&](Values& values) {
          const Sorted from = buffer_of(values, 0);
          const Sorted to = buffer_of(values, 1);
          llvm::Value* run = values[0];
          llvm::Value* next_run = emitter_.Add(run, run);
          Values at = {emitter_.I64(0)};
          emitter_.While(
              at, [&](const Values& begin) { return b_.CreateICmpSLT(begin[0], extent_); },
              [&](Values& begin) {
                EmitMerge(from, to, begin[0], run);
                begin[0] = emitter_.Add(begin[0], next_run);
              });
          values[0] = next_run;
          const std::size_t half = (values.size() - 1) / 2;
          for (std::size_t i = 1; i <= half; ++i) std::swap(values[i], values[i + half]);
        });
    return buffer_of(pass, 0);
  }

  // Merges the run at `begin` and the one after it, of `run` items each or what is left.
  void EmitMerge(const Sorted& from, const Sorted& to, llvm::Value* begin, llvm::Value* run) {
    llvm::Value* middle = emitter_.Min(emitter_.Add(begin, run), extent_);
    llvm::Value* end = emitter_.Min(emitter_.Add(middle, run), extent_);
    llvm::Value* last = b_.CreateSub(extent_, emitter_.I64(1));
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
  }

  // The first `keep` items, found in one pass: most elements are no better than the last of them.
  Sorted EmitInsertion() {
    const Sorted best = buffers_[0];
    if (func_.keep == 0) return best;
    llvm::Value* worst_at = emitter_.I64(func_.keep - 1);
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
    emitter_.For(emitter_.I64(0), keep_, 1, [&](llvm::Value* i) { insert(i, LoadKey(i)); });
    emitter_.For(keep_, extent_, 1, [&](llvm::Value* i) {
      const Item item = LoadKey(i);
      llvm::Value* better = b_.CreateICmpULT(item.key, Load(best, worst_at).key);
      emitter_.If(better, [&] { insert(worst_at, item); });
    });
    return best;
  }

  void EmitOutputs(const Sorted& sorted) {
    emitter_.For(emitter_.I64(0), keep_, 1, [&](llvm::Value* i) {
      const Item item = Load(sorted, i);
      llvm::Value* position =
          schedule_.packed ? b_.CreateAnd(item.key, emitter_.I64(0xffffffff)) : item.position;
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
  const SortSchedule& schedule_;
  bool has_work_;             // The last operand is memory to sort in.
  std::int64_t array_bytes_;  // Of one array of u64 in scratch.
  X86Emitter emitter_;
  llvm::IRBuilder<>& b_;
  llvm::Value* extent_;
  llvm::Value* keep_;
  std::array<Sorted, 2> buffers_;
  std::vector<llvm::Value*> index_;  // Outer indices, then that along the sorted dim.
};

}  // namespace

void EmitSort(const SortFunc& func, const SortSchedule& schedule, const std::vector<SymDim>& dims,
              const CpuMachine& machine, llvm::Module& module) {
  SortEmitter(func, schedule, dims, machine, module).Emit();
}

}  // namespace stoker::codegen
