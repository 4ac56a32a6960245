// f32 on AMX in digits; see digits.h. Of the nine products of digits, the six that reach 2^-24 of
// the whole are added up in i32, exactly, those of equal weight together; what is left out is as
// much as f32 rounds away from one product of the largest elements.
//
// Where digits lie: a row of A as [granule of 64][digit][64], a panel of B as PackedLayout says. A
// tile of sums is multiplied by itself: its row tile of A stays in the first-level cache for all
// column tiles, and tile loads, which take as long as products, are as few as those.
#include <array>

#include "compiler/codegen/contraction_emitter.h"
#include "compiler/codegen/contraction_plan.h"
#include "compiler/codegen/digits.h"

namespace stoker::codegen {
namespace {

constexpr std::uint32_t kRhs = 1;
constexpr int kLanes = 16;
constexpr int kTileRowBytes = AmxTiles::kRowBytes;
constexpr int kTileBytes = AmxTiles::kTileBytes;
constexpr std::int64_t kLhsGranuleBytes = kDigits * kDigitGranule;
constexpr std::int64_t kRhsTileBytes = kDigits * kTileBytes;  // Of a granule and a column tile.
constexpr std::int64_t kCacheLine = 64;
constexpr int kMaxUnroll = 4;
constexpr int kExponentBytes = 4;
constexpr std::int64_t kWordBytes = 8;
constexpr std::int64_t kFour = 4;  // Neighbours along K in a panel.

}  // namespace

// ---- Rows of A ----

void ContractionEmitter::StageDigitRow(llvm::Value* row, llvm::Value* source, llvm::Value* target,
                                       llvm::Value* begin, llvm::Value* end) {
  llvm::IRBuilder<>& b = e_.b();
  const RowRun run = RunOf(source, begin, end);
  llvm::Type* bits = KernelEmitter::VectorOf(b.getInt32Ty(), kLanes);
  const auto larger = [&](llvm::Value* x, llvm::Value* y) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
  };
  Values largest(kMaxUnroll, llvm::Constant::getNullValue(bits));
  e_.ForLanes(e_.I64(0), run.count, kLanes, kMaxUnroll, largest,
              [&](llvm::Value* first, int copies, llvm::Value* mask, Values& values) {
                for (int i = 0; i < copies; ++i) {
                  llvm::Value* pointer = e_.ElementPointer(
                      run.source, run.dtype, e_.Add(first, e_.I64(std::int64_t{i} * kLanes)));
                  llvm::Value* x = e_.LoadLanes(run.operand, run.dtype, pointer, kLanes, mask);
                  llvm::Value*& value = values[static_cast<std::size_t>(i)];
                  value = larger(value, MagnitudeBits(e_, x));
                }
              });
  for (std::size_t i = 1; i < largest.size(); ++i) largest[0] = larger(largest[0], largest[i]);
  const DigitScale scale = DigitScaleOf(e_, e_.ReduceLanes(largest[0], larger));
  llvm::Value* exponent =
      AddBytes(e_.Scratch(plan_.exponents_offset), e_.Mul(row, e_.I64(kExponentBytes)));
  e_.TagAccess(b.CreateAlignedStore(scale.exponent, exponent, llvm::Align(4)),
               KernelEmitter::kScratch);
  llvm::Value* shift = e_.Splat(scale.shift, kLanes);
  e_.If(b.CreateNot(scale.special), [&] { StageDigits(run, target, shift, false); });
  e_.If(scale.special, [&] { StageDigits(run, target, shift, true); });
}

