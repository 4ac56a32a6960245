#include <algorithm>
#include <cstddef>

#include "compiler/codegen/llvm/body/vector_body.h"
#include "compiler/codegen/x86/contraction/contraction_emitter.h"
#include "compiler/schedule/cpu/launch/sizes.h"
#include "protocol/artifact/kernel_abi.h"

namespace stoker::codegen {
namespace {

// Epilogues up to this size are repeated for every vector of a row, longer ones looped over.
constexpr std::size_t kMaxRepeatedInstrs = 12;

llvm::ConstantInt* AsConstant(llvm::Value* value) {
  return llvm::dyn_cast<llvm::ConstantInt>(value);
}

}  // namespace

std::int64_t ContractionEmitter::GranuleBytes() const {
  return func_.rhs.nr * plan_.depth_granule * ElementBytes();
}

std::int64_t ContractionEmitter::SumBytes() const {
  return func_.rhs.nr * SizeInBytes(func_.accumulator);
}

llvm::Value* ContractionEmitter::AddBytes(llvm::Value* pointer, llvm::Value* bytes) {
  if (llvm::ConstantInt* constant = AsConstant(bytes); constant != nullptr && constant->isZero()) {
    return pointer;
  }
  return e_.b().CreateGEP(e_.b().getInt8Ty(), pointer, bytes);
}

void ContractionEmitter::Emit() {
  Begin();
  block_steps_ = StepsOfBlocks();
  Values next = {e_.TaskBegin()};
  e_.While(
      next, [&](const Values& carried) { return e_.b().CreateICmpSLT(carried[0], e_.TaskEnd()); },
      [&](Values& carried) {
        const Tasks tasks = TasksAt(carried[0]);
        EmitTasks(tasks);
        carried[0] = e_.Add(carried[0], tasks.count);
      });
  End();
}

void ContractionEmitter::EmitTasks(const Tasks& original) {
  Tasks tasks = original;
  if (ReadsWholeCopy()) tasks = ReadCopy(tasks, e_.NoteInScratch(tasks.block));
  if (plan_.chunk != 0) {
    EmitChunks(tasks);
    return;
  }
  PanelChunk chunk;
  chunk.panel = tasks.first_panel;
  chunk.rhs = PanelAt(tasks, chunk.panel, e_.I64(0));
  chunk.bytes = e_.Dim(plan_.panel_stride);
  chunk.next = PanelAt(tasks, PanelAfter(tasks, e_.Add(chunk.panel, e_.I64(1))), e_.I64(0));
  chunk.sums = e_.Scratch(0);
  EmitUnits(tasks, chunk);
}

// `next`, or what follows the last panel: the first one, with the next block of rows.
llvm::Value* ContractionEmitter::PanelAfter(const Tasks& tasks, llvm::Value* next) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* last = e_.Sub(e_.Dim(plan_.panels), e_.I64(1));
  if (plan_.steps.IsConstant() && plan_.steps.constant() <= plan_.steps_per_block &&
      llvm::isa<llvm::ConstantInt>(block_steps_)) {
    return e_.Min(next, last);
  }
  llvm::Value* more = b.CreateICmpSLT(tasks.block_end, e_.Dim(plan_.units));
  llvm::Value* after = b.CreateSelect(more, e_.I64(0), last);
  return b.CreateSelect(b.CreateICmpSGT(next, last), after, next);
}

llvm::Value* ContractionEmitter::FlatBatch(const Values& batch) {
  llvm::Value* flat = e_.I64(0);
  for (std::size_t i = 0; i < func_.batch.size(); ++i) {
    flat = e_.Add(e_.Mul(flat, e_.Dim(func_.batch[i].extent)), batch[i]);
  }
  return flat;
}

