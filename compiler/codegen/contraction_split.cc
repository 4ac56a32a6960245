// f32 on AMX: x = high + middle + low, three bf16 parts of 8 bits each, cut off and not rounded, so
// that they have all 24 bits of x. Of the nine products of parts the six that reach 2^-24 of the
// whole are added up in f32: as exact as fused multiply-adds in f32, at a sixth of the rate of
// bf16. (The idea is that of Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial
// Intelligence Datatype For Higher-Precision Computations", ARITH 2019.)
//
// Parts below 2^-126 count as zero, which AMX does with every denormal number: of an element
// smaller than 2^-102 the last bits are lost. An infinite element has parts whose products are NaN;
// sums that are not finite are therefore computed again, from whole elements.
//
// Tile products leave the vector units idle: while a block is multiplied, they split the next panel
// into the other of two buffers and run the epilogue of the block before.
//
// Where parts lie: a row of A as [granule of 32][part][32], a panel of B as [granule][part][column
// tile][16 pairs][16 columns][2].
#include <algorithm>

#include "compiler/codegen/contraction_emitter.h"
#include "compiler/codegen/contraction_plan.h"

namespace stoker::codegen {
namespace {

constexpr std::uint32_t kLhs = 0;
constexpr std::uint32_t kRhs = 1;
constexpr int kTileRows = AmxTiles::kRows;
constexpr int kTileRowBytes = AmxTiles::kRowBytes;
constexpr int kTileBytes = AmxTiles::kTileBytes;
constexpr int kGranule = 32;
constexpr int kLanes = 16;
// A granule of one row of A, in parts.
constexpr int kLhsGranuleBytes = kGranule * static_cast<int>(kSplitBytes);

// What is ready where: the packed panel that lies in a buffer, and the buffer's offset.
constexpr std::int64_t kReadySource = 0;
constexpr std::int64_t kReadyBuffer = 8;

// Rows of a deferred epilogue beside the products of one granule.
constexpr std::int64_t kMaxDeferredRows = 4;

enum Part : int { kHigh = 0, kMiddle = 1, kLow = 2 };

}  // namespace

std::array<llvm::Value*, kSplitParts> ContractionEmitter::PartsOf(llvm::Value* low,
                                                                  llvm::Value* high,
                                                                  bool keep_infinity) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* bits = KernelEmitter::VectorOf(b.getInt32Ty(), kLanes);
  llvm::Type* halves = KernelEmitter::VectorOf(b.getInt16Ty(), 2 * kLanes);
  llvm::Constant* upper = KernelEmitter::IntOf(bits, -0x10000);
  llvm::SmallVector<int, 2 * kLanes> odd;
  for (int i = 0; i < 2 * kLanes; ++i) odd.push_back(2 * i + 1);
  std::array<llvm::Value*, 2> rest = {low, high};
  std::array<llvm::Value*, kSplitParts> parts = {};
  for (int part = kHigh; part <= kLow; ++part) {
    std::array<llvm::Value*, 2> words = {};
    for (std::size_t i = 0; i < rest.size(); ++i) {
      llvm::Value* cut = b.CreateAnd(b.CreateBitCast(rest[i], bits), upper);
      words[i] = b.CreateBitCast(cut, halves);
      if (part == kLow) continue;
      llvm::Value* x = rest[i];
      rest[i] = b.CreateFSub(x, b.CreateBitCast(cut, x->getType()));
      if (part == kHigh && keep_infinity) {
        llvm::Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
        llvm::Value* infinite =
            b.CreateFCmpOEQ(magnitude, llvm::ConstantFP::getInfinity(x->getType()));
        rest[i] = b.CreateSelect(infinite, llvm::Constant::getNullValue(x->getType()), rest[i]);
      }
    }
    parts[static_cast<std::size_t>(part)] = b.CreateShuffleVector(words[0], words[1], odd);
  }
  return parts;
}

// ---- Rows of A ----

// Infinities of A stay whole: high is infinite, the others are zero.
void ContractionEmitter::StageSplitRow(llvm::Value* source, llvm::Value* target, llvm::Value* begin,
                                       llvm::Value* end) {
  const RowRun run = RunOf(source, begin, end);
  ForEachRunGranule(run, [&](llvm::Value* granule, llvm::Value* active) {
    SplitGranule(run.operand, run.dtype, run.source, target, granule, active);
  });
}

