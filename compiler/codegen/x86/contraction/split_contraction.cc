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
// Under Numerics::kHigh the lowest parts take no part: three products, which are off by at most
// 2^-13 of each term.
//
// Each granule of K adds six products to the sums, all of which round: runs of K are short.
//
// Tile products leave the vector units idle: while a block is multiplied, they split the next panel
// into the other of two buffers and run the epilogue of the block before.
//
// Where parts lie: a row of A as [granule of 32][part][32], a panel of B as [granule][part][column
// tile][16 pairs][16 columns][2].
#include "compiler/codegen/x86/contraction/split_contraction.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "protocol/artifact/kernel_abi.h"

namespace stoker::codegen {
namespace {

constexpr int kTileBytes = AmxTiles::kTileBytes;
constexpr int kGranule = 32;
// Granules of a panel in parts that a lone pair of units has at a time, which the first-level cache
// holds, and those that are split before they are needed.
constexpr std::int64_t kLoneGranules = 2;
constexpr std::int64_t kLoneAhead = 1;
constexpr int kLanes = 16;
// A granule of one row of A, in parts.
constexpr int kLhsGranuleBytes = kGranule * static_cast<int>(kSplitBytes);

// What is ready where: the packed panel that lies in a buffer, and the buffer's offset.
constexpr std::int64_t kReadySource = 0;
constexpr std::int64_t kReadyBuffer = 8;

enum Part : int { kHigh = 0, kMiddle = 1, kLow = 2 };

// The small products first, so that they are not lost; each step loads no more than it must.
struct Step {
  int lhs, rhs;
  bool loads_lhs, loads_rhs;
};
constexpr std::array<Step, 6> kOfThreeParts = {{{kLow, kHigh, true, true},
                                                {kMiddle, kHigh, true, false},
                                                {kMiddle, kMiddle, false, true},
                                                {kHigh, kMiddle, true, false},
                                                {kHigh, kLow, false, true},
                                                {kHigh, kHigh, false, true}}};
constexpr std::array<Step, 3> kOfTwoParts = {
    {{kMiddle, kHigh, true, true}, {kHigh, kMiddle, true, true}, {kHigh, kHigh, false, true}}};

}  // namespace

std::array<llvm::Value*, kSplitParts> SplitContraction::PartsOf(llvm::Value* low, llvm::Value* high,
                                                                bool can_be_added_up) {
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
      llvm::Value* word = b.CreateBitCast(rest[i], bits);
      // What is left has more bits than a part only below 2^-126; up, so that none becomes zero.
      if (part == kLow && can_be_added_up)
        word = b.CreateAdd(word, KernelEmitter::IntOf(bits, 0xffff));
      llvm::Value* cut = b.CreateAnd(word, upper);
      words[i] = b.CreateBitCast(cut, halves);
      if (part == kLow) continue;
      llvm::Value* x = rest[i];
      rest[i] = b.CreateFSub(x, b.CreateBitCast(cut, x->getType()));
      if (part == kHigh && can_be_added_up) {
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

// Sums that are computed again add up the parts of A: infinities stay whole, high is infinite and
// the others are zero; and no element becomes zero that is none, for it may be that of an infinity.
void SplitContraction::CopyRow(llvm::Value* source, llvm::Value* target, llvm::Value* begin,
                               llvm::Value* end) {
  const RowRun run = RunOf(source, begin, end);
  ForEachRunGranule(run, [&](llvm::Value* granule, llvm::Value* active) {
    SplitGranule(run.operand, run.dtype, run.source, target, granule, active);
  });
}

SplitContraction::RowRun SplitContraction::RunOf(llvm::Value* source, llvm::Value* begin,
                                                 llvm::Value* end) {
  const ContractionDim& last = plan_.source_depth.back();
  if (plan_.source_depth.size() == 1 && last.lhs_stride == SymDim(1)) {
    return {kLhs, func_.lhs_dtype,
            AddBytes(source, e_.Mul(begin, e_.I64(SizeInBytes(func_.lhs_dtype)))),
            e_.Sub(end != nullptr ? end : e_.Dim(last.extent), begin)};
  }
  llvm::Value* row = e_.Scratch(plan_.row_offset);
  Values cursor = {row};
  StageDepth(0, source, begin, end, cursor);
  const int bytes = e_.machine().vector_bytes;
  llvm::Type* vector = KernelEmitter::VectorOf(e_.b().getInt8Ty(), bytes);
  for (std::int64_t at = 0; at < plan_.depth_granule * ElementBytes(); at += bytes) {
    e_.b().CreateAlignedStore(llvm::Constant::getNullValue(vector), AddBytes(cursor[0], e_.I64(at)),
                              llvm::Align(4));
  }
  llvm::Value* count = e_.Dim(plan_.depth.back().extent);  // Padded to a granule.
  const std::int64_t granule = plan_.depth_granule;
  if (end != nullptr) count = e_.Mul(e_.DivUp(e_.Sub(end, begin), granule), e_.I64(granule));
  return {KernelEmitter::kScratch, plan_.element, row, count};
}

void SplitContraction::ForEachRunGranule(
    const RowRun& run, llvm::function_ref<void(llvm::Value*, llvm::Value*)> emit) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::ConstantInt* granule = e_.I64(plan_.depth_granule);
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(run.count);
  llvm::Value* whole = constant != nullptr ? e_.I64(constant->getSExtValue() / plan_.depth_granule)
                                           : b.CreateUDiv(run.count, granule);
  e_.For(e_.I64(0), whole, 1, [&](llvm::Value* i) { emit(i, nullptr); });
  llvm::Value* rest = e_.Sub(run.count, e_.Mul(whole, granule));
  if (constant != nullptr && constant->getSExtValue() % plan_.depth_granule == 0) return;
  e_.If(b.CreateICmpSGT(rest, e_.I64(0)), [&] { emit(whole, rest); });
}

// Granule `granule` of a run of A; `active`: how many of its elements there are, null for all.
void SplitContraction::SplitGranule(std::uint32_t operand, DType from, llvm::Value* source,
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
  const auto parts = PartsOf(x[0], x[1], /*can_be_added_up=*/true);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    llvm::Value* pointer =
        AddBytes(target, e_.Add(e_.Mul(granule, e_.I64(kLhsGranuleBytes)),
                                e_.I64(static_cast<std::int64_t>(part) * kTileRowBytes)));
    e_.TagAccess(e_.b().CreateAlignedStore(parts[part], pointer, llvm::Align(64)),
                 KernelEmitter::kScratch);
  }
}

llvm::Value* SplitContraction::OffsetOfRow(llvm::Value* row) {
  Values extents;
  for (const ContractionDim& dim : plan_.rows) extents.push_back(e_.Dim(dim.extent));
  const Values at = e_.Unflatten(row, extents);
  llvm::Value* offset = e_.I64(0);
  for (std::size_t i = 0; i < plan_.rows.size(); ++i) {
    offset = e_.Add(offset, e_.Mul(at[i], e_.Dim(plan_.rows[i].lhs_stride)));
  }
  return offset;
}

Tasks SplitContraction::ReadCopy(const Tasks& original, llvm::Value* fresh) {
  if (plan_.lhs != LhsCopy::kSpan) return ContractionEmitter::ReadCopy(original, fresh);
  Tasks tasks = original;
  llvm::Value* first = OffsetOfRow(FirstRowOf(tasks.block_unit));
  llvm::Value* last = OffsetOfRow(e_.Sub(FirstRowOf(tasks.block_end), e_.I64(1)));
  llvm::Value* target = e_.Scratch(plan_.staged_offset);
  e_.If(fresh, [&] {
    llvm::Value* source = AddBytes(tasks.lhs, e_.Mul(first, e_.I64(SizeInBytes(func_.lhs_dtype))));
    llvm::Value* count = e_.Add(e_.Sub(last, first), e_.I64(plan_.ConstantDepthSpan()));
    e_.For(e_.I64(0), e_.b().CreateUDiv(count, e_.I64(kGranule)), 1, [&](llvm::Value* granule) {
      SplitGranule(kLhs, func_.lhs_dtype, source, target, granule, nullptr);
    });
  });
  tasks.lhs = AddBytes(target, e_.Mul(first, e_.I64(-kSplitBytes)));
  return tasks;
}

void SplitContraction::ForEachGranule(const PanelChunk& chunk, llvm::Value* lhs, Values& carried,
                                      SplitStep step, RunEnd end_run) {
  carried.push_back(e_.I64(0));
  WalkGranules(0, chunk, lhs, carried, step, end_run);
  carried.pop_back();
}

// The last carried value counts.
void SplitContraction::WalkGranules(std::size_t dim, const PanelChunk& chunk, llvm::Value* lhs,
                                    Values& carried, SplitStep step, RunEnd end_run) {
  const ContractionDim& depth = plan_.depth[dim];
  if (dim + 1 < plan_.depth.size()) {
    llvm::Value* bytes = e_.Mul(e_.Dim(depth.lhs_stride), e_.I64(kSplitBytes));
    ForRuns(
        dim, e_.Dim(depth.extent), 1, carried,
        [&](llvm::Value* i, int, Values& values) {
          WalkGranules(dim + 1, chunk, AddBytes(lhs, e_.Mul(i, bytes)), values, step, end_run);
        },
        end_run);
    return;
  }
  const bool flat = plan_.depth.size() == 1;
  llvm::Value* granules = flat ? GranulesOf(chunk) : e_.I64(depth.extent.constant() / kGranule);
  ForRuns(
      dim, granules, 1, carried,
      [&](llvm::Value* i, int, Values& values) {
        llvm::Value* number = flat ? i : values.back();
        step(AddBytes(lhs, e_.Mul(i, e_.I64(kLhsGranuleBytes))), number, values);
        values.back() = e_.Add(number, e_.I64(1));
      },
      end_run);
}

// ---- Panels of B ----

void SplitContraction::Begin() {
  AmxContraction::Begin();
  llvm::IRBuilder<>& b = e_.b();
  const auto store = [&](std::int64_t value, llvm::Value* pointer) {
    b.CreateAlignedStore(e_.I64(value), pointer, llvm::Align(8));
  };
  // A panel that was split ahead is ready for the thread's next call, which goes on where this one
  // ends.
  llvm::Value* is_noted = e_.HeaderWord(offsetof(ScratchHeader, is_noted));
  llvm::Value* noted = b.CreateAlignedLoad(b.getInt64Ty(), is_noted, llvm::Align(8));
  e_.If(b.CreateICmpEQ(noted, e_.I64(0)), [&] {
    store(1, is_noted);
    store(kNoBlock, e_.HeaderWord(offsetof(ScratchHeader, note)));
    store(0, e_.Scratch(plan_.ready_offset + kReadySource));
    store(0, e_.Scratch(plan_.ready_offset + kReadyBuffer));
  });
}

void SplitContraction::EmitUnits(const Tasks& tasks, const PanelChunk& whole) {
  PanelChunk chunk = whole;
  BeginSplitPanel(tasks, chunk);
  AmxContraction::EmitUnits(tasks, chunk);
  EndSplitPanel(tasks, chunk);
}

// Only where all chunks are equally long.
bool SplitContraction::SplitsAhead() const {
  return plan_.chunk == 0 || plan_.depth.back().extent.constant() % plan_.chunk == 0;
}

// Each block splits its share of the panel's rows of pairs, in the order in which they lie: rows
// that are 16 apart, as many from each granule, are parts whose stores wait for the second-level
// cache one by one. How many blocks there are only a call knows where the number of rows varies.
llvm::Value* SplitContraction::SplitRowsPerBlock(const Tasks& tasks) {
  if (plan_.units.IsConstant()) {
    const std::int64_t blocks = (plan_.units_per_block + 1) / 2;
    return e_.I64((kTileRows + blocks - 1) / blocks);
  }
  llvm::Value* blocks = e_.DivUp(e_.Sub(tasks.last_unit, tasks.first_unit), 2);
  llvm::Value* rows = e_.Add(blocks, e_.I64(kTileRows - 1));
  return e_.b().CreateUDiv(rows, blocks);
}

llvm::Value* SplitContraction::GranulesOf(const PanelChunk& chunk) {
  const std::int64_t granule = plan_.depth_granule;
  if (chunk.depth == nullptr) return e_.I64(plan_.ConstantDepth() / granule);
  llvm::Value* depth = chunk.depth;
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(depth)) {
    return e_.I64(constant->getSExtValue() / granule);
  }
  return e_.b().CreateExactUDiv(depth, e_.I64(granule));
}

