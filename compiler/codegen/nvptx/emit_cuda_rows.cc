// Loops over rows: neighbouring threads share one.
#include <algorithm>
#include <utility>

#include "compiler/codegen/nvptx/cuda_team_emitter.h"
#include "compiler/codegen/nvptx/emit_cuda_loop.h"
#include "compiler/schedule/cuda/standing_rows.h"

namespace stoker::codegen {
namespace {

// Numbers of f32 in one access.
constexpr std::int64_t kFloats = 4;
// The results of so many warps are read by each thread, which saves their exchange.
constexpr std::int64_t kReadWarps = 4;

class RowEmitter final : public CudaTeamEmitter {
 public:
  RowEmitter(const LoopFunc& func, const CudaSchedule& schedule, const RowSchedule& rows,
             const GpuMachine& machine, NvptxEmitter& emitter)
      : CudaTeamEmitter(func, schedule, static_cast<int>(func.dims.size()) - 1, emitter,
                        {.members = rows.team,
                         .slots = rows.vectors,
                         .points = 1,
                         .slot_width = schedule.width}),
        rows_(rows),
        warp_(machine.warp_size),
        access_bytes_(machine.blocks.access_bytes) {
    if (!rows.standing) return;
    staged_ = cuda::StandingRowsOf(func, rows, schedule.width, schedule.threads, machine).value();
    for (const Stage& stage : func.stages) {
      const bool loads = std::ranges::any_of(stage.body.instrs, [&](const BodyInstr& instr) {
        return instr.op == BodyOp::kLoad && IsCopied(instr.access);
      });
      if (loads) last_loading_ = &stage;
    }
  }

 private:
  void FindPlace(llvm::Value* thread) override {
    member_ = b().CreateURem(thread, Constant(teams_.members));
    team_ = b().CreateUDiv(thread, Constant(teams_.members));
  }

  void ForPoints(llvm::Value* number, llvm::Value* count, PointsFn body) override {
    if (!rows_.standing) {
      CudaTeamEmitter::ForPoints(number, count, body);
      return;
    }
    count_ = count;
    if (emitter_.is_aligned()) {
      shared_ = emitter_.DynamicShared(staged_.bytes);
      CopyRow(number);
      StageForAll();
      emitter_.Barrier();
    }
    // Rows are counted in 32 bits: registers are short.
    llvm::Type* const i32 = b().getInt32Ty();
    llvm::Value* const rows = b().CreateTrunc(count, i32);
    llvm::Value* const step =
        b().CreateTrunc(emitter_.Mul(emitter_.BlockCount(), Constant(TeamsOfBlock())), i32);
    llvm::Value* const thread = emitter_.ThreadIndex();
    Values turn = {b().CreateTrunc(number, i32)};
    const auto is_row = [&](const Values& row) { return b().CreateICmpSLT(row[0], rows); };
    emitter_.While(turn, is_row, [&](Values& row) {
      FindPlace(emitter_.InTurn(thread, row[0]));
      llvm::Value* own = b().CreateZExt(row[0], count->getType());
      row[0] = b().CreateAdd(row[0], step);
      next_ = b().CreateZExt(row[0], count->getType());
      exchanges_ = 0;
      if (shared_ != nullptr) emitter_.AwaitCopies();
      body(own);
      // The memory of one exchange is written again behind another's barrier.
      if (exchanges_ == 1) TeamBarrier();
    });
    shared_ = nullptr;
  }

  void AfterStage(const Stage& stage) override {
    if (shared_ != nullptr && &stage == last_loading_) CopyRow(next_);
  }

  LaneValue Staged(const BodyInstr& load, const Slot& slot) override {
    if (shared_ == nullptr) return {};
    const cuda::StandingRows::Staged* staged = staged_.Find(load.access);
    if (staged == nullptr) return {};
    const int width = schedule_.width;
    if (!staged->of_row) {
      llvm::Type* type = NvptxEmitter::VectorOf(b().getFloatTy(), kFloats);
      const auto part = [&](std::int64_t i) {
        return emitter_.LoadShared(shared_, PartOfAll(*staged, VectorOf(slot.number), i), type);
      };
      return {Whole(width / kFloats, part), false};
    }
    const llvm::Align align(static_cast<std::uint64_t>(access_bytes_));
    llvm::Type* words = NvptxEmitter::VectorOf(b().getInt32Ty(), access_bytes_ / 4);
    const auto part = [&](std::int64_t i) {
      return b().CreateAlignedLoad(words, PartOfRow(*staged, slot.number, i), align);
    };
    const DType dtype = load.access.dtype;
    llvm::Value* whole = Whole(std::int64_t{width} * SizeInBytes(dtype) / access_bytes_, part);
    llvm::Type* type = NvptxEmitter::VectorOf(emitter_.MemoryType(dtype), width);
    return {emitter_.FromMemory(dtype, b().CreateBitCast(whole, type)), false};
  }