// Chunks are multiples of the granule, and staged rows are padded to it.
void ContractionEmitter::EmitChunks(const Tasks& tasks) {
  STOKER_CHECK(plan_.depth.size() == 1);
  llvm::Value* depth = e_.Dim(plan_.depth.back().extent);
  ZeroSums(tasks);
  e_.For(e_.I64(0), depth, plan_.chunk, [&](llvm::Value* k) {
    llvm::Value* next_k = e_.Min(e_.Add(k, e_.I64(plan_.chunk)), depth);
    Tasks part = tasks;
    if (plan_.lhs == LhsCopy::kChunks) {
      StageRows(tasks, k, e_.Min(next_k, e_.Dim(plan_.source_depth.back().extent)));
      part = Staged(tasks);
    } else {
      part.lhs = AddBytes(tasks.lhs, e_.Mul(k, e_.I64(plan_.LhsBytes())));
    }
    const ChunkRange range = {k, next_k, depth};
    e_.For(tasks.first_panel, tasks.end_panel, 1, [&](llvm::Value* panel) {
      PanelChunk chunk = ChunkAt(tasks, range, panel);
      chunk.sums = SumsOfPanel(tasks, panel);
      EmitUnits(UnitsOf(part, panel), chunk);
    });
  });
  const Tasks done = plan_.lhs != LhsCopy::kNone ? Staged(tasks) : tasks;
  e_.For(tasks.first_panel, tasks.end_panel, 1, [&](llvm::Value* panel) {
    const Tasks in_panel = UnitsOf(done, panel);
    PanelChunk chunk;
    chunk.sums = SumsOfPanel(tasks, panel);
    e_.For(in_panel.first_unit, in_panel.last_unit, 1, [&](llvm::Value* unit) {
      EmitEpilogue(in_panel, panel, UnitAt(in_panel, unit), SumsAt(in_panel, chunk, unit));
    });
  });
}

// Of tasks of several panels: those of one of them.
Tasks ContractionEmitter::UnitsOf(Tasks tasks, llvm::Value* panel) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* is_first = b.CreateICmpEQ(panel, tasks.first_panel);
  llvm::Value* is_last = b.CreateICmpEQ(e_.Add(panel, e_.I64(1)), tasks.end_panel);
  tasks.first_unit = b.CreateSelect(is_first, tasks.first_unit, tasks.block_unit);
  tasks.last_unit = b.CreateSelect(is_last, tasks.last_unit, tasks.block_end);
  return tasks;
}

PanelChunk ContractionEmitter::ChunkAt(const Tasks& tasks, const ChunkRange& range,
                                       llvm::Value* panel) {
  llvm::IRBuilder<>& b = e_.b();
  PanelChunk chunk;
  chunk.panel = panel;
  chunk.partial = true;
  chunk.depth = e_.Sub(range.end, range.begin);
  if (plan_.depth.back().extent.IsConstant() &&
      plan_.depth.back().extent.constant() % plan_.chunk == 0) {
    chunk.depth = e_.I64(plan_.chunk);
  }
  chunk.rhs = PanelAt(tasks, panel, range.begin);
  chunk.bytes = e_.Mul(chunk.depth, e_.I64(func_.rhs.nr * ElementBytes()));
  // Then the next panel's part of this chunk, or the first panel's of the next chunk. What
  // follows the last chunk is the next group.
  llvm::Value* last = b.CreateICmpEQ(e_.Add(panel, e_.I64(1)), tasks.end_panel);
  llvm::Value* over = b.CreateAnd(last, b.CreateICmpEQ(range.end, range.depth));
  llvm::Value* next_panel = b.CreateSelect(last, tasks.first_panel, e_.Add(panel, e_.I64(1)));
  next_panel = b.CreateSelect(over, PanelAfter(tasks, tasks.end_panel), next_panel);
  llvm::Value* next_depth =
      b.CreateSelect(over, e_.I64(0), b.CreateSelect(last, range.end, range.begin));
  chunk.next = PanelAt(tasks, next_panel, next_depth);
  return chunk;
}

llvm::Value* ContractionEmitter::PanelAt(const Tasks& tasks, llvm::Value* panel,
                                         llvm::Value* depth) {
  llvm::Value* bytes = e_.Mul(panel, e_.Dim(plan_.panel_stride));
  return AddBytes(tasks.rhs, e_.Add(bytes, e_.Mul(depth, e_.I64(func_.rhs.nr * ElementBytes()))));
}

