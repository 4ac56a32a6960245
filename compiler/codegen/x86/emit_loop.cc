#include "compiler/codegen/x86/emit_loop.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/codegen/llvm/body/pointwise.h"
#include "compiler/codegen/llvm/body/reducer.h"
#include "compiler/codegen/llvm/body/row_sums.h"
#include "compiler/codegen/llvm/body/sum_cascade.h"
#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/x86/emitter/x86_emitter.h"
#include "compiler/schedule/cpu/loop_schedule.h"

namespace stoker::codegen {
namespace {

class LoopEmitter {
 public:
  LoopEmitter(const LoopFunc& func, const LoopSchedule& schedule, const LoopRows& rows,
              const std::vector<SymDim>& dims, const CpuMachine& machine, llvm::Module& module)
      : schedule_(schedule),
        func_(func),
        without_rows_(schedule.row_dim >= 0 ? WithoutRows(func, schedule) : LoopFunc()),
        rows_(rows.rows),
        row_sums_(func),
        emitter_(module, machine, dims, static_cast<std::uint32_t>(func.operands.size())),
        index_(func_.dims.size(), nullptr),
        begin_(func_.dims.size(), nullptr),
        end_(func_.dims.size(), nullptr) {}

  void Emit() {
    for (std::size_t dim = 0; dim < func_.dims.size(); ++dim) {
      begin_[dim] = emitter_.I64(0);
      end_[dim] = emitter_.Dim(func_.dims[dim]);
    }
    emitter_.ForEachTask([&](llvm::Value* task) { EmitTask(task); });
    emitter_.Finish();
  }

 private:
  void EmitTask(llvm::Value* task) {
    Values extents;
    for (int dim = 0; dim < func_.num_outer; ++dim) {
      extents.push_back(end_[static_cast<std::size_t>(dim)]);
    }
    const auto split = static_cast<std::size_t>(schedule_.split_dim);
    llvm::Value* extent = nullptr;
    if (schedule_.split_dim >= 0) {
      extent = end_[split];
      extents.push_back(emitter_.DivUp(extent, schedule_.block));
    }
    const Values at = emitter_.Unflatten(task, extents);
    for (std::size_t dim = 0; dim < static_cast<std::size_t>(func_.num_outer); ++dim) {
      index_[dim] = at[dim];
    }
    if (schedule_.split_dim >= 0) {
      llvm::Value* block = emitter_.I64(schedule_.block);
      begin_[split] = emitter_.Mul(at.back(), block);
      end_[split] = emitter_.Min(emitter_.Add(begin_[split], block), extent);
    }
    if (schedule_.row_dim >= 0) {
      llvm::Value* row = end_[static_cast<std::size_t>(schedule_.row_dim)];
      llvm::Value* fits = emitter_.b().CreateICmpSLE(row, emitter_.I64(schedule_.row_limit));
      emitter_.If(fits, [&] { EmitStages(func_); });
      emitter_.If(emitter_.b().CreateNot(fits), [&] { EmitStages(without_rows_); });
    } else {
      EmitStages(func_);
    }
    if (schedule_.split_dim >= 0) end_[split] = extent;
  }

  void EmitStages(const LoopFunc& func) {
    for (std::size_t i = 0; i < func.stages.size(); ++i) {
      shape_ = schedule_.stages[i];
      EmitStage(func.stages[i]);
    }
  }

  void EmitStage(const Stage& stage) {
    std::vector<int> kept;
    std::vector<int> reduced;
    for (const int dim : stage.loops) {
      const bool over = !stage.reductions.empty() && Contains(stage.reductions[0].over, dim);
      (over ? reduced : kept).push_back(dim);
    }
    reducers_.clear();
    for (const Reduction& reduction : stage.reductions) {
      reducers_.emplace_back(emitter_, reduction, reduced, SpaceOf(reduced));
    }
    if (stage.loops.empty()) {
      EmitPoint(stage);
    } else if (stage.reductions.empty()) {
      EmitPlain(stage);
    } else if (Contains(reduced, stage.loops.back())) {
      EmitHorizontal(stage, kept, reduced);
    } else {
      EmitVertical(stage, kept, reduced);
    }
  }

