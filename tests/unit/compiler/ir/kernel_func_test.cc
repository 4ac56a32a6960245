// Equal text means equal kernel: whatever changes the code shows in it.
#include "compiler/ir/kernel_func.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/unit/compiler/codegen/body_builder.h"
#include "tests/unit/compiler/codegen/sample_funcs.h"

namespace stoker {
namespace {

template <typename Func>
void ExpectEachChangeShows(const Func& func,
                           const std::vector<std::function<void(Func&)>>& changes) {
  std::set<std::string> texts = {ToString(KernelFunc(func))};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Func changed = func;
    changes[i](changed);
    EXPECT_TRUE(texts.insert(ToString(KernelFunc(changed))).second)
        << "Change " << i << " does not show, or shows like another:\n"
        << ToString(KernelFunc(changed));
  }
}

TEST(KernelFuncTest, LoopText_EveryField_Shows) {
  ExpectEachChangeShows<LoopFunc>(
      SoftmaxFunc(3, 4, DType::kF32),
      {[](LoopFunc& f) { f.dims[0] = 5; },
       [](LoopFunc& f) { f.num_outer = 0; },
       [](LoopFunc& f) { f.operands[0].dtype = DType::kI32; },
       [](LoopFunc& f) { f.operands[0].written = true; },
       [](LoopFunc& f) { f.operands[0].may_read_past_end = true; },
       [](LoopFunc& f) { f.stages[0].loops.clear(); },
       [](LoopFunc& f) { f.stages[0].body.instrs[0].access.operand = 1; },
       [](LoopFunc& f) { f.stages[0].body.instrs[0].access.dtype = DType::kBF16; },
       [](LoopFunc& f) { f.stages[0].body.instrs[0].access.index.offset = 1; },
       [](LoopFunc& f) { f.stages[0].body.instrs[0].access.index.terms[1].divisor = 2; },
       [](LoopFunc& f) { f.stages[0].body.instrs[0].access.index.terms[1].modulus = 2; },
       [](LoopFunc& f) { f.stages[0].body.instrs[0].access.indirect = {7}; },
       [](LoopFunc& f) { f.stages[0].body.instrs[0].has_predicate = true; },
       [](LoopFunc& f) { f.stages[0].reductions[0].kind = Combine::kMinimum; },
       [](LoopFunc& f) { f.stages[0].reductions[0].is_arg = true; },
       [](LoopFunc& f) { f.stages[0].reductions[0].over.clear(); },
       [](LoopFunc& f) { f.stages[0].reductions[0].dtype = DType::kF64; },
       [](LoopFunc& f) { f.stages[1].body.instrs[1].input = 1; },
       [](LoopFunc& f) {
         f.stages[1].body.instrs[2].args = {1, 0};
       },
       [](LoopFunc& f) { f.stages[1].body.instrs[3].pointwise = OpKind::kTanh; },
       [](LoopFunc& f) { f.stages[1].temporaries[0].value = 2; },
       [](LoopFunc& f) { f.stages[1].temporaries[0].dtype = DType::kF64; },
       [](LoopFunc& f) { f.stages[2].stores[0].value = 1; },
       [](LoopFunc& f) { f.stages[2].stores.clear(); }});
}

TEST(KernelFuncTest, BodyText_ConstantsDirectionsRounding_Show) {
  LoopFunc func = CopyFunc(3, 4, DType::kF32);
  BodyBuilder b(func.stages[0].body);
  const std::uint32_t c = b.Constant(DType::kF32, 0.1);
  b.Compare(CompareDirection::kLt, 0, c);
  b.Convert(DType::kF32, c, DType::kBF16);
  b.Index(1);
  b.Constant(DType::kI64, 3);
  BodyInstr size;
  size.op = BodyOp::kSize;
  size.dtype = DType::kI64;
  size.size = SymDim::Symbol(0);
  func.stages[0].body.instrs.push_back(size);
  b.Op(OpKind::kSine, {c});
  EXPECT_TRUE(Verify(func).ok());
  const auto instr = [](LoopFunc& f, std::size_t i) -> BodyInstr& {
    return f.stages[0].body.instrs[i];
  };
  ExpectEachChangeShows<LoopFunc>(
      func, {[&](LoopFunc& f) { instr(f, 1).constant = 0.1F; },
             [&](LoopFunc& f) { instr(f, 1).constant = -0.0; },
             [&](LoopFunc& f) { instr(f, 1).constant = 0.0; },
             [&](LoopFunc& f) { instr(f, 2).direction = CompareDirection::kLe; },
             [&](LoopFunc& f) { instr(f, 3).round_to = DType::kF16; },
             [&](LoopFunc& f) { instr(f, 4).dim = 0; },
             [&](LoopFunc& f) { instr(f, 5).int_constant = 4; },
             [&](LoopFunc& f) { instr(f, 6).size = SymDim::Symbol(1); },
             [&](LoopFunc& f) { instr(f, 7).round_to = DType::kF16; }});
}

TEST(KernelFuncTest, OrderedText_EveryField_Shows) {
  ScanFunc scan;
  scan.outer = {4};
  scan.extent = 9;
  scan.input = At(0, DType::kF32, Affine({{0, 9}, {1, 1}}));
  scan.output = At(1, DType::kF32, Affine({{0, 9}, {1, 1}}));
  EXPECT_TRUE(Verify(KernelFunc(scan)).ok());
  ExpectEachChangeShows<ScanFunc>(
      scan,
      {[](ScanFunc& f) { f.outer = {5}; }, [](ScanFunc& f) { f.extent = 8; },
       [](ScanFunc& f) { f.kind = Combine::kMaximum; }, [](ScanFunc& f) { f.dtype = DType::kF32; },
       [](ScanFunc& f) { f.exclusive = true; }, [](ScanFunc& f) { f.input.index.offset = 3; },
       [](ScanFunc& f) { f.output.index.offset = 3; }});
  SortFunc sort;
  sort.outer = {4};
  sort.extent = 9;
  sort.key = scan.input;
  sort.outputs = {scan.output};
  EXPECT_TRUE(Verify(KernelFunc(sort)).ok());
  ExpectEachChangeShows<SortFunc>(
      sort, {[](SortFunc& f) { f.outer = {5}; }, [](SortFunc& f) { f.extent = 8; },
             [](SortFunc& f) { f.keep = 2; }, [](SortFunc& f) { f.descending = true; },
             [](SortFunc& f) { f.output_index = true; },
             [](SortFunc& f) { f.key.index.offset = 3; }, [](SortFunc& f) { f.values = {f.key}; },
             [](SortFunc& f) { f.outputs[0].index.offset = 3; }});
  ScatterFunc scatter;
  scatter.dims = {4, 9};
  scatter.update = At(1, DType::kF32, Affine({{0, 9}, {1, 1}}));
  scatter.indices = {At(2, DType::kI64, Affine({{0, 1}}))};
  scatter.window_dims = {-1};
  scatter.index_limits = {7};
  scatter.index_strides = {9};
  scatter.output = At(0, DType::kF32, Affine({{1, 1}}));
  EXPECT_TRUE(Verify(KernelFunc(scatter)).ok());
  ExpectEachChangeShows<ScatterFunc>(
      scatter,
      {[](ScatterFunc& f) { f.dims[0] = 5; }, [](ScatterFunc& f) { f.kind = Combine::kAdd; },
       [](ScatterFunc& f) { f.dtype = DType::kF64; },
       [](ScatterFunc& f) { f.update.index.offset = 3; },
       [](ScatterFunc& f) { f.indices[0].index.offset = 3; },
       [](ScatterFunc& f) { f.index_limits[0] = 3; }, [](ScatterFunc& f) { f.window_dims[0] = 1; },
       [](ScatterFunc& f) { f.index_strides[0] = 3; },
       [](ScatterFunc& f) { f.output.index.offset = 3; }});
}

ContractionFunc SampleContraction() {
  ContractionFunc func;
  func.batch = {{6, 100, true}};
  func.m = {{4, 25}};
  func.k = {{5, 5}, {5, 1}};
  func.n = 32;
  func.operands = {
      {DType::kF32, false, false}, {DType::kF32, false, false}, {DType::kF32, true, false}};
  BodyBuilder b(func.epilogue);
  const std::uint32_t sum = b.Input(0, DType::kF32);
  func.stores = {{sum, At(2, DType::kF32, Affine({{0, 128}, {1, 32}, {2, 1}}))}};
  return func;
}

TEST(KernelFuncTest, ContractionText_EveryField_Shows) {
  const ContractionFunc func = SampleContraction();
  EXPECT_TRUE(Verify(KernelFunc(func)).ok());
  ExpectEachChangeShows<ContractionFunc>(
      func, {[](ContractionFunc& f) { f.batch[0].extent = 7; },
             [](ContractionFunc& f) { f.batch[0].lhs_stride = 7; },
             [](ContractionFunc& f) { f.batch[0].rhs_has = false; },
             [](ContractionFunc& f) { f.m[0].extent = 7; },
             [](ContractionFunc& f) { f.m[0].lhs_stride = 7; },
             [](ContractionFunc& f) { f.k[0].extent = 7; },
             [](ContractionFunc& f) { f.k[0].lhs_stride = 7; }, [](ContractionFunc& f) { f.n = 7; },
             [](ContractionFunc& f) { f.lhs_dtype = DType::kF64; },
             [](ContractionFunc& f) { f.lhs_offset = 7; },
             [](ContractionFunc& f) { f.rhs.dtype = DType::kF64; },
             [](ContractionFunc& f) { f.rhs.nr = 16; }, [](ContractionFunc& f) { f.rhs.kr = 2; },
             [](ContractionFunc& f) { f.rhs.k_multiple = 2; },
             [](ContractionFunc& f) { f.accumulator = DType::kF64; },
             [](ContractionFunc& f) { f.operands[2].dtype = DType::kBF16; },
             [](ContractionFunc& f) { f.epilogue.instrs[0].input = 1; },
             [](ContractionFunc& f) { f.stores[0].access.index.offset = 1; }});
}

TEST(KernelFuncTest, Contraction_StridedInnermostK_IsRefused) {
  ContractionFunc func = SampleContraction();
  func.k.back().lhs_stride = 2;
  const Status status = Verify(KernelFunc(func));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::HasSubstr("stride 2, not 1"));
}