Tasks ContractionEmitter::ReadCopy(const Tasks& tasks, llvm::Value* fresh) {
  e_.If(fresh, [&] { StageRows(tasks, e_.I64(0), nullptr); });
  return Staged(tasks);
}

Tasks ContractionEmitter::Staged(Tasks tasks) {
  tasks.lhs = e_.Scratch(plan_.staged_offset);
  tasks.lhs_row = FirstStagedRow(tasks);
  return tasks;
}

llvm::Value* ContractionEmitter::FirstRowOf(llvm::Value* unit) {
  Values extents;
  for (std::size_t i = 0; i < plan_.split; ++i) extents.push_back(e_.Dim(plan_.rows[i].extent));
  extents.push_back(e_.Dim(plan_.segments));
  const Values at = e_.Unflatten(unit, extents);
  llvm::Value* row = e_.I64(0);
  for (std::size_t i = 0; i < plan_.split; ++i) row = e_.Add(e_.Mul(row, extents[i]), at[i]);
  row = e_.Mul(row, e_.Dim(plan_.rows[plan_.split].extent));
  llvm::Value* segment = at.back();
  if (!plan_.last_tiles.empty()) return e_.Add(row, BeginOfSegment(segment));
  row = e_.Add(row, e_.Mul(segment, e_.I64(plan_.segment)));
  if (plan_.segments.IsConstant() && !(plan_.segments == plan_.long_segments)) {
    llvm::Value* shorter = e_.Sub(segment, e_.Dim(plan_.long_segments));
    row = e_.Sub(row, e_.b().CreateBinaryIntrinsic(llvm::Intrinsic::smax, shorter, e_.I64(0)));
  }
  return e_.Mul(row, e_.I64(plan_.inner));
}

llvm::Value* ContractionEmitter::SmallestTile(const std::vector<std::int64_t>& tiles,
                                              llvm::Value* rows) {
  llvm::Value* smallest = e_.I64(plan_.segment);
  for (const std::int64_t tile : tiles) {
    llvm::Value* fits = e_.b().CreateICmpSLE(rows, e_.I64(tile));
    smallest = e_.b().CreateSelect(fits, e_.I64(tile), smallest);
  }
  return smallest;
}

// Of two segments that share what is left, the first one fills a tile, for there may be no row
// before it.
llvm::Value* ContractionEmitter::BeginOfSegment(llvm::Value* segment) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* extent = e_.Dim(plan_.rows[plan_.split].extent);
  llvm::Value* segments = e_.Dim(plan_.segments);
  llvm::Value* rest = e_.Sub(extent, e_.Mul(e_.Sub(segments, e_.I64(1)), e_.I64(plan_.segment)));
  llvm::Value* shared = e_.Add(rest, e_.I64(plan_.segment));
  llvm::Value* half = b.CreateLShr(e_.Add(shared, e_.I64(1)), 1);
  llvm::Value* is_shared = b.CreateAnd(b.CreateICmpSGT(segments, e_.I64(1)),
                                       b.CreateICmpSLT(e_.Add(rest, rest), e_.I64(plan_.segment)));
  llvm::Value* last =
      b.CreateSelect(is_shared, e_.Sub(shared, SmallestTile(plan_.last_tiles, half)), e_.I64(0));
  llvm::Value* begin = e_.Min(e_.Mul(segment, e_.I64(plan_.segment)), e_.Sub(extent, last));
  return b.CreateSelect(b.CreateICmpSLT(segment, segments), begin, extent);
}

void ContractionEmitter::ChooseTile(RowUnit& unit, llvm::Value* segment) {
  llvm::IRBuilder<>& b = e_.b();
  unit.rows = e_.Sub(BeginOfSegment(e_.Add(segment, e_.I64(1))), BeginOfSegment(segment));
  unit.is_lone = b.CreateICmpEQ(e_.Dim(plan_.segments), e_.I64(1));
  unit.tile_rows = b.CreateSelect(unit.is_lone, SmallestTile(plan_.lone_tiles, unit.rows),
                                  SmallestTile(plan_.last_tiles, unit.rows));
  unit.before = b.CreateSelect(unit.is_lone, e_.I64(0), e_.Sub(unit.tile_rows, unit.rows));
}

