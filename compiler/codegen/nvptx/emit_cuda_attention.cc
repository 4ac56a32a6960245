// Attention on tensor cores (mma.sync m16n8k16, PTX ISA): FlashAttention-2 (Dao 2023).
//
// A warp has 16 queries. Lane 4g + t has rows g and g + 8 of each product's result, there columns
// 2t and 2t + 1 of each 8; as a left operand the weights of 16 keys lie in the registers that two
// such results have left them in.
#include "compiler/codegen/nvptx/emit_cuda_attention.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>
#include <cstdint>
#include <limits>
#include <numbers>

#include "compiler/codegen/nvptx/nvptx_emitter.h"

namespace stoker::codegen {
namespace {

constexpr int kQueries = AttentionSchedule::kQueries;
// Behind each row of a tile: eight rows that ldmatrix reads at once lie in different banks.
constexpr int kPad = 8;

// What a lane has of its two queries.
struct Rows {
  std::array<llvm::Value*, 2> highest{};  // Scores so far, times log2 e.
  std::array<llvm::Value*, 2> total{};    // Of this lane's weights so far.
  Values sums;                            // Weighted values: four for each 8 numbers of a head.

  static Rows Of(const Values& packed) {
    return {
        {packed[0], packed[1]}, {packed[2], packed[3]}, Values(packed.begin() + 4, packed.end())};
  }
  Values Packed() const {
    Values packed = {highest[0], highest[1], total[0], total[1]};
    packed.append(sums);
    return packed;
  }
};

class AttentionEmitter {
 public:
  AttentionEmitter(const AttentionFunc& func, const CudaSchedule& schedule,
                   const GpuMachine& machine, llvm::Module& module)
      : e_(module, machine, schedule, NumOperands(func)),
        func_(func),
        keys_(std::get<AttentionSchedule>(schedule.how).keys),
        threads_(schedule.threads),
        width_(schedule.width),
        rows_of_block_(schedule.threads / machine.warp_size * kQueries) {}

  void Emit();

 private:
  // A tile of keys or of values in shared memory, and where it comes from.
  struct Tile {
    const AttentionOperand* operand = nullptr;
    std::int64_t head = 0;  // Numbers.
    llvm::Value* shared = nullptr;
    llvm::Value* from = nullptr;  // The first key of this block's head.
    bool is_zero_outside = false;
  };

  llvm::IRBuilder<>& b() { return e_.b(); }
  llvm::Type* i32() { return b().getInt32Ty(); }
  llvm::Type* f32() { return b().getFloatTy(); }
  llvm::Value* Float(double value) { return llvm::ConstantFP::get(f32(), value); }
  KernelEmitter& hardware() { return e_; }
  llvm::Value* Larger(llvm::Value* x, llvm::Value* y) {
    return hardware().ExtremeInHardware(/*is_largest=*/true, x, y);
  }

  // Which vector of a tile is this thread's vector i.
  llvm::Value* NumberOf(std::size_t i) {
    return e_.Add(e_.ThreadIndex(), e_.I64(static_cast<std::int64_t>(i) * threads_));
  }

  void FindPlace();
  void WalkKeys(const Values& queries, Values& carried);
  llvm::Value* Pointer(const AttentionOperand& operand, std::uint32_t number, llvm::Value* head,
                       llvm::Value* row, llvm::Value* at);
  Tile TileOf(const AttentionOperand& operand, std::uint32_t number, std::int64_t head,
              bool is_zero_outside);
  Values LoadQueries();
  Values LoadPairs(const Values& pointers);
  llvm::Value* LoadOf(const Tile& tile, llvm::Value* key, llvm::Value* part, llvm::Type* type);
  Values LoadTile(const Tile& tile, llvm::Value* first_key);
  void StoreTile(const Tile& tile, const Values& loaded, llvm::Value* first_key);
  std::array<llvm::Value*, 4> LoadMatrices(const Tile& tile, llvm::Value* row, llvm::Value* column,
                                           bool is_transposed);
  void Multiply(const Values& lhs, llvm::ArrayRef<llvm::Value*> rhs, Values& sums,
                std::size_t first);
  Values Scores(const Values& queries);
  void Mask(Values& scores, llvm::Value* first_key);
  void ToWeights(Values& scores, Rows& rows);
  llvm::Value* Packed(llvm::Value* low, llvm::Value* high);
  void AddValues(const Values& weights, Values& sums);
  void Store(const Rows& rows);