TEST(KernelFuncTest, Pack_TextAndSize) {
  PackFunc func;
  func.batch = {3};
  func.k = {5, 5};
  func.n = 33;
  func.source = At(0, DType::kF32, Affine({{0, 825}, {1, 165}, {2, 33}, {3, 1}}));
  EXPECT_TRUE(Verify(KernelFunc(func)).ok());
  EXPECT_EQ(PackedElements(func), SymDim(3 * 64 * 25));
  func.layout.kr = 2;
  func.layout.k_multiple = 32;
  EXPECT_EQ(PackedElements(func), SymDim(3 * 64 * 32));
  ExpectEachChangeShows<PackFunc>(
      func, {[](PackFunc& f) { f.batch = {4}; }, [](PackFunc& f) { f.k = {25}; },
             [](PackFunc& f) { f.n = 32; }, [](PackFunc& f) { f.source.index.offset = 1; },
             [](PackFunc& f) { f.layout.nr = 16; },
             [](PackFunc& f) {
               f.has_scale = true;
               f.scale = At(2, DType::kF32, Affine({{3, 1}}));
             }});
}

TEST(KernelFuncTest, AttentionText_EveryField_Shows) {
  AttentionFunc func;
  func.batch = 1;
  func.heads = 12;
  func.kv_heads = 12;
  func.queries = 128;
  func.keys = 128;
  func.head_dim = 64;
  func.value_dim = 64;
  EXPECT_TRUE(Verify(KernelFunc(func)).ok());
  ExpectEachChangeShows<AttentionFunc>(
      func, {[](AttentionFunc& f) { f.batch = 2; }, [](AttentionFunc& f) { f.heads = 2; },
             [](AttentionFunc& f) { f.kv_heads = 2; }, [](AttentionFunc& f) { f.queries = 2; },
             [](AttentionFunc& f) { f.keys = 2; }, [](AttentionFunc& f) { f.head_dim = 2; },
             [](AttentionFunc& f) { f.value_dim = 2; }, [](AttentionFunc& f) { f.scale = 2; },
             [](AttentionFunc& f) { f.causal = true; }, [](AttentionFunc& f) { f.has_mask = true; },
             [](AttentionFunc& f) { f.q.dtype = DType::kBF16; },
             [](AttentionFunc& f) { f.k.offset = 3; }, [](AttentionFunc& f) { f.v.strides[1] = 3; },
             [](AttentionFunc& f) { f.out.strides[3] = 3; }});
}