void ContractionEmitter::StageDigits(const RowRun& run, llvm::Value* target, llvm::Value* shift,
                                     bool special) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* bytes = KernelEmitter::VectorOf(b.getInt8Ty(), kLanes);
  ForEachRunGranule(run, [&](llvm::Value* granule, llvm::Value* active) {
    llvm::Value* at = AddBytes(target, e_.Mul(granule, e_.I64(kLhsGranuleBytes)));
    for (std::int64_t lane = 0; lane < kDigitGranule; lane += kLanes) {
      llvm::Value* mask =
          active == nullptr ? nullptr : e_.TailMask(e_.Sub(active, e_.I64(lane)), kLanes);
      llvm::Value* element = e_.Add(e_.Mul(granule, e_.I64(kDigitGranule)), e_.I64(lane));
      llvm::Value* x = e_.LoadLanes(
          run.operand, run.dtype, e_.ElementPointer(run.source, run.dtype, element), kLanes, mask);
      llvm::Value* digits = special ? SpecialDigitsOf(e_, x) : DigitsOf(e_, x, shift);
      for (std::int64_t digit = 0; digit < kDigits; ++digit) {
        llvm::Value* byte = b.CreateLShr(
            digits, KernelEmitter::IntOf(digits->getType(), 8 * (kDigits - 1 - digit)));
        e_.TagAccess(b.CreateAlignedStore(b.CreateTrunc(byte, bytes),
                                          AddBytes(at, e_.I64(digit * kDigitGranule + lane)),
                                          llvm::Align(16)),
                     KernelEmitter::kScratch);
      }
    }
  });
}

// ---- Products ----

std::int64_t ContractionEmitter::DigitRowsPerGranule() const {
  const std::int64_t granules =
      (plan_.chunk != 0 ? plan_.chunk : plan_.ConstantDepth()) / kDigitGranule * plan_.vectors;
  return (AmxTiles::kRows + granules - 1) / granules;
}

void ContractionEmitter::EmitDigitUnit(const ContractionTask& task, const PanelChunk& chunk,
                                       llvm::Value* number) {
  llvm::IRBuilder<>& b = e_.b();
  const RowUnit unit = UnitAt(task, number);
  llvm::Value* prefetch = PrefetchFor(task, chunk, number);
  const DigitUnit before = LoadDigitUnit();
  const std::int64_t block_bytes = plan_.vectors * kDigitSums * kTileBytes;
  DigitUnit now;
  now.rows = unit.rows;
  now.row = e_.Sub(unit.first_row, task.lhs_row);
  now.first_row = unit.first_row;
  now.panel = chunk.panel;
  // There are two blocks, one after the other.
  now.block = b.CreateXor(before.block, e_.I64(block_bytes));
  now.lhs = b.CreatePtrDiff(b.getInt8Ty(), unit.lhs, e_.Scratch(0));
  now.rhs = chunk.rhs;
  now.columns = chunk.exponents;
  now.granules = GranulesOf(chunk);
  now.sums = b.CreatePtrDiff(b.getInt8Ty(), SumsAt(task, chunk, number), e_.Scratch(0));
  now.batch = FlatBatch(task.batch);
  tiles_.ConfigureDigits(unit.rows);
  const std::int64_t rows = DigitRowsPerGranule();
  for (int tile = 0; tile < plan_.vectors; ++tile) {
    llvm::Value* block =
        AddBytes(e_.Scratch(plan_.block_offset + tile * kDigitSums * kTileBytes), now.block);
    EmitDigitTile(chunk, unit, tile, prefetch, block, [&](llvm::Value* granule) {
      llvm::Value* beside = e_.Add(granule, e_.Mul(now.granules, e_.I64(tile)));
      for (std::int64_t i = 0; i < rows; ++i) {
        llvm::Value* row = e_.Add(e_.Mul(beside, e_.I64(rows)), e_.I64(i));
        e_.If(b.CreateICmpSLT(row, before.rows), [&] { FinishDigitRow(before, row); });
      }
    });
  }
  // A chunk may have fewer granules than were counted on.
  e_.For(e_.Mul(now.granules, e_.I64(plan_.vectors * rows)), before.rows, 1,
         [&](llvm::Value* row) { FinishDigitRow(before, row); });
  StoreDigitUnit(now);
}