  std::vector<llvm::Value*> SpaceOf(const std::vector<int>& dims) {
    std::vector<llvm::Value*> extents;
    for (const int dim : dims) extents.push_back(end_[static_cast<std::size_t>(dim)]);
    return extents;
  }

  // Loops over `dims`, outermost first, around body(carried).
  void Nest(llvm::ArrayRef<int> dims, Values& carried,
            llvm::function_ref<void(Values& carried)> body) {
    if (dims.empty()) {
      body(carried);
      return;
    }
    const auto dim = static_cast<std::size_t>(dims.front());
    emitter_.For(begin_[dim], end_[dim], 1, carried, [&](llvm::Value* i, Values& values) {
      index_[dim] = i;
      Nest(dims.drop_front(), values, body);
    });
  }

  // Of a loop, where that is known.
  std::optional<std::int64_t> ExtentOf(int dim) const {
    const auto i = static_cast<std::size_t>(dim);
    const auto* begin = llvm::dyn_cast<llvm::ConstantInt>(begin_[i]);
    const auto* end = llvm::dyn_cast<llvm::ConstantInt>(end_[i]);
    if (begin == nullptr || end == nullptr) return std::nullopt;
    return end->getSExtValue() - begin->getSExtValue();
  }

  // Terms that lanes along `dim` add to one state, where that is known.
  std::optional<std::int64_t> TermsOfLanes(int dim) const {
    const auto extent = ExtentOf(dim);
    if (!extent) return std::nullopt;
    const std::int64_t rest = *extent % (shape_.width * shape_.unroll);
    return *extent / (shape_.width * shape_.unroll) + (rest >= shape_.width ? 1 : 0) +
           (rest % shape_.width > 0 ? 1 : 0);
  }

  // Those that loops over `dims` add to a state, `terms` at a time, where they are few enough for
  // one run.
  std::optional<std::int64_t> TermsOfOneRun(llvm::ArrayRef<int> dims,
                                            std::optional<std::int64_t> terms) const {
    for (const int dim : dims) {
      const auto extent = ExtentOf(dim);
      if (!terms || *terms > kSumRun || !extent || *extent > kSumRun) return std::nullopt;
      terms = *terms * *extent;
    }
    return terms && *terms <= kSumRun ? terms : std::nullopt;
  }

  // Nest over reduced dims. `terms`: that one body(carried) adds to a state, where it is known.
  void NestOfSums(llvm::ArrayRef<int> dims, std::optional<std::int64_t> terms, Values& carried,
                  llvm::function_ref<void(Values& carried)> body) {
    if (dims.empty() || !SumsUp()) {
      Nest(dims, carried, body);
      return;
    }
    const auto dim = static_cast<std::size_t>(dims.front());
    const auto rest = dims.drop_front();
    const auto chain = TermsOfOneRun(rest, terms);
    EmitSums(begin_[dim], end_[dim], 1, chain.value_or(1), carried,
             [&](llvm::Value* i, Values& values) {
               index_[dim] = i;
               if (chain) {
                 NestOfSums(rest, terms, values, body);
                 return;
               }
               Values run = Restart(values);
               NestOfSums(rest, terms, run, body);
               Join(values, run);
             });
  }

  bool SumsUp() const {
    return std::any_of(reducers_.begin(), reducers_.end(),
                       [](const Reducer& reducer) { return reducer.SumsUp(); });
  }

  void EmitSums(llvm::Value* begin, llvm::Value* end, std::int64_t step, std::int64_t terms,
                Values& carried, KernelEmitter::LoopBody body) {
    const auto restart = [&](const Values& values) { return Restart(values); };
    const auto add = [&](Values& values, const Values& run) { Join(values, run); };
    EmitSumCascade(emitter_, begin, end, step, terms, carried, {restart, add}, body);
  }