llvm::Value* SplitContraction::RowsOfPairs(const PanelChunk& chunk) {
  return e_.Mul(GranulesOf(chunk), e_.I64(kTileRows));
}

// A block of one pair of units reads each granule's parts once, and has few of them at a time.
llvm::Value* SplitContraction::IsLonePair(const Tasks& tasks) {
  if (plan_.units.IsConstant() || !SplitsAhead()) return nullptr;
  return e_.b().CreateICmpSLE(e_.Sub(tasks.block_end, tasks.block_unit), e_.I64(2));
}

llvm::Value* SplitContraction::PartsOfGranule(llvm::Value* parts, llvm::Value* lone,
                                              llvm::Value* granule) {
  if (lone != nullptr) {
    llvm::Value* kept = e_.b().CreateSelect(lone, e_.I64(kLoneGranules - 1), e_.I64(-1));
    granule = e_.b().CreateAnd(granule, kept);
  }
  return AddBytes(parts, e_.Mul(granule, e_.I64(kSplitParts * plan_.vectors * kTileBytes)));
}

// A row of pairs of a panel, of which a granule has 16; the same row of the panel after it is
// fetched.
void SplitContraction::SplitRow(llvm::Value* source, llvm::Value* target, llvm::Value* lone,
                                llvm::Value* row) {
  llvm::IRBuilder<>& b = e_.b();
  const std::int64_t tiles = plan_.vectors;
  source = AddBytes(source, e_.Mul(row, e_.I64(tiles * 2 * kTileRowBytes)));
  llvm::Value* granule = b.CreateUDiv(row, e_.I64(kTileRows));
  llvm::Value* row_of_tile = b.CreateURem(row, e_.I64(kTileRows));
  target =
      AddBytes(PartsOfGranule(target, lone, granule), e_.Mul(row_of_tile, e_.I64(kTileRowBytes)));
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
      e_.FetchLine(AddBytes(pointer, after));
    }
    const auto parts = PartsOf(x[0], x[1], /*can_be_added_up=*/false);
    for (std::size_t part = 0; part < static_cast<std::size_t>(func_.parts); ++part) {
      const std::int64_t at = (static_cast<std::int64_t>(part) * tiles + tile) * kTileBytes;
      e_.TagAccess(b.CreateAlignedStore(parts[part], AddBytes(target, e_.I64(at)), llvm::Align(64)),
                   KernelEmitter::kScratch);
    }
  }
}