// Granule `granule` of a run of A; `active`: how many of its elements there are, null for all.
void ContractionEmitter::SplitGranule(std::uint32_t operand, DType from, llvm::Value* source,
                                      llvm::Value* target, llvm::Value* granule,
                                      llvm::Value* active) {
  llvm::Value* first = e_.Mul(granule, e_.I64(kGranule));
  std::array<llvm::Value*, 2> x = {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto lane = static_cast<std::int64_t>(i) * kLanes;
    llvm::Value* mask =
        active == nullptr ? nullptr : e_.TailMask(e_.Sub(active, e_.I64(lane)), kLanes);
    llvm::Value* pointer = e_.ElementPointer(source, from, e_.Add(first, e_.I64(lane)));
    x[i] = e_.LoadLanes(operand, from, pointer, kLanes, mask);
  }
  const auto parts = PartsOf(x[0], x[1], /*keep_infinity=*/true);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    llvm::Value* pointer =
        AddBytes(target, e_.Add(e_.Mul(granule, e_.I64(kLhsGranuleBytes)),
                                e_.I64(static_cast<std::int64_t>(part) * kTileRowBytes)));
    e_.TagAccess(e_.b().CreateAlignedStore(parts[part], pointer, llvm::Align(64)),
                 KernelEmitter::kScratch);
  }
}

llvm::Value* ContractionEmitter::OffsetOfRow(llvm::Value* row) {
  Values extents;
  for (const ContractionDim& dim : plan_.rows) extents.push_back(e_.Dim(dim.extent));
  const Values at = e_.Unflatten(row, extents);
  llvm::Value* offset = e_.I64(0);
  for (std::size_t i = 0; i < plan_.rows.size(); ++i) {
    offset = e_.Add(offset, e_.Mul(at[i], e_.Dim(plan_.rows[i].lhs_stride)));
  }
  return offset;
}

ContractionTask ContractionEmitter::StagedSpan(ContractionTask task, llvm::Value* fresh) {
  llvm::Value* first = OffsetOfRow(FirstRowOf(task.first_unit));
  llvm::Value* last = OffsetOfRow(e_.Sub(FirstRowOf(task.last_unit), e_.I64(1)));
  llvm::Value* target = e_.Scratch(plan_.staged_offset);
  e_.If(fresh, [&] {
    llvm::Value* source = AddBytes(task.lhs, e_.Mul(first, e_.I64(SizeInBytes(func_.lhs_dtype))));
    llvm::Value* count = e_.Add(e_.Sub(last, first), e_.I64(plan_.ConstantDepthSpan()));
    e_.For(e_.I64(0), e_.b().CreateUDiv(count, e_.I64(kGranule)), 1, [&](llvm::Value* granule) {
      SplitGranule(kLhs, func_.lhs_dtype, source, target, granule, nullptr);
    });
  });
  task.lhs = AddBytes(target, e_.Mul(first, e_.I64(-kSplitBytes)));
  return task;
}

void ContractionEmitter::ForEachGranule(const PanelChunk& chunk, llvm::Value* lhs, Values& carried,
                                        SplitStep step) {
  carried.push_back(e_.I64(0));
  WalkGranules(0, chunk, lhs, carried, step);
  carried.pop_back();
}

// The last carried value counts.
void ContractionEmitter::WalkGranules(std::size_t dim, const PanelChunk& chunk, llvm::Value* lhs,
                                      Values& carried, SplitStep step) {
  const ContractionDim& depth = plan_.depth[dim];
  if (dim + 1 < plan_.depth.size()) {
    llvm::Value* bytes = e_.Mul(e_.Dim(depth.lhs_stride), e_.I64(kSplitBytes));
    e_.For(e_.I64(0), e_.Dim(depth.extent), 1, carried, [&](llvm::Value* i, Values& values) {
      WalkGranules(dim + 1, chunk, AddBytes(lhs, e_.Mul(i, bytes)), values, step);
    });
    return;
  }
  const bool flat = plan_.depth.size() == 1;
  llvm::Value* granules = flat ? GranulesOf(chunk) : e_.I64(depth.extent.constant() / kGranule);
  e_.For(e_.I64(0), granules, 1, carried, [&](llvm::Value* i, Values& values) {
    llvm::Value* number = flat ? i : values.back();
    step(AddBytes(lhs, e_.Mul(i, e_.I64(kLhsGranuleBytes))), number, values);
    values.back() = e_.Add(number, e_.I64(1));
  });
}