  // What the loops of a stage carry is the states of all of its reductions, several times.
  void ForEachState(llvm::function_ref<void(Reducer& reducer, std::size_t at)> visit,
                    std::size_t size) {
    for (std::size_t at = 0; at < size;) {
      for (Reducer& reducer : reducers_) {
        visit(reducer, at);
        at += reducer.StateSize();
      }
    }
  }

  Values Restart(const Values& carried) {
    Values run = carried;
    ForEachState(
        [&](Reducer& reducer, std::size_t at) {
          if (reducer.SumsUp()) run[at] = reducer.Start(shape_.width)[0];
        },
        run.size());
    return run;
  }

  void Join(Values& carried, const Values& run) {
    const Values before = carried;
    carried = run;
    ForEachState(
        [&](Reducer& reducer, std::size_t at) {
          if (reducer.SumsUp()) {
            reducer.Merge(llvm::MutableArrayRef<llvm::Value*>(carried).slice(at, 1), before[at]);
          }
        },
        run.size());
  }

  Lanes LanesAt(int dim, llvm::Value* first, int copy, llvm::Value* mask) {
    Lanes lanes;
    lanes.width = shape_.width;
    lanes.dim = dim;
    lanes.mask = mask;
    lanes.aligned = true;  // Loops and blocks begin at multiples of the width.
    lanes.index = index_;
    if (dim >= 0) {
      lanes.index[static_cast<std::size_t>(dim)] =
          emitter_.Add(first, emitter_.I64(std::int64_t{copy} * shape_.width));
    }
    return lanes;
  }

  // Evaluates a stage's body and writes what it writes.
  VectorBody Evaluate(const Stage& stage, const Lanes& lanes) {
    VectorBody body(emitter_, stage.body, &row_sums_);
    body.Evaluate(lanes, [&](const BodyInstr& instr) { return Input(instr, lanes); });
    for (const Temporary& temporary : stage.temporaries) {
      const auto row = rows_.find(temporary.id);
      if (row == rows_.end()) {
        scalars_[temporary.id] = body.value(temporary.value).value;
      } else {
        StoreRow(row->second, lanes, body.value(temporary.value));
      }
    }
    body.Store(stage.stores);
    return body;
  }

  void EmitPoint(const Stage& stage) {
    VectorBody body = Evaluate(stage, LanesAt(-1, nullptr, 0, nullptr));
    for (std::size_t i = 0; i < reducers_.size(); ++i) {
      Values state = reducers_[i].Start(1);
      reducers_[i].Accumulate(state, body.Vector(stage.reductions[i].value), {}, nullptr);
      scalars_[stage.reductions[i].id] = reducers_[i].Result(state);
    }
  }

  void EmitPlain(const Stage& stage) {
    const int lane = stage.loops.back();
    const auto dim = static_cast<std::size_t>(lane);
    Values none;
    Nest(llvm::ArrayRef<int>(stage.loops).drop_back(), none, [&](Values&) {
      Values carried;
      emitter_.ForLanes(begin_[dim], end_[dim], shape_.width, shape_.unroll, carried,
                        [&](llvm::Value* first, int copies, llvm::Value* mask, Values&) {
                          for (int copy = 0; copy < copies; ++copy) {
                            Evaluate(stage, LanesAt(lane, first, copy, mask));
                          }
                        });
    });
  }

  // The accumulators of all reductions, `copies` times.
  Values StartAll(int copies) {
    Values all;
    for (int copy = 0; copy < copies; ++copy) {
      for (Reducer& reducer : reducers_) {
        const Values state = reducer.Start(shape_.width);
        all.append(state.begin(), state.end());
      }
    }
    return all;
  }

  void AccumulateAll(const Stage& stage, const Lanes& lanes, int copy, Values& all) {
    VectorBody body = Evaluate(stage, lanes);
    std::size_t at = static_cast<std::size_t>(copy) * StateSize();
    for (std::size_t i = 0; i < reducers_.size(); ++i) {
      llvm::MutableArrayRef<llvm::Value*> state =
          llvm::MutableArrayRef<llvm::Value*>(all).slice(at, reducers_[i].StateSize());
      reducers_[i].Accumulate(state, body.Vector(stage.reductions[i].value), lanes, lanes.mask);
      at += reducers_[i].StateSize();
    }
  }