  NvptxEmitter e_;
  const AttentionFunc& func_;
  const int keys_;  // Of a tile.
  const int threads_;
  const int width_;
  const int rows_of_block_;

  llvm::Value* batch_ = nullptr;
  llvm::Value* head_ = nullptr;
  llvm::Value* kv_head_ = nullptr;
  llvm::Value* first_ = nullptr;  // The block's first query.
  llvm::Value* lane_ = nullptr;
  llvm::Value* pair_ = nullptr;          // 2t.
  std::array<llvm::Value*, 2> query_{};  // Of this lane.
  llvm::Value* is_aligned_ = nullptr;
  Tile k_;
  Tile v_;
};

void AttentionEmitter::Emit() {
  FindPlace();
  k_ = TileOf(func_.k, 1, func_.head_dim, /*is_zero_outside=*/false);
  v_ = TileOf(func_.v, 2, func_.value_dim, /*is_zero_outside=*/true);
  Rows rows;
  rows.highest.fill(Float(-std::numeric_limits<double>::infinity()));
  rows.total.fill(Float(0));
  rows.sums.assign(static_cast<std::size_t>(func_.value_dim / 2), Float(0));
  const Values queries = LoadQueries();
  Values carried = rows.Packed();
  const auto walk = [&](Values& values) { WalkKeys(queries, values); };
  if (func_.keys.IsConstant()) {
    walk(carried);
  } else {
    e_.If(b().CreateICmpSGT(e_.Dim(func_.keys), e_.I64(0)), carried, walk);
  }
  Store(Rows::Of(carried));
  e_.Finish();
}

// Over all tiles, of which there is one at least: while the block computes with one, its threads
// hold the next.
void AttentionEmitter::WalkKeys(const Values& queries, Values& carried) {
  llvm::Value* end = e_.Dim(func_.keys);
  if (func_.causal) end = e_.Min(end, e_.Add(first_, e_.I64(rows_of_block_)));
  const std::size_t of_rows = carried.size();
  carried.append(LoadTile(k_, e_.I64(0)));
  const std::size_t of_keys = carried.size();
  carried.append(LoadTile(v_, e_.I64(0)));
  e_.ForSome(e_.I64(0), end, keys_, carried, [&](llvm::Value* key, Values& values) {
    const auto part = [&](std::size_t first, std::size_t last) {
      return Values(values.begin() + first, values.begin() + last);
    };
    e_.Barrier();  // All are done with the tile before.
    StoreTile(k_, part(of_rows, of_keys), key);
    StoreTile(v_, part(of_keys, values.size()), key);
    e_.Barrier();
    Values next_tiles = part(of_rows, values.size());
    llvm::Value* next = e_.Add(key, e_.I64(keys_));
    e_.If(b().CreateICmpSLT(next, end), next_tiles, [&](Values& loaded) {
      loaded = LoadTile(k_, next);
      loaded.append(LoadTile(v_, next));
    });
    Rows rows = Rows::Of(part(0, of_rows));
    Values scores = Scores(queries);
    Mask(scores, key);
    ToWeights(scores, rows);
    AddValues(scores, rows.sums);
    values = rows.Packed();
    values.append(next_tiles);
  });
  carried.truncate(of_rows);
}

void AttentionEmitter::FindPlace() {
  llvm::Value* blocks = e_.DivUp(e_.Dim(func_.queries), rows_of_block_);
  const Values at =
      e_.Unflatten(e_.BlockIndex(), {e_.Dim(func_.batch), e_.Dim(func_.heads), blocks});
  batch_ = at[0];
  head_ = at[1];
  kv_head_ = head_;
  if (func_.kv_heads != func_.heads) {
    llvm::Value* sharers = b().CreateUDiv(e_.Dim(func_.heads), e_.Dim(func_.kv_heads));
    kv_head_ = b().CreateUDiv(head_, sharers);
  }
  first_ = e_.Mul(at[2], e_.I64(rows_of_block_));
  llvm::Value* thread = e_.ThreadIndex();
  lane_ = b().CreateAnd(thread, e_.I64(31));
  pair_ = b().CreateShl(b().CreateAnd(lane_, e_.I64(3)), 1);
  llvm::Value* warp = b().CreateLShr(thread, 5);
  query_[0] = e_.Add(e_.Add(first_, e_.Mul(warp, e_.I64(kQueries))), b().CreateLShr(lane_, 2));
  query_[1] = e_.Add(query_[0], e_.I64(8));
  llvm::Value* bits = e_.I64(0);
  for (std::uint32_t operand = 0; operand < 4; ++operand) {
    bits = b().CreateOr(bits, b().CreatePtrToInt(e_.Buffer(operand), b().getInt64Ty()));
  }
  llvm::Value* odd = b().CreateAnd(bits, e_.I64(std::int64_t{2} * width_ - 1));
  is_aligned_ = b().CreateICmpEQ(odd, e_.I64(0));
}

llvm::Value* AttentionEmitter::Pointer(const AttentionOperand& operand, std::uint32_t number,
                                       llvm::Value* head, llvm::Value* row, llvm::Value* at) {
  llvm::Value* index = e_.Dim(operand.offset);
  index = e_.Add(index, e_.Mul(batch_, e_.Dim(operand.strides[0])));
  index = e_.Add(index, e_.Mul(head, e_.Dim(operand.strides[1])));
  index = e_.Add(index, e_.Mul(row, e_.Dim(operand.strides[2])));
  return e_.ElementPointer(e_.Buffer(number), operand.dtype, e_.Add(index, at));
}

AttentionEmitter::Tile AttentionEmitter::TileOf(const AttentionOperand& operand,
                                                std::uint32_t number, std::int64_t head,
                                                bool is_zero_outside) {
  Tile tile{&operand, head, nullptr, nullptr, is_zero_outside};
  tile.shared = e_.Shared(keys_ * (head + kPad) * SizeInBytes(operand.dtype));
  tile.from = Pointer(operand, number, kv_head_, e_.I64(0), e_.I64(0));
  return tile;
}

// Four registers for each 16 numbers of a head, of the last query where there is none.
Values AttentionEmitter::LoadQueries() {
  llvm::Value* last = e_.Sub(e_.Dim(func_.queries), e_.I64(1));
  Values pointers;
  for (std::int64_t k = 0; k < func_.head_dim; k += 16) {
    for (const int column : {0, 8}) {
      for (llvm::Value* query : query_) {
        pointers.push_back(
            Pointer(func_.q, 0, head_, e_.Min(query, last), e_.Add(pair_, e_.I64(k + column))));
      }
    }
  }
  return LoadPairs(pointers);
}

// Pairs of 16-bit words, as one access each where operands are aligned for that.
Values AttentionEmitter::LoadPairs(const Values& pointers) {
  Values loaded(pointers.size(), b().getInt32(0));
  const auto whole = [&](Values& pairs) {
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      pairs[i] = b().CreateAlignedLoad(i32(), pointers[i], llvm::Align(4));
    }
  };
  const auto in_words = [&](Values& pairs) {
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      const auto word = [&](std::uint64_t number) {
        llvm::Value* at = b().CreateConstInBoundsGEP1_64(b().getInt16Ty(), pointers[i], number);
        return b().CreateZExt(b().CreateAlignedLoad(b().getInt16Ty(), at, llvm::Align(2)), i32());
      };
      pairs[i] = b().CreateOr(word(0), b().CreateShl(word(1), 16));
    }
  };
  if (width_ == 1) {
    in_words(loaded);
    return loaded;
  }
  e_.If(is_aligned_, loaded, whole);
  e_.If(b().CreateNot(is_aligned_), loaded, in_words);
  return loaded;
}