  void EmitLoops(const Stage& stage, const Loops& loops, Values& states) override {
    if (!rows_.kept) {
      Stream(stage, loops, states);
      return;
    }
    const std::int64_t count = KnownOf(loops.count).value();
    const auto slots = static_cast<int>((count + teams_.members - 1) / teams_.members);
    EmitSlots(stage, loops, Constant(0), slots, false, states);
  }

  void Combine(Values& states) override {
    Values narrow;
    ForEachState(states, [&](Reducer& reducer, std::size_t, auto state) {
      narrow.append(reducer.Narrow(Values(state.begin(), state.end())));
    });
    Butterfly(narrow, std::min(teams_.members, warp_));
    if (teams_.members > warp_ && !narrow.empty()) AcrossWarps(narrow);
    states = std::move(narrow);
  }

  void Butterfly(Values& states, int lanes) {
    for (int distance = 1; distance < lanes; distance *= 2) {
      ForEachState(states, [&](Reducer& reducer, std::size_t, auto state) {
        Values other;
        for (llvm::Value* value : state) other.push_back(emitter_.FromLane(value, distance));
        reducer.Merge(state, other);
      });
    }
  }

  // Through shared memory of its own for every reduction, so that nobody waits for it to be read.
  void AcrossWarps(Values& states) {
    const std::int64_t warps = teams_.members / warp_;
    llvm::Value* lane = b().CreateURem(member_, Constant(warp_));
    llvm::Value* base = emitter_.Mul(team_, Constant(warps));
    llvm::Value* mine = emitter_.Add(base, b().CreateUDiv(member_, Constant(warp_)));
    std::vector<llvm::Value*> places;
    for (llvm::Value* value : states) {
      const std::int64_t bytes = std::max(1U, value->getType()->getScalarSizeInBits() / 8);
      places.push_back(emitter_.Shared(bytes * schedule_.threads / warp_));
    }
    emitter_.If(b().CreateICmpEQ(lane, Constant(0)), [&] {
      for (std::size_t i = 0; i < states.size(); ++i) {
        emitter_.StoreShared(places[i], mine, states[i]);
      }
    });
    TeamBarrier();
    ++exchanges_;
    const auto read = [&](llvm::Value* from) {
      Values values;
      for (std::size_t i = 0; i < states.size(); ++i) {
        values.push_back(emitter_.LoadShared(places[i], from, states[i]->getType()));
      }
      return values;
    };
    if (warps > kReadWarps) {
      states = read(emitter_.Add(base, b().CreateURem(lane, Constant(warps))));
      Butterfly(states, static_cast<int>(warps));
      return;
    }
    std::vector<Values> parts;
    for (std::int64_t i = 0; i < warps; ++i) parts.push_back(read(emitter_.Add(base, Constant(i))));
    states = Merged(std::move(parts));
  }

  // By the tree that Butterfly makes of as many.
  Values Merged(std::vector<Values> parts) {
    for (; parts.size() > 1; parts.resize(parts.size() / 2)) {
      for (std::size_t i = 0; i < parts.size() / 2; ++i) {
        Values merged = parts[2 * i];
        std::size_t at = 0;
        ForEachState(merged, [&](Reducer& reducer, std::size_t, auto state) {
          const llvm::ArrayRef<llvm::Value*> other(parts[2 * i + 1]);
          reducer.Merge(state, other.slice(at, state.size()));
          at += state.size();
        });
        parts[i] = std::move(merged);
      }
    }
    return std::move(parts[0]);
  }

  void TeamBarrier() {
    if (rows_.standing) {
      emitter_.Barrier(team_, teams_.members);
    } else {
      emitter_.Barrier();
    }
  }

  // ---- Rows of a block that stands

  bool IsCopied(const Access& access) const {
    const cuda::StandingRows::Staged* staged = staged_.Find(access);
    return staged != nullptr && staged->of_row;
  }

  // The number in its row of a thread's vector.
  llvm::Value* VectorOf(int slot) {
    return emitter_.Add(Constant(std::int64_t{slot} * teams_.members), member_);
  }

  // One vector of one part or of two.
  llvm::Value* Whole(std::int64_t parts, llvm::function_ref<llvm::Value*(std::int64_t)> part) {
    llvm::Value* whole = part(0);
    if (parts == 1) return whole;
    STOKER_CHECK(parts == 2);
    llvm::SmallVector<int> lanes;
    for (int i = 0; i < 2 * NvptxEmitter::WidthOf(whole); ++i) lanes.push_back(i);
    return b().CreateShuffleVector(whole, part(1), lanes);
  }