void SplitContraction::BeginSplitPanel(const Tasks& tasks, PanelChunk& chunk) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* ready = b.CreateAlignedLoad(
      b.getPtrTy(), e_.Scratch(plan_.ready_offset + kReadySource), llvm::Align(8));
  llvm::Value* buffer = b.CreateAlignedLoad(
      b.getInt64Ty(), e_.Scratch(plan_.ready_offset + kReadyBuffer), llvm::Align(8));
  chunk.parts = AddBytes(e_.Scratch(plan_.split_offset), buffer);
  chunk.lone = IsLonePair(tasks);
  llvm::Value* is_missing = b.CreateICmpNE(ready, chunk.rhs);
  llvm::Value* rows = RowsOfPairs(chunk);
  if (chunk.lone != nullptr) {
    is_missing = b.CreateOr(is_missing, chunk.lone);
    rows = b.CreateSelect(chunk.lone, e_.Min(e_.I64(kLoneAhead * kTileRows), rows), rows);
  }
  e_.If(is_missing, [&] {
    e_.For(e_.I64(0), rows, 1,
           [&](llvm::Value* row) { SplitRow(chunk.rhs, chunk.parts, chunk.lone, row); });
  });
}

SplitContraction::SplitFeed SplitContraction::FeedOf(const Tasks& tasks, const PanelChunk& chunk,
                                                     llvm::Value* unit) {
  llvm::IRBuilder<>& b = e_.b();
  SplitFeed feed;
  if (!SplitsAhead()) return feed;
  llvm::Value* buffer = b.CreateAlignedLoad(
      b.getInt64Ty(), e_.Scratch(plan_.ready_offset + kReadyBuffer), llvm::Align(8));
  feed.source = chunk.next;
  feed.target = AddBytes(e_.Scratch(plan_.split_offset), e_.Sub(e_.I64(plan_.split_bytes), buffer));
  llvm::Value* block = b.CreateUDiv(e_.Sub(unit, tasks.first_unit), e_.I64(2));
  feed.rows = SplitRowsPerBlock(tasks);
  feed.first = e_.Mul(e_.Mul(block, feed.rows), GranulesOf(chunk));
  feed.end = RowsOfPairs(chunk);
  feed.lone = chunk.lone;
  if (feed.lone == nullptr) return feed;
  // Of the same panel.
  feed.source = b.CreateSelect(feed.lone, chunk.rhs, feed.source);
  feed.target = b.CreateSelect(feed.lone, chunk.parts, feed.target);
  feed.rows = b.CreateSelect(feed.lone, e_.I64(kTileRows), feed.rows);
  llvm::Value* ahead = e_.Add(feed.first, e_.I64(kLoneAhead * kTileRows));
  feed.first = b.CreateSelect(feed.lone, ahead, feed.first);
  return feed;
}