// Numbers of a key from `part` on. Behind the last key there is that key, or zeros.
llvm::Value* AttentionEmitter::LoadOf(const Tile& tile, llvm::Value* key, llvm::Value* part,
                                      llvm::Type* type) {
  llvm::Value* count = e_.Dim(func_.keys);
  llvm::Value* last = e_.Sub(count, e_.I64(1));
  llvm::Value* row = e_.Mul(e_.Min(key, last), e_.Dim(tile.operand->strides[2]));
  llvm::Value* at = e_.ElementPointer(tile.from, tile.operand->dtype, e_.Add(row, part));
  const std::uint64_t bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  llvm::Value* loaded = b().CreateAlignedLoad(type, at, llvm::Align(bytes));
  if (!tile.is_zero_outside) return loaded;
  return b().CreateSelect(b().CreateICmpSLT(key, count), loaded,
                          llvm::Constant::getNullValue(type));
}

// This thread's vectors, where operands are aligned for them.
Values AttentionEmitter::LoadTile(const Tile& tile, llvm::Value* first_key) {
  llvm::Type* type = width_ == 1 ? b().getInt16Ty() : KernelEmitter::VectorOf(i32(), width_ / 2);
  const std::int64_t of_row = tile.head / width_;
  Values loaded(static_cast<std::size_t>(keys_ * of_row / threads_),
                llvm::Constant::getNullValue(type));
  e_.If(is_aligned_, loaded, [&](Values& vectors) {
    for (std::size_t i = 0; i < vectors.size(); ++i) {
      llvm::Value* number = NumberOf(i);
      llvm::Value* key = e_.Add(first_key, b().CreateUDiv(number, e_.I64(of_row)));
      llvm::Value* part = e_.Mul(b().CreateURem(number, e_.I64(of_row)), e_.I64(width_));
      vectors[i] = LoadOf(tile, key, part, type);
    }
  });
  return loaded;
}