RowUnit ContractionEmitter::UnitAt(const Tasks& tasks, llvm::Value* unit) {
  llvm::IRBuilder<>& b = e_.b();
  RowUnit result;
  result.first_row = FirstRowOf(unit);
  llvm::Value* segment = unit;
  if (plan_.split > 0) segment = b.CreateURem(unit, e_.Dim(plan_.segments));
  if (!plan_.last_tiles.empty()) {
    ChooseTile(result, segment);
  } else if (plan_.segments == plan_.long_segments) {
    result.rows = e_.I64(plan_.MaxUnitRows());
  } else {
    llvm::Value* is_long = b.CreateICmpSLT(segment, e_.Dim(plan_.long_segments));
    llvm::Value* fewer = e_.I64((plan_.segment - 1) * plan_.inner);
    if (!plan_.segments.IsConstant()) {
      llvm::Value* extent = e_.Dim(plan_.rows[plan_.split].extent);
      fewer = e_.Sub(extent, e_.Mul(segment, e_.I64(plan_.segment)));
      fewer = e_.Mul(fewer, e_.I64(plan_.inner));
    }
    result.rows = b.CreateSelect(is_long, e_.I64(plan_.MaxUnitRows()), fewer);
  }
  // first_row lies at the start of an element of the split dim.
  Values extents;
  for (std::size_t i = 0; i <= plan_.split; ++i) extents.push_back(e_.Dim(plan_.rows[i].extent));
  llvm::Value* flat = e_.Sub(result.first_row, tasks.lhs_row);
  if (plan_.inner != 1) flat = b.CreateExactUDiv(flat, e_.I64(plan_.inner));
  const Values at = e_.Unflatten(flat, extents);
  llvm::Value* offset = e_.I64(0);
  for (std::size_t i = 0; i <= plan_.split; ++i) {
    offset = e_.Add(offset, e_.Mul(at[i], e_.Dim(plan_.rows[i].lhs_stride)));
  }
  if (result.before != nullptr) {
    offset = e_.Sub(offset, e_.Mul(result.before, e_.Dim(plan_.rows[plan_.split].lhs_stride)));
  }
  result.lhs = AddBytes(tasks.lhs, e_.Mul(offset, e_.I64(plan_.LhsBytes())));
  if (!plan_.halos.empty()) result.depth.resize(plan_.depth.size());
  for (const Halo& halo : plan_.halos) {
    llvm::Value* last = at[halo.m];
    if (halo.m == plan_.split) {
      llvm::Value* lines = b.CreateExactUDiv(result.rows, e_.I64(plan_.inner));
      last = e_.Sub(e_.Add(last, lines), e_.I64(1));
    }
    result.depth[halo.k] = RangeOf(halo, at[halo.m], last);
  }
  if (IsAmx(plan_.kernel)) return result;
  // How a unit's place follows from its number is no concern of the many loads of a vector tile: to
  // look for cheaper addresses in it takes LLVM longer than all else.
  result.lhs = e_.Opaque(result.lhs);
  result.first_row = e_.Opaque(result.first_row);
  for (DepthRange& range : result.depth) {
    if (range.begin != nullptr) range = {e_.Opaque(range.begin), e_.Opaque(range.end)};
  }
  return result;
}

llvm::Value* ContractionEmitter::SumsAt(const Tasks& tasks, const PanelChunk& chunk,
                                        llvm::Value* unit) {
  if (plan_.chunk == 0) return chunk.sums;
  return AddBytes(chunk.sums, e_.Mul(e_.Sub(unit, tasks.block_unit), e_.I64(plan_.unit_bytes)));
}

// Of a group's panel: those of the block's units, one after the other.
llvm::Value* ContractionEmitter::SumsOfPanel(const Tasks& tasks, llvm::Value* panel) {
  const std::int64_t bytes = plan_.units_per_block * plan_.unit_bytes;
  return AddBytes(e_.Scratch(0), e_.Mul(e_.Sub(panel, tasks.group), e_.I64(bytes)));
}