void SplitContraction::EndSplitPanel(const Tasks& tasks, const PanelChunk& chunk) {
  llvm::IRBuilder<>& b = e_.b();
  if (!SplitsAhead()) return;
  // What fewer units have left over.
  const SplitFeed feed = FeedOf(tasks, chunk, e_.Add(tasks.last_unit, e_.I64(1)));
  e_.For(feed.first, RowsOfPairs(chunk), 1,
         [&](llvm::Value* row) { SplitRow(feed.source, feed.target, feed.lone, row); });
  llvm::Value* at = e_.Scratch(plan_.ready_offset + kReadyBuffer);
  llvm::Value* buffer = b.CreateAlignedLoad(b.getInt64Ty(), at, llvm::Align(8));
  b.CreateAlignedStore(e_.Sub(e_.I64(plan_.split_bytes), buffer), at, llvm::Align(8));
  llvm::Value* ready = chunk.next;
  if (chunk.lone != nullptr) {
    ready = b.CreateSelect(chunk.lone, llvm::Constant::getNullValue(b.getPtrTy()), ready);
  }
  b.CreateAlignedStore(ready, e_.Scratch(plan_.ready_offset + kReadySource), llvm::Align(8));
}

// ---- Products ----

void SplitContraction::EmitBlock(const Tasks& tasks, const PanelChunk& chunk, llvm::Value* number,
                                 const UnitPair& pair) {
  EmitSplitBlock(chunk, pair.first, pair.second, FeedOf(tasks, chunk, number));
  const auto settle = [&](const RowUnit& unit, std::int64_t offset, llvm::Value* into) {
    llvm::Value* total = HasSplitRuns() ? e_.Scratch(plan_.total_offset + offset) : nullptr;
    SettleSplitUnit(chunk, unit, e_.Scratch(plan_.block_offset + offset), total, into);
  };
  settle(pair.first, 0, pair.sums);
  if (pair.second != nullptr) settle(*pair.second, plan_.unit_bytes, pair.second_sums);
}