void ContractionEmitter::EmitDigitTile(const PanelChunk& chunk, const RowUnit& unit,
                                       int column_tile, llvm::Value* prefetch, llvm::Value* block,
                                       llvm::function_ref<void(llvm::Value*)> beside) {
  for (int i = 0; i < kDigitSums; ++i) tiles_.Zero(i);
  llvm::Value* lhs_stride = e_.Mul(e_.Dim(plan_.rows.back().lhs_stride), e_.I64(kDigits));
  // The column tiles of a unit share in fetching its part of the next panel.
  const std::int64_t lines = PrefetchLines(1);
  const std::int64_t first_line = lines * column_tile / plan_.vectors;
  const std::int64_t end_line = lines * (column_tile + 1) / plan_.vectors;
  e_.For(e_.I64(0), GranulesOf(chunk), 1, [&](llvm::Value* granule) {
    llvm::Value* lhs = AddBytes(unit.lhs, e_.Mul(granule, e_.I64(kLhsGranuleBytes)));
    llvm::Value* rhs = AddBytes(chunk.rhs, e_.Add(e_.Mul(granule, e_.I64(GranuleBytes())),
                                                  e_.I64(column_tile * kRhsTileBytes)));
    llvm::Value* fetched = AddBytes(prefetch, e_.Mul(granule, e_.I64(lines * kCacheLine)));
    for (int digit = 0; digit < kDigits; ++digit) {
      tiles_.Load(AmxTiles::kDigitRhs, AddBytes(rhs, e_.I64(digit * kTileBytes)),
                  e_.I64(kTileRowBytes));
      for (int other = static_cast<int>(kDigits) - 1 - digit; other >= 0; --other) {
        if (digit == 0) {
          tiles_.Load(AmxTiles::kLhs + other, AddBytes(lhs, e_.I64(other * kDigitGranule)),
                      lhs_stride);
        }
        // Of the three products whose numbers add up to 2, one has a tile of sums of its own: no
        // sum waits for the one before.
        const int sums = digit == 1 && other == 1 ? kDigitSums - 1 : digit + other;
        tiles_.MultiplyI8(sums, AmxTiles::kLhs + other, AmxTiles::kDigitRhs);
      }
    }
    for (std::int64_t line = first_line; line < end_line; ++line) {
      e_.FetchLine(AddBytes(fetched, e_.I64(line * kCacheLine)));
    }
    beside(granule);
  });
  for (int i = 0; i < kDigitSums; ++i) {
    tiles_.Store(i, AddBytes(block, e_.I64(std::int64_t{i} * kTileBytes)), e_.I64(kTileRowBytes));
  }
}

// ---- Rows of sums ----

std::array<llvm::Value**, ContractionEmitter::DigitUnit::kWords>
ContractionEmitter::DigitUnit::Words() {
  return {&rows, &row, &first_row, &panel, &block, &lhs, &rhs, &columns, &granules, &sums, &batch};
}

void ContractionEmitter::BeginDigitUnits() {
  DigitUnit none;
  for (llvm::Value** word : none.Words()) *word = e_.I64(0);
  none.rhs = none.columns = e_.Buffer(kRhs);
  StoreDigitUnit(none);
}

ContractionEmitter::DigitUnit ContractionEmitter::LoadDigitUnit() {
  llvm::IRBuilder<>& b = e_.b();
  DigitUnit unit;
  std::int64_t at = plan_.deferred_offset;
  for (llvm::Value** word : unit.Words()) {
    llvm::Type* type = b.getInt64Ty();
    if (word == &unit.rhs || word == &unit.columns) type = b.getPtrTy();
    llvm::LoadInst* load = b.CreateAlignedLoad(type, e_.Scratch(at), llvm::Align(8));
    e_.TagAccess(load, KernelEmitter::kScratch);
    *word = load;
    at += kWordBytes;
  }
  return unit;
}

void ContractionEmitter::StoreDigitUnit(DigitUnit unit) {
  std::int64_t at = plan_.deferred_offset;
  for (llvm::Value** word : unit.Words()) {
    e_.TagAccess(e_.b().CreateAlignedStore(*word, e_.Scratch(at), llvm::Align(8)),
                 KernelEmitter::kScratch);
    at += kWordBytes;
  }
}