// ---- Panels of B ----

void ContractionEmitter::BeginSplitPanels() {
  llvm::IRBuilder<>& b = e_.b();
  b.CreateAlignedStore(e_.I64(0), e_.Scratch(plan_.ready_offset + kReadySource), llvm::Align(8));
  b.CreateAlignedStore(e_.I64(0), e_.Scratch(plan_.ready_offset + kReadyBuffer), llvm::Align(8));
  b.CreateAlignedStore(e_.I64(0), e_.Scratch(plan_.deferred_offset), llvm::Align(8));
}

// Only where all chunks are equally long.
bool ContractionEmitter::SplitsAhead() const {
  return plan_.chunk == 0 || plan_.depth.back().extent.constant() % plan_.chunk == 0;
}

std::int64_t ContractionEmitter::SplitRowsPerBlock() const {
  const std::int64_t blocks = (plan_.units_per_task + 1) / 2;
  return (kTileRows + blocks - 1) / blocks;
}

llvm::Value* ContractionEmitter::GranulesOf(const PanelChunk& chunk) {
  const std::int64_t granule = plan_.depth_granule;
  if (chunk.depth == nullptr) return e_.I64(plan_.ConstantDepth() / granule);
  llvm::Value* depth = chunk.depth;
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(depth)) {
    return e_.I64(constant->getSExtValue() / granule);
  }
  return e_.b().CreateExactUDiv(depth, e_.I64(granule));
}

// One of the 16 rows of pairs of a granule; the same row of the panel after it is fetched.
void ContractionEmitter::SplitRow(llvm::Value* source, llvm::Value* target, llvm::Value* granule,
                                  llvm::Value* row) {
  llvm::IRBuilder<>& b = e_.b();
  const std::int64_t tiles = plan_.vectors;
  const std::int64_t row_bytes = tiles * 2 * kTileRowBytes;
  source =
      AddBytes(source, e_.Mul(e_.Add(e_.Mul(granule, e_.I64(kTileRows)), row), e_.I64(row_bytes)));
  target = AddBytes(target, e_.Add(e_.Mul(granule, e_.I64(kSplitParts * tiles * kTileBytes)),
                                   e_.Mul(row, e_.I64(kTileRowBytes))));
  llvm::Value* after = e_.Dim(plan_.panel_stride);
  llvm::Type* vector = KernelEmitter::VectorOf(b.getFloatTy(), kLanes);
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    std::array<llvm::Value*, 2> x = {};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto vector_number = 2 * tile + static_cast<std::int64_t>(i);
      llvm::Value* pointer = AddBytes(source, e_.I64(vector_number * kTileRowBytes));
      llvm::LoadInst* load = b.CreateAlignedLoad(vector, pointer, llvm::Align(64));
      e_.TagAccess(load, kRhs);
      x[i] = load;
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                        {AddBytes(pointer, after), b.getInt32(0), b.getInt32(2), b.getInt32(1)});
    }
    const auto parts = PartsOf(x[0], x[1], /*keep_infinity=*/false);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const std::int64_t at = (static_cast<std::int64_t>(part) * tiles + tile) * kTileBytes;
      e_.TagAccess(b.CreateAlignedStore(parts[part], AddBytes(target, e_.I64(at)), llvm::Align(64)),
                   KernelEmitter::kScratch);
    }
  }
}

void ContractionEmitter::BeginSplitPanel(PanelChunk& chunk) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* ready = b.CreateAlignedLoad(
      b.getPtrTy(), e_.Scratch(plan_.ready_offset + kReadySource), llvm::Align(8));
  llvm::Value* buffer = b.CreateAlignedLoad(
      b.getInt64Ty(), e_.Scratch(plan_.ready_offset + kReadyBuffer), llvm::Align(8));
  chunk.parts = AddBytes(e_.Scratch(plan_.split_offset), buffer);
  e_.If(b.CreateICmpNE(ready, chunk.rhs), [&] {
    e_.For(e_.I64(0), GranulesOf(chunk), 1, [&](llvm::Value* granule) {
      e_.For(e_.I64(0), e_.I64(kTileRows), 1,
             [&](llvm::Value* row) { SplitRow(chunk.rhs, chunk.parts, granule, row); });
    });
  });
}