std::int64_t SplitContraction::MaxSplitGranules() const {
  return (plan_.chunk != 0 ? plan_.chunk : plan_.ConstantDepth()) / kGranule;
}

std::int64_t SplitContraction::GranulesOfSplitRun() const {
  const SumRuns& runs = plan_.runs;
  if (runs.one) return MaxSplitGranules();
  std::int64_t elements = runs.length;
  for (std::size_t i = runs.dim + 1; i < plan_.depth.size(); ++i) {
    elements *= plan_.depth[i].extent.constant();
  }
  return runs.dim + 1 < plan_.depth.size() ? elements / kGranule : elements;
}

bool SplitContraction::HasSplitRuns() const { return GranulesOfSplitRun() < MaxSplitGranules(); }

// The rows that are split beside one of a granule's steps.
void SplitContraction::SplitBeside(const SplitFeed& feed, llvm::Value* granule, std::int64_t step,
                                   std::int64_t steps) {
  llvm::Value* first = e_.Add(feed.first, e_.Mul(granule, feed.rows));
  if (auto* rows = llvm::dyn_cast<llvm::ConstantInt>(feed.rows)) {
    const std::int64_t count = rows->getSExtValue();
    for (std::int64_t i = count * step / steps; i < count * (step + 1) / steps; ++i) {
      llvm::Value* last = e_.Sub(feed.end, e_.I64(1));
      SplitRow(feed.source, feed.target, feed.lone, e_.Min(e_.Add(first, e_.I64(i)), last));
    }
    return;
  }
  const auto bound = [&](std::int64_t number) {
    llvm::Value* rows = e_.b().CreateUDiv(e_.Mul(feed.rows, e_.I64(number)), e_.I64(steps));
    return e_.Min(e_.Add(first, rows), feed.end);
  };
  e_.For(bound(step), bound(step + 1), 1,
         [&](llvm::Value* row) { SplitRow(feed.source, feed.target, feed.lone, row); });
}

