// Copies of Q, K and V in scratch, converted to the element type of the products and zero padded.
#include "compiler/codegen/x86/attention/attention_emitter.h"
#include "compiler/codegen/x86/emitter/transpose.h"

namespace stoker::codegen {
namespace {

constexpr std::uint32_t kQueries = 0;
constexpr std::uint32_t kKeys = 1;
constexpr std::uint32_t kValues = 2;

}  // namespace

// Elements [at, at + count) of a row, in memory's form of the element type (bf16 as i16); zero from
// `limit` on and where the row is not `valid` (null: it is). `row`: pointer to its first element.
llvm::Value* AttentionEmitter::LoadElements(std::uint32_t operand, const AttentionOperand& from,
                                            llvm::Value* row, llvm::Value* at, int count,
                                            std::int64_t limit, llvm::Value* valid) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* mask = nullptr;
  if (limit % count != 0) mask = e_.TailMask(e_.Sub(e_.I64(limit), at), count);
  if (valid != nullptr) {
    llvm::Value* lanes = e_.Splat(valid, count);
    mask = mask == nullptr ? lanes : b.CreateAnd(mask, lanes);
  }
  const bool moved = from.dtype == plan_.element && SizeInBytes(from.dtype) == 2;
  const DType dtype = moved ? DType::kI16 : from.dtype;
  llvm::Value* value = nullptr;
  if (from.strides[3] == SymDim(1)) {
    value = e_.LoadLanes(operand, dtype, AddElements(row, dtype, at), count, mask);
  } else {
    llvm::Value* lanes = b.CreateAdd(e_.Splat(at, count), e_.Iota(b.getInt64Ty(), count));
    lanes = b.CreateMul(lanes, e_.Splat(e_.Dim(from.strides[3]), count));
    value = e_.GatherLanes(operand, dtype, row, lanes, mask);
  }
  if (moved) return value;
  llvm::Type* type = KernelEmitter::VectorOf(e_.LaneType(plan_.element), count);
  value = b.CreateFPCast(value, type);
  return e_.ToMemory(plan_.element, value);
}

void AttentionEmitter::StageQueries(const Task& task, const Tile& tile) {
  llvm::Value* base = OffsetOf(func_.q, task.batch, task.head);
  llvm::Value* first = e_.Add(task.first_query, tile.first);
  const int width = plan_.lanes * static_cast<int>(plan_.pair);
  // Rows past the last repeat it: their results are not stored.
  e_.For(e_.I64(0), e_.I64(plan_.tile_rows), 1, [&](llvm::Value* row) {
    llvm::Value* query = e_.Add(first, e_.Min(row, e_.Sub(tile.rows, e_.I64(1))));
    llvm::Value* source = AddElements(e_.Buffer(kQueries), func_.q.dtype,
                                      e_.Add(base, e_.Mul(query, e_.Dim(func_.q.strides[2]))));
    llvm::Value* target = AddElements(e_.Scratch(plan_.queries_offset), plan_.element,
                                      e_.Mul(row, e_.I64(plan_.head_dim)));
    e_.For(e_.I64(0), e_.I64(plan_.head_dim), width, [&](llvm::Value* at) {
      StoreScratch(LoadElements(kQueries, func_.q, source, at, width, func_.head_dim, nullptr),
                   AddElements(target, plan_.element, at));
    });
    FetchAhead(task, query);
  });
}

// Rows of a head lie far apart, where a processor fetches none by itself: while the queries of one
// tile are multiplied, those of the next one come, and a share of what the next head copies.
void AttentionEmitter::FetchAhead(const Task& task, llvm::Value* query) {
  const auto fetch = [&](std::uint32_t operand, const AttentionOperand& from, llvm::Value* offset,
                         llvm::Value* row, std::int64_t dim) {
    if (from.strides[3] != SymDim(1)) return;
    const std::int64_t line = 64 / static_cast<std::int64_t>(SizeInBytes(from.dtype));
    llvm::Value* start = e_.Add(offset, e_.Mul(row, e_.Dim(from.strides[2])));
    for (std::int64_t at = 0; at < dim; at += line) {
      e_.FetchLine(AddElements(e_.Buffer(operand), from.dtype, e_.Add(start, e_.I64(at))));
    }
  };
  fetch(kQueries, func_.q, OffsetOf(func_.q, task.batch, task.head),
        e_.Add(query, e_.I64(plan_.tile_rows)), func_.head_dim);
  llvm::Value* next = e_.Add(task.kv_head, e_.I64(1));
  fetch(kKeys, func_.k, OffsetOf(func_.k, task.batch, next), query, func_.head_dim);
  fetch(kValues, func_.v, OffsetOf(func_.v, task.batch, next), query, func_.value_dim);
}