ContractionEmitter::SplitFeed ContractionEmitter::FeedOf(const ContractionTask& task,
                                                         const PanelChunk& chunk,
                                                         llvm::Value* unit) {
  llvm::IRBuilder<>& b = e_.b();
  SplitFeed feed;
  if (!SplitsAhead()) return feed;
  llvm::Value* buffer = b.CreateAlignedLoad(
      b.getInt64Ty(), e_.Scratch(plan_.ready_offset + kReadyBuffer), llvm::Align(8));
  feed.source = chunk.next;
  feed.target = AddBytes(e_.Scratch(plan_.split_offset), e_.Sub(e_.I64(plan_.split_bytes), buffer));
  llvm::Value* block = b.CreateUDiv(e_.Sub(unit, task.first_unit), e_.I64(2));
  feed.first_row = e_.Mul(block, e_.I64(SplitRowsPerBlock()));
  return feed;
}

void ContractionEmitter::EndSplitPanel(const ContractionTask& task, const PanelChunk& chunk) {
  llvm::IRBuilder<>& b = e_.b();
  if (!SplitsAhead()) return;
  // What a task of fewer units has left over.
  const SplitFeed feed = FeedOf(task, chunk, e_.Add(task.last_unit, e_.I64(1)));
  e_.For(feed.first_row, e_.I64(kTileRows), 1, [&](llvm::Value* row) {
    e_.For(e_.I64(0), GranulesOf(chunk), 1,
           [&](llvm::Value* granule) { SplitRow(feed.source, feed.target, granule, row); });
  });
  llvm::Value* at = e_.Scratch(plan_.ready_offset + kReadyBuffer);
  llvm::Value* buffer = b.CreateAlignedLoad(b.getInt64Ty(), at, llvm::Align(8));
  b.CreateAlignedStore(e_.Sub(e_.I64(plan_.split_bytes), buffer), at, llvm::Align(8));
  b.CreateAlignedStore(chunk.next, e_.Scratch(plan_.ready_offset + kReadySource), llvm::Align(8));
}

// ---- Products ----