// Products of one granule into the tiles of a block, the rows that are split and the epilogues that
// are run meanwhile.
void SplitContraction::EmitSplitGranule(const SplitBlock& block, llvm::Value* lhs,
                                        llvm::Value* granule) {
  llvm::Value* rhs = PartsOfGranule(block.parts, block.feed.lone, granule);
  const auto load_lhs = [&](int part) {
    for (int r = 0; r < block.row_tiles; ++r) {
      llvm::Value* pointer = AddBytes(lhs, e_.I64(part * kTileRowBytes));
      tiles_.Load(AmxTiles::kLhs + r, r == 0 ? pointer : AddBytes(pointer, block.distance),
                  block.lhs_stride);
    }
  };
  const auto load_rhs = [&](int part) {
    for (int c = 0; c < plan_.vectors; ++c) {
      tiles_.Load(AmxTiles::kRhs + c,
                  AddBytes(rhs, e_.I64((part * plan_.vectors + c) * kTileBytes)),
                  e_.I64(kTileRowBytes));
    }
  };
  const std::span<const Step> steps =
      func_.parts == 2 ? std::span<const Step>(kOfTwoParts) : kOfThreeParts;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (steps[step].loads_lhs) load_lhs(steps[step].lhs);
    if (steps[step].loads_rhs) load_rhs(steps[step].rhs);
    for (int r = 0; r < block.row_tiles; ++r) MultiplyRowTile(r);
    const auto row = static_cast<std::int64_t>(step);
    const auto all_steps = static_cast<std::int64_t>(steps.size());
    if (block.feed.source != nullptr) SplitBeside(block.feed, granule, row, all_steps);
    if (block.deferred.count == nullptr) continue;
    EmitDeferredRows(block.deferred, granule, row, row + 1 == all_steps ? kTileRows : row + 1);
  }
}

SplitContraction::SplitBlock SplitContraction::BlockOf(const PanelChunk& chunk,
                                                       const RowUnit& first, const RowUnit* second,
                                                       const SplitFeed& feed) {
  return {TileBlockOf(first, second, chunk), chunk.parts, feed};
}

void SplitContraction::EmitSplitBlock(const PanelChunk& chunk, const RowUnit& first,
                                      const RowUnit* second, const SplitFeed& feed) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* sum_stride = e_.I64(SumBytes());
  const SplitBlock block = BlockOf(chunk, first, second, feed);
  const auto begin_run = [&](int tile, llvm::Value*) { tiles_.Zero(tile); };
  const auto store = [&](int tile, llvm::Value* pointer) {
    tiles_.Store(tile, pointer, sum_stride);
  };
  llvm::Value* sums = e_.Scratch(plan_.block_offset);
  ForEachSum(block, sums, begin_run);
  const auto end_run = [&](Values& carried) {
    if (!HasSplitRuns()) return;
    llvm::Value* done = carried.back();
    e_.If(b.CreateICmpSLT(done, GranulesOf(chunk)), [&] {
      llvm::Value* total = e_.Scratch(plan_.total_offset);
      const auto begin = [&] { ForEachSum(block, total, store); };
      const auto add = [&] {
        ForEachSum(block, e_.Scratch(plan_.run_offset), store);
        AddTileRun(first, second, e_.Scratch(plan_.run_offset), total);
      };
      if (2 * GranulesOfSplitRun() >= MaxSplitGranules()) {
        begin();
      } else {
        llvm::Value* is_first = b.CreateICmpEQ(done, e_.I64(GranulesOfSplitRun()));
        e_.If(is_first, begin);
        e_.If(b.CreateNot(is_first), add);
      }
      ForEachSum(block, total, begin_run);
    });
  };
  Values none;
  ForEachGranule(
      chunk, first.lhs, none,
      [&](llvm::Value* lhs, llvm::Value* granule, Values&) {
        EmitSplitGranule(block, lhs, granule);
      },
      end_run);
  ForEachSum(block, sums, store);
}

}  // namespace stoker::codegen