// Transposes squares of keys by units of `pair` elements.
void AttentionEmitter::StageKeys(const Task& task, const KeyBlock& block) {
  llvm::IRBuilder<>& b = e_.b();
  const int keys = plan_.lanes;
  const int width = keys * static_cast<int>(plan_.pair);
  llvm::Type* units = ComputeVector();
  llvm::Value* base = OffsetOf(func_.k, task.batch, task.kv_head);
  llvm::Value* padded = e_.Mul(e_.DivUp(block.keys, plan_.nr), e_.I64(plan_.nr));
  e_.For(e_.I64(0), padded, keys, [&](llvm::Value* key) {
    Values rows;
    Values valid;
    for (int i = 0; i < keys; ++i) {
      llvm::Value* at = e_.Add(key, e_.I64(i));
      valid.push_back(b.CreateICmpSLT(at, block.keys));
      at = e_.Add(block.first, e_.Min(at, e_.Sub(block.keys, e_.I64(1))));
      rows.push_back(AddElements(e_.Buffer(kKeys), func_.k.dtype,
                                 e_.Add(base, e_.Mul(at, e_.Dim(func_.k.strides[2])))));
    }
    // [key / nr][head_dim / pair][nr][pair]
    llvm::Value* panel = b.CreateUDiv(key, e_.I64(plan_.nr));
    llvm::Value* target = e_.Mul(panel, e_.I64(plan_.nr * plan_.head_dim));
    target = e_.Add(target, e_.Mul(b.CreateURem(key, e_.I64(plan_.nr)), e_.I64(plan_.pair)));
    target = AddElements(e_.Scratch(plan_.keys_offset), plan_.element, target);
    const auto square = [&](llvm::Value* at, std::int64_t count) {
      Values columns;
      for (int i = 0; i < keys; ++i) {
        llvm::Value* run = LoadElements(kKeys, func_.k, rows[static_cast<std::size_t>(i)], at,
                                        width, func_.head_dim, nullptr);
        run = b.CreateBitCast(run, units);
        columns.push_back(b.CreateSelect(valid[static_cast<std::size_t>(i)], run,
                                         llvm::Constant::getNullValue(units)));
      }
      Transpose(e_, columns);
      llvm::Value* to = AddElements(target, plan_.element, e_.Mul(at, e_.I64(plan_.nr)));
      for (std::int64_t i = 0; i < count; ++i) {
        StoreScratch(columns[static_cast<std::size_t>(i)],
                     AddElements(to, plan_.element, e_.I64(i * plan_.nr * plan_.pair)));
      }
    };
    const std::int64_t whole = plan_.head_dim / width * width;
    e_.For(e_.I64(0), e_.I64(whole), width, [&](llvm::Value* at) { square(at, keys); });
    if (whole < plan_.head_dim) {
      square(e_.I64(whole), (plan_.head_dim - whole) / plan_.pair);
    }
  });
}

// Copies rows; pairs of rows are interleaved.
void AttentionEmitter::StageValues(const Task& task, const KeyBlock& block) {
  llvm::IRBuilder<>& b = e_.b();
  llvm::Value* base = OffsetOf(func_.v, task.batch, task.kv_head);
  llvm::Value* padded = e_.Mul(e_.DivUp(block.keys, plan_.granule), e_.I64(plan_.granule));
  llvm::Type* units = ComputeVector();
  llvm::Type* unit_bits = KernelEmitter::VectorOf(b.getInt32Ty(), plan_.lanes);
  e_.For(e_.I64(0), padded, plan_.pair, [&](llvm::Value* key) {
    Values rows;
    Values valid;
    for (std::int64_t i = 0; i < plan_.pair; ++i) {
      llvm::Value* at = e_.Add(key, e_.I64(i));
      valid.push_back(plan_.granule == 1 ? nullptr : b.CreateICmpSLT(at, block.keys));
      at = e_.Add(block.first, e_.Min(at, e_.Sub(block.keys, e_.I64(1))));
      rows.push_back(AddElements(e_.Buffer(kValues), func_.v.dtype,
                                 e_.Add(base, e_.Mul(at, e_.Dim(func_.v.strides[2])))));
    }
    // [column / nr][key / pair][nr][pair]
    for (std::int64_t column = 0; column < plan_.value_dim; column += plan_.lanes) {
      llvm::Value* value = nullptr;
      if (column >= func_.value_dim) value = llvm::Constant::getNullValue(units);
      for (std::size_t i = 0; i < rows.size() && column < func_.value_dim; ++i) {
        llvm::Value* part = LoadElements(kValues, func_.v, rows[i], e_.I64(column), plan_.lanes,
                                         func_.value_dim, valid[i]);
        if (plan_.pair == 2) {
          part = b.CreateZExt(part, unit_bits);
          if (i == 1) part = b.CreateShl(part, llvm::ConstantInt::get(unit_bits, 16));
        }
        value = value == nullptr ? part : b.CreateOr(value, part);
      }
      value = b.CreateBitCast(value, units);
      const std::int64_t panel =
          column / plan_.nr * plan_.nr * plan_.key_block + column % plan_.nr * plan_.pair;
      StoreScratch(value, AddElements(e_.Scratch(plan_.values_offset), plan_.element,
                                      e_.Add(e_.I64(panel), e_.Mul(key, e_.I64(plan_.nr)))));
    }
  });
}

}  // namespace stoker::codegen