void ContractionEmitter::EmitSplitBlock(const PanelChunk& chunk, const RowUnit& first,
                                        const RowUnit* second, llvm::Value* sums,
                                        const SplitFeed& feed) {
  llvm::IRBuilder<>& b = e_.b();
  const int row_tiles = second != nullptr ? 2 : 1;
  const int column_tiles = plan_.vectors;
  llvm::Value* sum_stride = e_.I64(SumBytes());
  const auto for_each_sum = [&](llvm::Value* base,
                                llvm::function_ref<void(int, llvm::Value*)> use) {
    for (int r = 0; r < row_tiles; ++r) {
      for (int c = 0; c < column_tiles; ++c) {
        use(r * 2 + c, AddBytes(base, e_.I64(r * plan_.unit_bytes + c * kTileRowBytes)));
      }
    }
  };
  for_each_sum(sums, [&](int tile, llvm::Value* pointer) {
    if (chunk.partial) {
      tiles_.Load(tile, pointer, sum_stride);
    } else {
      tiles_.Zero(tile);
    }
  });
  Values feed_rows;
  if (feed.source != nullptr) {
    for (std::int64_t i = 0; i < SplitRowsPerBlock(); ++i) {
      feed_rows.push_back(e_.Min(e_.Add(feed.first_row, e_.I64(i)), e_.I64(kTileRows - 1)));
    }
  }
  const bool defers = DefersEpilogue();
  const std::int64_t deferred_rows = defers ? DeferredRowsPerGranule() : 0;
  const DeferredRows deferred = defers ? TakeDeferred() : DeferredRows();
  llvm::Value* distance =
      second == nullptr ? nullptr : b.CreatePtrDiff(b.getInt8Ty(), second->lhs, first.lhs);
  llvm::Value* lhs_stride = e_.Mul(e_.Dim(plan_.rows.back().lhs_stride), e_.I64(kSplitBytes));
  Values none;
  ForEachGranule(chunk, first.lhs, none, [&](llvm::Value* lhs, llvm::Value* granule, Values&) {
    llvm::Value* rhs =
        AddBytes(chunk.parts, e_.Mul(granule, e_.I64(kSplitParts * column_tiles * kTileBytes)));
    const auto load_lhs = [&](int part) {
      for (int r = 0; r < row_tiles; ++r) {
        llvm::Value* pointer = AddBytes(lhs, e_.I64(part * kTileRowBytes));
        tiles_.Load(AmxTiles::kLhs + r, r == 0 ? pointer : AddBytes(pointer, distance), lhs_stride);
      }
    };
    const auto load_rhs = [&](int part) {
      for (int c = 0; c < column_tiles; ++c) {
        tiles_.Load(AmxTiles::kRhs + c,
                    AddBytes(rhs, e_.I64((part * column_tiles + c) * kTileBytes)),
                    e_.I64(kTileRowBytes));
      }
    };
    // The small products first, so that they are not lost; each step loads no more than it must.
    struct Step {
      int lhs, rhs;
      bool loads_lhs, loads_rhs;
    };
    constexpr std::array<Step, 6> kSteps = {{{kLow, kHigh, true, true},
                                             {kMiddle, kHigh, true, false},
                                             {kMiddle, kMiddle, false, true},
                                             {kHigh, kMiddle, true, false},
                                             {kHigh, kLow, false, true},
                                             {kHigh, kHigh, false, true}}};
    std::size_t fed = 0;
    for (std::size_t step = 0; step < kSteps.size(); ++step) {
      if (kSteps[step].loads_lhs) load_lhs(kSteps[step].lhs);
      if (kSteps[step].loads_rhs) load_rhs(kSteps[step].rhs);
      for (int r = 0; r < row_tiles; ++r) {
        for (int c = 0; c < column_tiles; ++c) {
          tiles_.MultiplyBF16(r * 2 + c, AmxTiles::kLhs + r, AmxTiles::kRhs + c);
        }
      }
      for (; fed < feed_rows.size() * (step + 1) / kSteps.size(); ++fed) {
        SplitRow(feed.source, feed.target, granule, feed_rows[fed]);
      }
      if (static_cast<std::int64_t>(step) < deferred_rows) {
        llvm::Value* number =
            e_.Add(e_.Mul(granule, e_.I64(deferred_rows)), e_.I64(static_cast<std::int64_t>(step)));
        e_.If(b.CreateICmpSLT(number, deferred.count), [&] { EmitDeferredRow(deferred, number); });
      }
    }
  });
  for_each_sum(e_.Scratch(plan_.block_offset),
               [&](int tile, llvm::Value* pointer) { tiles_.Store(tile, pointer, sum_stride); });
}

// ---- Epilogues ----

std::int64_t ContractionEmitter::DeferredRowsPerGranule() const {
  const std::int64_t granules = std::max<std::int64_t>(1, plan_.ConstantDepth() / kGranule);
  return (2 * kTileRows + granules - 1) / granules;
}

bool ContractionEmitter::DefersEpilogue() const {
  return plan_.kernel == MicroKernel::kAmxSplit && plan_.chunk == 0 &&
         DeferredRowsPerGranule() <= kMaxDeferredRows;
}

// The words of DeferredRows, the batch as one number.
ContractionEmitter::DeferredRows ContractionEmitter::TakeDeferred() {
  llvm::IRBuilder<>& b = e_.b();
  const auto word = [&](std::int64_t number) -> llvm::Value* {
    return b.CreateAlignedLoad(b.getInt64Ty(), e_.Scratch(plan_.deferred_offset + 8 * number),
                               llvm::Align(8));
  };
  DeferredRows deferred;
  deferred.count = word(0);
  deferred.first_unit = word(1);
  deferred.first_row = word(2);
  deferred.panel = word(3);
  Values extents;
  for (const ContractionBatchDim& dim : func_.batch) extents.push_back(e_.Dim(dim.extent));
  deferred.batch = e_.Unflatten(word(4), extents);
  b.CreateAlignedStore(e_.I64(0), e_.Scratch(plan_.deferred_offset), llvm::Align(8));
  return deferred;
}

void ContractionEmitter::EmitDeferredRow(const DeferredRows& deferred, llvm::Value* number) {
  llvm::IRBuilder<>& b = e_.b();
  // The second unit's sums begin at row 16 of the block.
  llvm::Value* gap = e_.Sub(e_.I64(kTileRows), deferred.first_unit);
  llvm::Value* at =
      b.CreateSelect(b.CreateICmpSLT(number, deferred.first_unit), number, e_.Add(number, gap));
  EmitEpilogueRow(deferred.batch, e_.Add(deferred.first_row, number), deferred.panel,
                  AddBytes(e_.Scratch(plan_.block_offset), e_.Mul(at, e_.I64(SumBytes()))),
                  nullptr);
}