  // Part `part` of each vector of a row lies together, so that neighbours read neighbours; in
  // accesses from the start.
  llvm::Value* PartOfAll(const cuda::StandingRows::Staged& staged, llvm::Value* vector,
                         std::int64_t part) {
    const std::int64_t vectors = std::int64_t{rows_.vectors} * rows_.team;
    return emitter_.Add(Constant(staged.place / access_bytes_ + part * vectors), vector);
  }
  llvm::Value* PartOfRow(const cuda::StandingRows::Staged& staged, int slot, std::int64_t part) {
    const std::int64_t vectors = std::int64_t{rows_.vectors} * rows_.team;
    llvm::Value* row = emitter_.Mul(team_, Constant(staged.bytes));
    llvm::Value* at = emitter_.Add(Constant(part * vectors), VectorOf(slot));
    llvm::Value* bytes = emitter_.Add(row, emitter_.Mul(at, Constant(access_bytes_)));
    return b().CreateInBoundsGEP(b().getInt8Ty(), shared_,
                                 emitter_.Add(bytes, Constant(staged.place)));
  }

  Lanes LanesOf(llvm::Value* vector) {
    SetIndices({vector_dim_}, {emitter_.Mul(vector, Constant(schedule_.width))});
    Lanes lanes = LanesHere();
    index_[static_cast<std::size_t>(vector_dim_)] = nullptr;
    return lanes;
  }

  // What is the same for all rows, once a block.
  void StageForAll() {
    const std::int64_t vectors = std::int64_t{rows_.vectors} * rows_.team;
    emitter_.For(emitter_.ThreadIndex(), Constant(vectors), schedule_.threads,
                 [&](llvm::Value* vector) {
                   const Lanes lanes = LanesOf(vector);
                   for (const cuda::StandingRows::Staged& staged : staged_.staged) {
                     if (!staged.of_row) StageVector(staged, vector, lanes);
                   }
                 });
  }
  void StageVector(const cuda::StandingRows::Staged& staged, llvm::Value* vector,
                   const Lanes& lanes) {
    llvm::Value* value = LoadAt(emitter_, staged.access, lanes).value;
    for (std::int64_t part = 0; part < schedule_.width / kFloats; ++part) {
      llvm::SmallVector<int> own;
      for (std::int64_t i = 0; i < kFloats; ++i)
        own.push_back(static_cast<int>(part * kFloats + i));
      emitter_.StoreShared(shared_, PartOfAll(staged, vector, part),
                           b().CreateShuffleVector(value, own));
    }
  }

  // Each thread what it needs itself: nobody waits for another's.
  void CopyRow(llvm::Value* row) {
    const std::vector<llvm::Value*> before = index_;
    llvm::Value* is_one = b().CreateICmpSLT(row, count_);
    SetPoints(row);
    for (const cuda::StandingRows::Staged& staged : staged_.staged) {
      if (!staged.of_row) continue;
      for (int slot = 0; slot < rows_.vectors; ++slot) CopyVector(staged, slot, is_one);
    }
    index_ = before;
  }
  void CopyVector(const cuda::StandingRows::Staged& staged, int slot, llvm::Value* is_one) {
    const Access& access = staged.access;
    const LaneOffset offset = OffsetOf(emitter_, access.index, LanesOf(VectorOf(slot)));
    llvm::Value* base = emitter_.Buffer(access.operand);
    llvm::Value* from = emitter_.ElementPointer(base, access.dtype, offset.scalar);
    const std::int64_t parts = schedule_.width * SizeInBytes(access.dtype) / access_bytes_;
    for (std::int64_t part = 0; part < parts; ++part) {
      llvm::Value* at = b().CreateConstInBoundsGEP1_64(
          b().getInt8Ty(), from, static_cast<std::uint64_t>(part * access_bytes_));
      emitter_.CopyToShared(PartOfRow(staged, slot, part), at, is_one);
    }
  }

  const RowSchedule rows_;
  const int warp_;
  const int access_bytes_;
  int exchanges_ = 0;  // Between the warps of a team, for one row.

  cuda::StandingRows staged_;
  const Stage* last_loading_ = nullptr;  // The last one that loads what is copied.
  llvm::Value* shared_ = nullptr;        // Null: nothing is staged.
  llvm::Value* count_ = nullptr;         // Of rows.
  llvm::Value* next_ = nullptr;          // Row.
};

}  // namespace

void EmitCudaRows(const LoopFunc& func, const CudaSchedule& schedule, const GpuMachine& machine,
                  llvm::Module& module) {
  NvptxEmitter emitter(module, machine, schedule, static_cast<std::uint32_t>(func.operands.size()));
  RowEmitter(func, schedule, std::get<RowSchedule>(schedule.how), machine, emitter).Emit();
  emitter.Finish();
}

}  // namespace stoker::codegen