  std::size_t StateSize() const {
    std::size_t size = 0;
    for (const Reducer& reducer : reducers_) size += reducer.StateSize();
    return size;
  }

  // Lanes lie along a reduced dim: each lane reduces a part, then the lanes are combined.
  void EmitHorizontal(const Stage& stage, const std::vector<int>& kept,
                      const std::vector<int>& reduced) {
    const int lane = reduced.back();
    const auto dim = static_cast<std::size_t>(lane);
    Values none;
    Nest(kept, none, [&](Values&) {
      Values all = StartAll(shape_.unroll);
      const auto vectors = [&](llvm::Value* first, int copies, llvm::Value* mask, Values& values) {
        for (int copy = 0; copy < copies; ++copy) {
          AccumulateAll(stage, LanesAt(lane, first, copy, mask), copy, values);
        }
      };
      const auto loop = [&](llvm::Value* first, llvm::Value* last, std::int64_t step,
                            Values& values, KernelEmitter::LoopBody inside) {
        if (SumsUp()) {
          EmitSums(first, last, step, 1, values, inside);
        } else {
          emitter_.For(first, last, step, values, inside);
        }
      };
      NestOfSums(llvm::ArrayRef<int>(reduced).drop_back(), TermsOfLanes(lane), all,
                 [&](Values& outer) {
                   emitter_.ForLanes(begin_[dim], end_[dim], shape_.width, shape_.unroll, outer,
                                     loop, vectors);
                 });
      std::size_t at = 0;
      for (std::size_t i = 0; i < reducers_.size(); ++i) {
        const std::size_t size = reducers_[i].StateSize();
        Values state(all.begin() + at, all.begin() + at + size);
        for (int copy = 1; copy < shape_.unroll; ++copy) {
          const auto* other = all.begin() + static_cast<std::size_t>(copy) * StateSize() + at;
          reducers_[i].Merge(state, llvm::ArrayRef<llvm::Value*>(other, size));
        }
        Finish(stage.reductions[i].id, {reducers_[i].ReduceLanes(state), true},
               LanesAt(-1, nullptr, 0, nullptr));
        at += size;
      }
    });
  }

  // Lanes lie along a kept dim: a block of lanes stays in registers over all reduced points.
  void EmitVertical(const Stage& stage, const std::vector<int>& kept,
                    const std::vector<int>& reduced) {
    const int lane = kept.back();
    const auto dim = static_cast<std::size_t>(lane);
    const auto block = [&](llvm::Value* first, int copies, llvm::Value* mask, Values&) {
      Values all = StartAll(copies);
      NestOfSums(reduced, 1, all, [&](Values& values) {
        for (int copy = 0; copy < copies; ++copy) {
          AccumulateAll(stage, LanesAt(lane, first, copy, mask), copy, values);
        }
      });
      for (int copy = 0; copy < copies; ++copy) {
        std::size_t at = static_cast<std::size_t>(copy) * StateSize();
        for (std::size_t i = 0; i < reducers_.size(); ++i) {
          const std::size_t size = reducers_[i].StateSize();
          const Values state(all.begin() + at, all.begin() + at + size);
          Finish(stage.reductions[i].id, {reducers_[i].Result(state), shape_.width == 1},
                 LanesAt(lane, first, copy, nullptr));
          at += size;
        }
      }
    };
    Values none;
    Nest(llvm::ArrayRef<int>(kept).drop_back(), none, [&](Values&) {
      Values carried;
      emitter_.ForLanes(begin_[dim], end_[dim], shape_.width, shape_.unroll, carried, block);
    });
  }

  void Finish(std::uint32_t id, const LaneValue& result, const Lanes& lanes) {
    const auto row = rows_.find(id);
    if (row == rows_.end()) {
      scalars_[id] = result.value;
    } else {
      StoreRow(row->second, lanes, result);
    }
  }