void ContractionEmitter::DeferOrEmitEpilogue(const ContractionTask& task, const PanelChunk& chunk,
                                             const RowUnit& first, const RowUnit* second,
                                             llvm::Value* sums) {
  llvm::IRBuilder<>& b = e_.b();
  const std::int64_t nr = func_.rhs.nr;
  const auto defer = [&] {
    llvm::Value* batch = e_.I64(0);
    for (std::size_t i = 0; i < func_.batch.size(); ++i) {
      batch = e_.Add(e_.Mul(batch, e_.Dim(func_.batch[i].extent)), task.batch[i]);
    }
    llvm::Value* count = second == nullptr ? first.rows : e_.Add(first.rows, second->rows);
    const std::array<llvm::Value*, 5> words = {count, first.rows, first.first_row, chunk.panel,
                                               batch};
    for (std::size_t i = 0; i < words.size(); ++i) {
      b.CreateAlignedStore(words[i],
                           e_.Scratch(plan_.deferred_offset + 8 * static_cast<std::int64_t>(i)),
                           llvm::Align(8));
    }
  };
  if (func_.n.IsConstant() && func_.n.constant() % nr == 0) {
    defer();
    return;
  }
  llvm::Value* columns = e_.Sub(e_.Dim(func_.n), e_.Mul(chunk.panel, e_.I64(nr)));
  llvm::Value* whole = b.CreateICmpSGE(columns, e_.I64(nr));
  e_.If(whole, defer);
  e_.If(b.CreateNot(whole), [&] {
    EmitEpilogueRows(task, chunk.panel, first, sums, columns);
    if (second == nullptr) return;
    EmitEpilogueRows(task, chunk.panel, *second, AddBytes(sums, e_.I64(plan_.unit_bytes)), columns);
  });
}

void ContractionEmitter::FlushDeferred() {
  const DeferredRows deferred = TakeDeferred();
  e_.For(e_.I64(0), deferred.count, 1,
         [&](llvm::Value* number) { EmitDeferredRow(deferred, number); });
}

// ---- Sums that are not finite ----

void ContractionEmitter::SettleSplitUnit(const PanelChunk& chunk, const RowUnit& unit,
                                         llvm::Value* block, llvm::Value* sums) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* vector = KernelEmitter::VectorOf(b.getFloatTy(), kLanes);
  llvm::Constant* zero = llvm::Constant::getNullValue(vector);
  const auto at = [&](llvm::Value* base, llvm::Value* row, int v) {
    return AddBytes(base, e_.Add(e_.Mul(row, e_.I64(SumBytes())), e_.I64(v * kTileRowBytes)));
  };
  const auto load = [&](llvm::Value* row, int v) {
    llvm::LoadInst* value = b.CreateAlignedLoad(vector, at(block, row, v), llvm::Align(64));
    e_.TagAccess(value, KernelEmitter::kScratch);
    return value;
  };
  // Zero times a finite number is zero; otherwise it is NaN and stays so.
  Values checks(static_cast<std::size_t>(plan_.vectors), zero);
  e_.For(e_.I64(0), unit.rows, 1, checks, [&](llvm::Value* row, Values& carried) {
    for (int v = 0; v < plan_.vectors; ++v) {
      llvm::Value*& check = carried[static_cast<std::size_t>(v)];
      check = e_.Fma(load(row, v), zero, check);
    }
  });
  llvm::Value* check = checks[0];
  for (std::size_t v = 1; v < checks.size(); ++v) check = b.CreateFAdd(check, checks[v]);
  llvm::Value* bad = b.CreateOrReduce(b.CreateFCmpUNO(check, check));
  e_.If(bad, [&] { RepairSplitUnit(chunk, unit, sums); });
  if (!chunk.partial) return;
  e_.If(b.CreateNot(bad), [&] {
    e_.For(e_.I64(0), unit.rows, 1, [&](llvm::Value* row) {
      for (int v = 0; v < plan_.vectors; ++v) {
        e_.TagAccess(b.CreateAlignedStore(load(row, v), at(sums, row, v), llvm::Align(64)),
                     KernelEmitter::kScratch);
      }
    });
  });
}