// Those vectors; where operands are not aligned for them, what lies there now, word by word.
void AttentionEmitter::StoreTile(const Tile& tile, const Values& loaded, llvm::Value* first_key) {
  const std::int64_t pitch = tile.head + kPad;
  e_.If(is_aligned_, [&] {
    const std::int64_t of_row = tile.head / width_;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      llvm::Value* number = NumberOf(i);
      llvm::Value* row = e_.Mul(b().CreateUDiv(number, e_.I64(of_row)), e_.I64(pitch / width_));
      llvm::Value* part = b().CreateURem(number, e_.I64(of_row));
      e_.StoreShared(tile.shared, e_.Add(row, part), loaded[i]);
    }
  });
  if (width_ == 1) return;  // All are aligned for that.
  e_.If(b().CreateNot(is_aligned_), [&] {
    e_.For(e_.ThreadIndex(), e_.I64(keys_ * tile.head), threads_, [&](llvm::Value* number) {
      llvm::Value* row = b().CreateUDiv(number, e_.I64(tile.head));
      llvm::Value* part = b().CreateURem(number, e_.I64(tile.head));
      llvm::Value* word = LoadOf(tile, e_.Add(first_key, row), part, b().getInt16Ty());
      e_.StoreShared(tile.shared, e_.Add(e_.Mul(row, e_.I64(pitch)), part), word);
    });
  });
}

// Four matrices of 8 rows of 16 bytes; this lane says where row lane % 8 of matrix lane / 8 lies.
std::array<llvm::Value*, 4> AttentionEmitter::LoadMatrices(const Tile& tile, llvm::Value* row,
                                                           llvm::Value* column,
                                                           bool is_transposed) {
  llvm::Value* index = e_.Add(e_.Mul(row, e_.I64(tile.head + kPad)), column);
  llvm::Value* at = b().CreateInBoundsGEP(b().getInt16Ty(), tile.shared, index);
  const llvm::Intrinsic::ID load =
      is_transposed ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                    : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
  llvm::Value* loaded = b().CreateIntrinsic(load, {at->getType()}, {at});
  std::array<llvm::Value*, 4> matrices{};
  for (unsigned i = 0; i < 4; ++i) matrices[i] = b().CreateExtractValue(loaded, i);
  return matrices;
}