TEST(KernelFuncTest, Name_SaysWhatIsComputed) {
  EXPECT_EQ(NameOf(SoftmaxFunc(3, 4, DType::kF32)),
            "reduce_maximum_subtract_exponential_reduce_add_divide");
  EXPECT_EQ(NameOf(SoftmaxFunc(30, 40, DType::kBF16)), NameOf(SoftmaxFunc(3, 4, DType::kF32)));
  LoopFunc copy;
  EXPECT_EQ(NameOf(copy), "copy");
  LoopFunc many;
  BodyBuilder b(many.stages.emplace_back().body);
  std::uint32_t value = b.Input(0, DType::kF32);
  for (const OpKind kind : {OpKind::kSine, OpKind::kCosine, OpKind::kSine, OpKind::kErf,
                            OpKind::kExponential, OpKind::kLog, OpKind::kTanh, OpKind::kSqrt}) {
    value = b.Op(kind, {value});
  }
  EXPECT_EQ(NameOf(many), "sine_cosine_erf_exponential_log_tanh_and_1");
  many.stages[0].reductions = {{0, value, Combine::kMaximum, DType::kF32, {0}, true}};
  EXPECT_EQ(NameOf(JoinedFunc{{many, SoftmaxFunc(3, 4, DType::kF32)}}),
            "sine_cosine_erf_exponential_log_tanh_and_6");
  EXPECT_EQ(NameOf(ScanFunc{}), "cumulative_add");
  ScatterFunc scatter;
  scatter.kind = Combine::kMaximum;
  EXPECT_EQ(NameOf(scatter), "scatter_maximum");
  SortFunc sort;
  EXPECT_EQ(NameOf(sort), "sort");
  sort.keep = 3;
  EXPECT_EQ(NameOf(sort), "top_k");
}

}  // namespace
}  // namespace stoker