// By multiply-adds of pairs: lanes are 8 columns of even and odd k, added up at the end.
void ContractionEmitter::RepairSplitUnit(const PanelChunk& chunk, const RowUnit& unit,
                                         llvm::Value* sums) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* vector = KernelEmitter::VectorOf(b.getFloatTy(), kLanes);
  llvm::Type* pair = KernelEmitter::VectorOf(b.getFloatTy(), 2);
  llvm::Type* words = KernelEmitter::VectorOf(b.getInt32Ty(), 2);
  const std::int64_t columns = kLanes / 2;
  const std::int64_t pair_row_bytes = func_.rhs.nr * 2 * ElementBytes();
  llvm::SmallVector<int, kLanes> repeat;
  llvm::SmallVector<int, kLanes / 2> even;
  llvm::SmallVector<int, kLanes / 2> odd;
  for (int i = 0; i < kLanes; ++i) repeat.push_back(i % 2);
  for (int i = 0; i < kLanes; i += 2) {
    even.push_back(i);
    odd.push_back(i + 1);
  }
  llvm::Value* lhs_stride = e_.Mul(e_.Dim(plan_.rows.back().lhs_stride), e_.I64(kSplitBytes));
  const auto lhs_pair = [&](llvm::Value* granule, llvm::Value* number) {
    llvm::Value* at = AddBytes(granule, e_.Mul(number, e_.I64(4)));
    llvm::Value* sum = nullptr;
    for (int part = kLow; part >= kHigh; --part) {
      llvm::Value* bits = b.CreateAlignedLoad(
          b.getInt32Ty(), AddBytes(at, e_.I64(part * kTileRowBytes)), llvm::Align(4));
      llvm::Value* value = llvm::Constant::getNullValue(words);
      value = b.CreateInsertElement(value, b.CreateShl(bits, b.getInt32(16)), std::uint64_t{0});
      value =
          b.CreateInsertElement(value, b.CreateAnd(bits, b.getInt32(0xffff0000)), std::uint64_t{1});
      value = b.CreateBitCast(value, pair);
      sum = sum == nullptr ? value : b.CreateFAdd(sum, value);
    }
    return b.CreateShuffleVector(sum, repeat);
  };
  e_.For(e_.I64(0), unit.rows, 1, [&](llvm::Value* row) {
    e_.For(e_.I64(0), e_.I64(func_.rhs.nr), columns, [&](llvm::Value* column) {
      Values carried = {llvm::Constant::getNullValue(vector)};
      llvm::Value* lhs_row = AddBytes(unit.lhs, e_.Mul(row, lhs_stride));
      const auto add_granule = [&](llvm::Value* lhs, llvm::Value* granule, Values& values) {
        e_.For(e_.I64(0), e_.I64(kTileRows), 1, values, [&](llvm::Value* number, Values& sum) {
          llvm::Value* at =
              e_.Mul(e_.Add(e_.Mul(granule, e_.I64(kTileRows)), number), e_.I64(pair_row_bytes));
          at = e_.Add(at, e_.Mul(column, e_.I64(2 * ElementBytes())));
          llvm::LoadInst* rhs =
              b.CreateAlignedLoad(vector, AddBytes(chunk.rhs, at), llvm::Align(64));
          e_.TagAccess(rhs, kRhs);
          sum[0] = e_.Fma(lhs_pair(lhs, number), rhs, sum[0]);
        });
      };
      ForEachGranule(chunk, lhs_row, carried, add_granule);
      llvm::Value* total = b.CreateFAdd(b.CreateShuffleVector(carried[0], even),
                                        b.CreateShuffleVector(carried[0], odd));
      llvm::Value* pointer = AddBytes(
          sums, e_.Add(e_.Mul(row, e_.I64(SumBytes())), e_.Mul(column, e_.I64(ElementBytes()))));
      if (chunk.partial) {
        llvm::LoadInst* before = b.CreateAlignedLoad(total->getType(), pointer, llvm::Align(32));
        e_.TagAccess(before, KernelEmitter::kScratch);
        total = b.CreateFAdd(before, total);
      }
      e_.TagAccess(b.CreateAlignedStore(total, pointer, llvm::Align(32)), KernelEmitter::kScratch);
    });
  });
}

}  // namespace stoker::codegen