void ContractionEmitter::FlushDigitUnit() {
  if (plan_.kernel != MicroKernel::kAmxDigits) return;
  DigitUnit unit = LoadDigitUnit();
  e_.For(e_.I64(0), unit.rows, 1, [&](llvm::Value* row) { FinishDigitRow(unit, row); });
  unit.rows = e_.I64(0);
  StoreDigitUnit(unit);
}

void ContractionEmitter::FinishDigitRow(const DigitUnit& unit, llvm::Value* row) {
  llvm::IRBuilder<>& b = e_.b();
  const bool partial = plan_.chunk != 0;
  // A unit that is finished at once needs room for one row only.
  llvm::Value* sums = AddBytes(e_.Scratch(0), unit.sums);
  if (partial) sums = AddBytes(sums, e_.Mul(row, e_.I64(SumBytes())));
  for (int tile = 0; tile < plan_.vectors; ++tile) {
    llvm::Value* target = AddBytes(sums, e_.I64(std::int64_t{tile} * kTileRowBytes));
    llvm::Value* value = SettleDigits(unit, row, tile);
    if (partial) {
      llvm::LoadInst* before =
          b.CreateAlignedLoad(value->getType(), target, llvm::Align(kTileRowBytes));
      e_.TagAccess(before, KernelEmitter::kScratch);
      value = b.CreateFAdd(before, value);
    }
    e_.TagAccess(b.CreateAlignedStore(value, target, llvm::Align(kTileRowBytes)),
                 KernelEmitter::kScratch);
  }
  if (partial) return;
  Values extents;
  for (const ContractionBatchDim& dim : func_.batch) extents.push_back(e_.Dim(dim.extent));
  llvm::Value* columns = nullptr;
  if (!func_.n.IsConstant() || func_.n.constant() % func_.rhs.nr != 0) {
    columns = e_.Sub(e_.Dim(func_.n), e_.Mul(unit.panel, e_.I64(func_.rhs.nr)));
  }
  EmitEpilogueRow(e_.Unflatten(unit.batch, extents), e_.Add(unit.first_row, row), unit.panel, sums,
                  columns);
}

llvm::Value* ContractionEmitter::SettleDigits(const DigitUnit& unit, llvm::Value* row,
                                              int column_tile) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* integers = KernelEmitter::VectorOf(b.getInt32Ty(), kLanes);
  llvm::Type* floats = KernelEmitter::VectorOf(b.getFloatTy(), kLanes);
  const auto load = [&](llvm::Type* type, std::uint32_t operand, llvm::Value* pointer, int align) {
    llvm::LoadInst* value =
        b.CreateAlignedLoad(type, pointer, llvm::Align(static_cast<std::uint64_t>(align)));
    e_.TagAccess(value, operand);
    return value;
  };
  llvm::Value* row_exponent = load(b.getFloatTy(), KernelEmitter::kScratch,
                                   AddBytes(e_.Scratch(plan_.exponents_offset),
                                            e_.Mul(e_.Add(unit.row, row), e_.I64(kExponentBytes))),
                                   kExponentBytes);
  llvm::Value* exponent = b.CreateFAdd(
      e_.Splat(row_exponent, kLanes),
      load(floats, kRhs, AddBytes(unit.columns, e_.I64(std::int64_t{column_tile} * kTileRowBytes)),
           kTileRowBytes));
  llvm::Value* block =
      AddBytes(e_.Scratch(plan_.block_offset + column_tile * kDigitSums * kTileBytes), unit.block);
  block = AddBytes(block, e_.Mul(row, e_.I64(kTileRowBytes)));
  std::array<llvm::Value*, kDigitSums> parts = {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] =
        load(integers, KernelEmitter::kScratch,
             AddBytes(block, e_.I64(static_cast<std::int64_t>(i) * kTileBytes)), kTileRowBytes);
  }
  parts[2] = b.CreateAdd(parts[2], parts[3]);
  llvm::Value* product = SumOfDigits(e_, llvm::ArrayRef(parts).take_front(kDigits), exponent);
  llvm::Value* special = b.CreateFCmpUNO(exponent, exponent);
  llvm::Value* any = b.CreateZExt(b.CreateOrReduce(special), b.getInt64Ty());
  Values value = {product};
  e_.For(e_.I64(0), any, 1, value, [&](llvm::Value*, Values& carried) {
    carried[0] = b.CreateSelect(special, MultiplySpecial(unit, row, column_tile), carried[0]);
  });
  return value[0];
}