  // Where a row is read or written: its index map counts from the task's first point.
  LaneOffset RowOffset(const ScratchRow& row, const Lanes& lanes) {
    IndexMap index;
    Lanes local = lanes;
    for (std::size_t i = 0; i < row.dims.size(); ++i) {
      IndexTerm term;
      term.dim = row.dims[i];
      term.coefficient = row.strides[i];
      index.terms.push_back(term);
      const auto dim = static_cast<std::size_t>(term.dim);
      if (term.dim == schedule_.split_dim) {
        local.index[dim] = emitter_.Sub(lanes.index[dim], begin_[dim]);
      }
    }
    return OffsetOf(emitter_, index, local);
  }

  void StoreRow(const ScratchRow& row, const Lanes& lanes, const LaneValue& value) {
    const LaneOffset offset = RowOffset(row, lanes);
    llvm::Value* pointer =
        emitter_.ElementPointer(emitter_.Scratch(row.offset), row.dtype, offset.scalar);
    if (offset.kind == LaneOffset::Kind::kUniform) {
      emitter_.StoreLanes(KernelEmitter::kScratch, row.dtype, pointer, value.value, nullptr);
      return;
    }
    llvm::Value* vector = value.uniform ? emitter_.Splat(value.value, lanes.width) : value.value;
    // Rows are padded: the inactive lanes may be written when they are the last.
    if (offset.kind == LaneOffset::Kind::kContiguous && row.dims.size() == 1) {
      emitter_.StoreLanes(KernelEmitter::kScratch, row.dtype, pointer, vector, nullptr);
    } else if (offset.kind == LaneOffset::Kind::kContiguous) {
      emitter_.StoreLanes(KernelEmitter::kScratch, row.dtype, pointer, vector, lanes.mask);
    } else {
      emitter_.ScatterLanes(KernelEmitter::kScratch, row.dtype, pointer, offset.offsets, vector,
                            lanes.mask);
    }
  }

  LaneValue Input(const BodyInstr& instr, const Lanes& lanes) {
    const auto at = rows_.find(instr.input);
    if (at == rows_.end()) return {scalars_.at(instr.input), true};
    const ScratchRow& row = at->second;
    const LaneOffset offset = RowOffset(row, lanes);
    llvm::Value* pointer =
        emitter_.ElementPointer(emitter_.Scratch(row.offset), row.dtype, offset.scalar);
    constexpr std::uint32_t kScratch = KernelEmitter::kScratch;
    if (offset.kind == LaneOffset::Kind::kUniform) {
      return {emitter_.LoadLanes(kScratch, row.dtype, pointer, 1, nullptr), true};
    }
    if (offset.kind == LaneOffset::Kind::kContiguous) {
      return {emitter_.LoadLanes(kScratch, row.dtype, pointer, lanes.width, nullptr), false};
    }
    return {emitter_.GatherLanes(kScratch, row.dtype, pointer, offset.offsets, lanes.mask), false};
  }

  const LoopSchedule& schedule_;
  const LoopFunc& func_;
  const LoopFunc without_rows_;  // Where the schedule has a row_dim.
  const std::map<std::uint32_t, ScratchRow>& rows_;
  const RowSums row_sums_;
  X86Emitter emitter_;
  StageShape shape_;                 // Of the stage being emitted.
  std::vector<Reducer> reducers_;    // Of the stage being emitted.
  std::vector<llvm::Value*> index_;  // Of each dim that is fixed now.
  std::vector<llvm::Value*> begin_;  // Of each dim: what the task covers.
  std::vector<llvm::Value*> end_;
  std::map<std::uint32_t, llvm::Value*> scalars_;  // Results that are one value per outer point.
};

}  // namespace

Status EmitLoop(const LoopFunc& func, const LoopSchedule& schedule, const std::vector<SymDim>& dims,
                const CpuMachine& machine, llvm::Module& module) {
  STOKER_TRY(const LoopRows rows, PlaceRows(func, schedule));
  LoopEmitter(func, schedule, rows, dims, machine, module).Emit();
  return Ok();
}

}  // namespace stoker::codegen