void ContractionEmitter::ZeroSums(const Tasks& tasks) {
  llvm::Type* type = KernelEmitter::VectorOf(e_.b().getInt32Ty(), 8);
  const std::int64_t bytes = plan_.units_per_block * plan_.unit_bytes;
  e_.For(tasks.first_panel, tasks.end_panel, 1, [&](llvm::Value* panel) {
    llvm::Value* sums = SumsOfPanel(tasks, panel);
    e_.For(e_.I64(0), e_.I64(bytes), 32, [&](llvm::Value* at) {
      e_.b().CreateAlignedStore(llvm::Constant::getNullValue(type), AddBytes(sums, at),
                                llvm::Align(32));
    });
  });
}

void ContractionEmitter::EmitEpilogue(const Tasks& tasks, llvm::Value* panel, const RowUnit& unit,
                                      llvm::Value* sums) {
  const std::int64_t nr = func_.rhs.nr;
  if (unit.before != nullptr) sums = AddBytes(sums, e_.Mul(unit.before, e_.I64(SumBytes())));
  if (func_.n.IsConstant() && func_.n.constant() % nr == 0) {
    EmitEpilogueRows(tasks, panel, unit, sums, nullptr);
    return;
  }
  llvm::Value* columns = e_.Sub(e_.Dim(func_.n), e_.Mul(panel, e_.I64(nr)));
  llvm::Value* whole = e_.b().CreateICmpSGE(columns, e_.I64(nr));
  e_.If(whole, [&] { EmitEpilogueRows(tasks, panel, unit, sums, nullptr); });
  e_.If(e_.b().CreateNot(whole), [&] { EmitEpilogueRows(tasks, panel, unit, sums, columns); });
}

// `columns`: of the panel, when they are fewer than its own; null otherwise.
void ContractionEmitter::EmitEpilogueRows(const Tasks& tasks, llvm::Value* panel,
                                          const RowUnit& unit, llvm::Value* sums,
                                          llvm::Value* columns) {
  e_.For(e_.I64(0), unit.rows, 1, [&](llvm::Value* row) {
    EmitEpilogueRow(tasks.batch, e_.Add(unit.first_row, row), panel,
                    AddBytes(sums, e_.Mul(row, e_.I64(SumBytes()))), columns);
  });
}

void ContractionEmitter::EmitEpilogueRow(const Values& batch, llvm::Value* row, llvm::Value* panel,
                                         llvm::Value* sums, llvm::Value* columns) {
  const int width = plan_.lanes;
  const std::int64_t nr = func_.rhs.nr;
  llvm::Value* first_column = e_.Mul(panel, e_.I64(nr));
  Values extents;
  for (const ContractionDim& dim : func_.m) extents.push_back(e_.Dim(dim.extent));
  Lanes lanes;
  lanes.width = width;
  for (llvm::Value* index : batch) lanes.index.push_back(index);
  for (llvm::Value* index : e_.Unflatten(row, extents)) lanes.index.push_back(index);
  lanes.dim = static_cast<int>(lanes.index.size());
  lanes.index.push_back(nullptr);
  lanes.aligned = true;
  const auto emit_vector = [&](llvm::Value* column) {
    lanes.index.back() = e_.Add(first_column, column);
    lanes.mask = columns == nullptr ? nullptr : e_.TailMask(e_.Sub(columns, column), width);
    llvm::Value* pointer = AddBytes(sums, e_.Mul(column, e_.I64(SizeInBytes(func_.accumulator))));
    VectorBody body(e_, func_.epilogue);
    body.Evaluate(lanes, [&](const BodyInstr&) {
      return LaneValue{
          e_.LoadLanes(KernelEmitter::kScratch, func_.accumulator, pointer, width, nullptr), false};
    });
    body.Store(func_.stores);
  };
  if (func_.epilogue.instrs.size() <= kMaxRepeatedInstrs) {
    for (int v = 0; v < plan_.vectors; ++v) emit_vector(e_.I64(std::int64_t{v} * width));
  } else {
    e_.For(e_.I64(0), e_.I64(nr), width, emit_vector);
  }
}

}  // namespace stoker::codegen