llvm::Value* ContractionEmitter::MultiplySpecial(const DigitUnit& unit, llvm::Value* row,
                                                 int column_tile) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Type* integers = KernelEmitter::VectorOf(b.getInt32Ty(), kLanes);
  llvm::Type* floats = KernelEmitter::VectorOf(b.getFloatTy(), kLanes);
  // One digit in the low byte of every lane, beside those of higher digits.
  const auto append = [&](llvm::Value* digits, llvm::Value* byte) {
    llvm::Value* lanes = KernelEmitter::WidthOf(byte) == 1 ? e_.Splat(byte, kLanes) : byte;
    return b.CreateOr(b.CreateShl(digits, KernelEmitter::IntOf(integers, 8)), lanes);
  };
  llvm::Value* lhs_stride = e_.Mul(e_.Dim(plan_.rows.back().lhs_stride), e_.I64(kDigits));
  llvm::Value* lhs = AddBytes(AddBytes(e_.Scratch(0), unit.lhs), e_.Mul(row, lhs_stride));
  Values sum = {llvm::Constant::getNullValue(floats)};
  e_.For(e_.I64(0), unit.granules, 1, sum, [&](llvm::Value* granule, Values& outer) {
    llvm::Value* rhs = AddBytes(unit.rhs, e_.Add(e_.Mul(granule, e_.I64(GranuleBytes())),
                                                 e_.I64(column_tile * kRhsTileBytes)));
    llvm::Value* run = AddBytes(lhs, e_.Mul(granule, e_.I64(kLhsGranuleBytes)));
    const auto multiply = [&](llvm::Value* k, Values& values) {
      llvm::Value* in_four = b.CreateURem(k, e_.I64(kFour));
      llvm::Value* four = b.CreateUDiv(k, e_.I64(kFour));
      llvm::Value* bits = b.CreateTrunc(e_.Mul(in_four, e_.I64(8)), b.getInt32Ty());
      llvm::Value* left = llvm::Constant::getNullValue(integers);
      llvm::Value* right = left;
      for (std::int64_t digit = 0; digit < kDigits; ++digit) {
        llvm::LoadInst* byte = b.CreateAlignedLoad(
            b.getInt8Ty(), AddBytes(run, e_.Add(k, e_.I64(digit * kDigitGranule))), llvm::Align(1));
        e_.TagAccess(byte, KernelEmitter::kScratch);
        left = append(left, b.CreateZExt(byte, b.getInt32Ty()));
        llvm::LoadInst* bytes = b.CreateAlignedLoad(
            integers,
            AddBytes(rhs, e_.Add(e_.Mul(four, e_.I64(kTileRowBytes)), e_.I64(digit * kTileBytes))),
            llvm::Align(kTileRowBytes));
        e_.TagAccess(bytes, kRhs);
        llvm::Value* shifted = b.CreateLShr(bytes, e_.Splat(bits, kLanes));
        right = append(right, b.CreateAnd(shifted, KernelEmitter::IntOf(integers, 0xff)));
      }
      values[0] = e_.Fma(ValueOfDigits(e_, left), ValueOfDigits(e_, right), values[0]);
    };
    e_.For(e_.I64(0), e_.I64(kDigitGranule), 1, outer, multiply);
  });
  return sum[0];
}

}  // namespace stoker::codegen