// sums[first ...] += 16 rows of `lhs`, four registers, times 8 columns of `rhs`, two registers.
void AttentionEmitter::Multiply(const Values& lhs, llvm::ArrayRef<llvm::Value*> rhs, Values& sums,
                                std::size_t first) {
  const bool is_bf16 = func_.q.dtype == DType::kBF16;
  llvm::Type* type = is_bf16 ? i32() : KernelEmitter::VectorOf(b().getHalfTy(), 2);
  Values arguments;
  for (llvm::Value* value : lhs) arguments.push_back(b().CreateBitCast(value, type));
  for (llvm::Value* value : rhs) arguments.push_back(b().CreateBitCast(value, type));
  for (std::size_t i = 0; i < 4; ++i) arguments.push_back(sums[first + i]);
  llvm::Value* result =
      b().CreateIntrinsic(is_bf16 ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16
                                  : llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32,
                          {}, arguments);
  for (unsigned i = 0; i < 4; ++i) sums[first + i] = b().CreateExtractValue(result, i);
}

// Of the tile in shared memory: four for each 8 keys.
Values AttentionEmitter::Scores(const Values& queries) {
  Values scores(static_cast<std::size_t>(keys_ / 2), Float(0));
  llvm::Value* in_eight = b().CreateAnd(lane_, e_.I64(7));
  llvm::Value* upper_keys = b().CreateAnd(b().CreateLShr(lane_, 1), e_.I64(8));
  llvm::Value* row = e_.Add(in_eight, upper_keys);
  llvm::Value* column = b().CreateAnd(lane_, e_.I64(8));
  for (std::int64_t k = 0; k < func_.head_dim; k += 16) {
    const auto first = queries.begin() + k / 4;
    const Values lhs(first, first + 4);
    for (int key = 0; key < keys_; key += 16) {
      const auto rhs = LoadMatrices(k_, e_.Add(row, e_.I64(key)), e_.Add(column, e_.I64(k)),
                                    /*is_transposed=*/false);
      const auto at = static_cast<std::size_t>(key / 2);
      Multiply(lhs, {rhs[0], rhs[1]}, scores, at);
      Multiply(lhs, {rhs[2], rhs[3]}, scores, at + 4);
    }
  }
  // To the base 2.
  llvm::Value* scale = Float(func_.scale * std::numbers::log2e);
  for (llvm::Value*& score : scores) score = b().CreateFMul(score, scale);
  return scores;
}

// What is behind the last key or, where that matters, behind the query.
void AttentionEmitter::Mask(Values& scores, llvm::Value* first_key) {
  llvm::Value* count = e_.Dim(func_.keys);
  llvm::Value* end = e_.Add(first_key, e_.I64(keys_));
  llvm::Value* is_cut = b().CreateICmpSGT(end, count);
  if (func_.causal) is_cut = b().CreateOr(is_cut, b().CreateICmpSGT(end, first_));
  e_.If(is_cut, scores, [&](Values& masked) {
    for (std::size_t i = 0; i < masked.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i / 4 * 8 + i % 2);
      llvm::Value* key = e_.Add(e_.Add(first_key, pair_), e_.I64(column));
      llvm::Value* is_kept = b().CreateICmpSLT(key, count);
      if (func_.causal) {
        is_kept = b().CreateAnd(is_kept, b().CreateICmpSLE(key, query_[i / 2 % 2]));
      }
      masked[i] =
          b().CreateSelect(is_kept, masked[i], Float(-std::numeric_limits<double>::infinity()));
    }
  });
}

// Each row's total, sums and scores come to be relative to the highest score so far.
void AttentionEmitter::ToWeights(Values& scores, Rows& rows) {
  for (std::size_t row = 0; row < 2; ++row) {
    llvm::Value* highest = rows.highest[row];
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (i / 2 % 2 == row) highest = Larger(highest, scores[i]);
    }
    for (const int lanes : {1, 2}) highest = Larger(highest, e_.FromLane(highest, lanes));
    // Where nothing is kept so far, nothing is relative to that.
    llvm::Value* none = b().CreateFCmpOEQ(highest, Float(-std::numeric_limits<double>::infinity()));
    llvm::Value* center = b().CreateSelect(none, Float(0), highest);
    llvm::Value* before = hardware().Exp2InHardware(b().CreateFSub(rows.highest[row], center));
    llvm::Value* total = b().CreateFMul(rows.total[row], before);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (i / 2 % 2 != row) continue;
      scores[i] = hardware().Exp2InHardware(b().CreateFSub(scores[i], center));
      total = b().CreateFAdd(total, scores[i]);
    }
    for (std::size_t i = 0; i < rows.sums.size(); ++i) {
      if (i / 2 % 2 == row) rows.sums[i] = b().CreateFMul(rows.sums[i], before);
    }
    rows.highest[row] = highest;
    rows.total[row] = total;
  }
}

