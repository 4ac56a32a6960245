// Products of scratch matrices: a tile of rows times a panel of nr columns.
#include "compiler/codegen/x86/attention/attention_emitter.h"

namespace stoker::codegen {
namespace {

constexpr int kUnroll = 4;
constexpr int kPanelVectors = 2;
// Of the inner dim; each run of sums begins with zeros and is added to the target. See sum_runs.h:
// head sizes and blocks of keys are of some 64 to 512 elements.
constexpr std::int64_t kRun = 64;

}  // namespace

void AttentionEmitter::EmitProduct(const Product& product) {
  if (plan_.amx) {
    EmitAmxProduct(product);
  } else {
    EmitVectorProduct(product);
  }
}

// One granule: `pair` elements of the inner dim.
void AttentionEmitter::EmitGranule(const Product& product, llvm::Value* at, Values& sums) {
  llvm::IRBuilder<>& b = e_.b();
  const bool dot = plan_.pair == 2;
  llvm::Type* pairs = KernelEmitter::VectorOf(b.getBFloatTy(), plan_.lanes * 2);
  llvm::Type* lane = dot ? b.getInt32Ty() : ComputeLane();
  llvm::Type* vector = dot ? pairs : ComputeVector();
  llvm::Value* panel =
      AddElements(product.panel, plan_.element, e_.Mul(at, e_.I64(plan_.nr * plan_.pair)));
  llvm::Value* lhs = AddElements(product.lhs, plan_.element, e_.Mul(at, e_.I64(plan_.pair)));
  Values columns;
  for (int v = 0; v < kPanelVectors; ++v) {
    columns.push_back(LoadScratch(
        vector, AddElements(panel, plan_.element, e_.I64(v * plan_.lanes * plan_.pair))));
  }
  std::size_t i = 0;
  for (std::int64_t row = 0; row < plan_.tile_rows; ++row) {
    llvm::Value* element =
        LoadScratch(lane, AddElements(lhs, plan_.element, e_.I64(row * product.lhs_pitch)));
    element = e_.Splat(element, plan_.lanes);
    if (dot) element = b.CreateBitCast(element, pairs);
    for (llvm::Value* column : columns) {
      llvm::Value*& sum = sums[i++];
      sum = dot ? e_.CallIntrinsic("llvm.x86.avx512bf16.dpbf16ps.512", {sum, element, column})
                : e_.Fma(element, column, sum);
    }
  }
}

void AttentionEmitter::EmitVectorProduct(const Product& product) {
  llvm::IRBuilder<>& b = e_.b();
  const auto sum_at = [&](std::int64_t row, int v) {
    return AddElements(product.target, plan_.compute,
                       e_.I64(row * product.target_pitch + v * plan_.lanes));
  };
  llvm::Constant* zero = llvm::Constant::getNullValue(ComputeVector());
  const auto for_each_sum = [&](llvm::function_ref<void(std::size_t, llvm::Value*)> use) {
    std::size_t i = 0;
    for (std::int64_t row = 0; row < plan_.tile_rows; ++row) {
      for (int v = 0; v < kPanelVectors; ++v) use(i++, sum_at(row, v));
    }
  };
  Values sums(static_cast<std::size_t>(plan_.tile_rows) * kPanelVectors, zero);
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(product.depth);
  const bool one = constant != nullptr && constant->getSExtValue() <= kRun && !product.accumulate;
  if (!one && !product.accumulate) {
    for_each_sum([&](std::size_t, llvm::Value* at) { StoreScratch(zero, at); });
  }
  const auto walk = [&](llvm::Value* first, llvm::Value* steps, Values& values) {
    llvm::Value* whole = e_.Mul(b.CreateUDiv(steps, e_.I64(kUnroll)), e_.I64(kUnroll));
    e_.For(e_.I64(0), whole, kUnroll, values, [&](llvm::Value* at, Values& carried) {
      for (int u = 0; u < kUnroll; ++u)
        EmitGranule(product, e_.Add(e_.Add(first, at), e_.I64(u)), carried);
    });
    e_.For(whole, steps, 1, values, [&](llvm::Value* at, Values& carried) {
      EmitGranule(product, e_.Add(first, at), carried);
    });
  };
  llvm::Value* steps =
      plan_.pair == 1 ? product.depth : b.CreateUDiv(product.depth, e_.I64(plan_.pair));
  if (one) {
    walk(e_.I64(0), steps, sums);
    for_each_sum([&](std::size_t i, llvm::Value* at) { StoreScratch(sums[i], at); });
    return;
  }
  const std::int64_t run = kRun / plan_.pair;
  const bool whole_runs = constant != nullptr && constant->getSExtValue() % kRun == 0;
  e_.For(e_.I64(0), steps, run, [&](llvm::Value* first) {
    Values values = sums;
    walk(first, whole_runs ? e_.I64(run) : e_.Min(e_.I64(run), e_.Sub(steps, first)), values);
    for_each_sum([&](std::size_t i, llvm::Value* at) {
      llvm::LoadInst* before = LoadScratch(ComputeVector(), at);
      before->setVolatile(true);  // Or it would be kept in registers.
      StoreScratch(b.CreateFAdd(before, values[i]), at);
    });
  });
}

void AttentionEmitter::EmitAmxProduct(const Product& product) {
  const int row_tiles = static_cast<int>(plan_.tile_rows / AmxTiles::kRows);
  llvm::Value* target_stride = e_.I64(product.target_pitch * SizeInBytes(plan_.compute));
  llvm::Value* lhs_stride = e_.I64(product.lhs_pitch * SizeInBytes(plan_.element));
  const auto for_each_sum = [&](llvm::function_ref<void(int, llvm::Value*)> use) {
    for (int r = 0; r < row_tiles; ++r) {
      for (int c = 0; c < kPanelVectors; ++c) {
        use(r * 2 + c,
            AddElements(product.target, plan_.compute,
                        e_.I64(r * AmxTiles::kRows * product.target_pitch + c * plan_.lanes)));
      }
    }
  };
  for_each_sum([&](int tile, llvm::Value* pointer) {
    if (product.accumulate) {
      tiles_.Load(tile, pointer, target_stride);
    } else {
      tiles_.Zero(tile);
    }
  });
  llvm::Value* panel_stride = e_.I64(plan_.nr * plan_.pair * SizeInBytes(plan_.element));
  e_.For(e_.I64(0), product.depth, plan_.granule, [&](llvm::Value* at) {
    llvm::Value* panel = AddElements(product.panel, plan_.element, e_.Mul(at, e_.I64(plan_.nr)));
    for (int c = 0; c < kPanelVectors; ++c) {
      tiles_.Load(AmxTiles::kRhs + c,
                  AddElements(panel, plan_.element, e_.I64(c * plan_.lanes * plan_.pair)),
                  panel_stride);
    }
    for (int r = 0; r < row_tiles; ++r) {
      llvm::Value* lhs = AddElements(product.lhs, plan_.element,
                                     e_.Add(at, e_.I64(r * AmxTiles::kRows * product.lhs_pitch)));
      tiles_.Load(AmxTiles::kLhs + r, lhs, lhs_stride);
      for (int c = 0; c < kPanelVectors; ++c) {
        tiles_.MultiplyBF16(r * 2 + c, AmxTiles::kLhs + r, AmxTiles::kRhs + c);
      }
    }
  });
  for_each_sum([&](int tile, llvm::Value* pointer) { tiles_.Store(tile, pointer, target_stride); });
}

}  // namespace stoker::codegen