// Two numbers, rounded, in one register.
llvm::Value* AttentionEmitter::Packed(llvm::Value* low, llvm::Value* high) {
  llvm::Type* narrow = func_.q.dtype == DType::kBF16 ? b().getBFloatTy() : b().getHalfTy();
  llvm::Value* both = llvm::PoisonValue::get(KernelEmitter::VectorOf(f32(), 2));
  both = b().CreateInsertElement(both, low, std::uint64_t{0});
  both = b().CreateInsertElement(both, high, std::uint64_t{1});
  return b().CreateBitCast(b().CreateFPTrunc(both, KernelEmitter::VectorOf(narrow, 2)), i32());
}

void AttentionEmitter::AddValues(const Values& weights, Values& sums) {
  llvm::Value* row = b().CreateAnd(lane_, e_.I64(15));
  llvm::Value* column = b().CreateAnd(b().CreateLShr(lane_, 1), e_.I64(8));
  for (int key = 0; key < keys_; key += 16) {
    const auto at = static_cast<std::size_t>(key / 2);
    Values lhs;
    for (const std::size_t i : {at, at + 2, at + 4, at + 6}) {
      lhs.push_back(Packed(weights[i], weights[i + 1]));
    }
    for (std::int64_t n = 0; n < func_.value_dim; n += 16) {
      const auto rhs = LoadMatrices(v_, e_.Add(row, e_.I64(key)), e_.Add(column, e_.I64(n)),
                                    /*is_transposed=*/true);
      const auto first = static_cast<std::size_t>(n / 2);
      Multiply(lhs, {rhs[0], rhs[1]}, sums, first);
      Multiply(lhs, {rhs[2], rhs[3]}, sums, first + 4);
    }
  }
}

void AttentionEmitter::Store(const Rows& rows) {
  for (std::size_t row = 0; row < 2; ++row) {
    llvm::Value* total = rows.total[row];
    for (const int lanes : {1, 2}) total = b().CreateFAdd(total, e_.FromLane(total, lanes));
    // Of no keys: zeros.
    llvm::Value* none = b().CreateFCmpOEQ(total, Float(0));
    llvm::Value* factor = b().CreateFDiv(Float(1), b().CreateSelect(none, Float(1), total));
    e_.If(b().CreateICmpSLT(query_[row], e_.Dim(func_.queries)), [&] {
      for (std::size_t i = row * 2; i < rows.sums.size(); i += 4) {
        llvm::Value* both =
            Packed(b().CreateFMul(rows.sums[i], factor), b().CreateFMul(rows.sums[i + 1], factor));
        const auto column = static_cast<std::int64_t>(i / 4 * 8);
        llvm::Value* at = Pointer(func_.out, 3, head_, query_[row], e_.Add(pair_, e_.I64(column)));
        const auto words = [&] {
          llvm::Value* lanes =
              b().CreateBitCast(both, KernelEmitter::VectorOf(b().getInt16Ty(), 2));
          for (std::uint64_t lane = 0; lane < 2; ++lane) {
            b().CreateAlignedStore(b().CreateExtractElement(lanes, lane),
                                   b().CreateConstInBoundsGEP1_64(b().getInt16Ty(), at, lane),
                                   llvm::Align(2));
          }
        };
        if (width_ == 1) {
          words();
          continue;
        }
        e_.If(is_aligned_, [&] { b().CreateAlignedStore(both, at, llvm::Align(4)); });
        e_.If(b().CreateNot(is_aligned_), words);
      }
    });
  }
}

}  // namespace

void EmitCudaAttention(const AttentionFunc& func, const CudaSchedule& schedule,
                       const GpuMachine& machine, llvm::Module& module) {
  AttentionEmitter(func, schedule, machine, module).Emit();
}

}  // namespace stoker::codegen
