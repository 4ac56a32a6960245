// Graphs with symbolic sizes: one text, checked at sizes that end in the middle of a vector, at 1
// and at 0.
#include <gtest/gtest.h>

#include "compiler/machine/fusion_limits.h"
#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

struct SymbolicCase {
  const char* name;
  const char* text;
  std::int64_t smallest = 0;  // Of each symbol.
};

class SymbolicTest : public testing::TestWithParam<SymbolicCase> {};

TEST_P(SymbolicTest, AnySize_AgreesWithTheInterpreter) {
  const auto graph = ParseGraph(GetParam().text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t s0 : {0, 1, 3, 16, 37}) {
    for (const std::int64_t s1 : {0, 1, 17, 64, 130}) {
      if (s0 < GetParam().smallest || s1 < GetParam().smallest) continue;
      calls.push_back(RandomInputs(*graph, calls.size(), {{0, s0}, {1, s1}}));
    }
  }
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

INSTANTIATE_TEST_SUITE_P(Graphs, SymbolicTest,
                         testing::Values(SymbolicCase{"Pointwise", R"(
graph @g(%x: f32[s0,s1], %b: f32[s1]) {
  %1 = broadcast_in_dim(%b) {dims=[1]} : f32[s0,s1]
  %2 = add(%x, %1) : f32[s0,s1]
  %3 = logistic(%2) : f32[s0,s1]
  return %3, %2
})"},
                                         SymbolicCase{"Softmax", R"(
graph @g(%x: bf16[s0,s1]) {
  %m = reduce(%x) {dims=[1], kind="maximum"} : bf16[s0]
  %mb = broadcast_in_dim(%m) {dims=[0]} : bf16[s0,s1]
  %d = subtract(%x, %mb) : bf16[s0,s1]
  %e = exponential(%d) : bf16[s0,s1]
  %s = reduce(%e) {dims=[1], kind="add"} : bf16[s0]
  %sb = broadcast_in_dim(%s) {dims=[0]} : bf16[s0,s1]
  %y = divide(%e, %sb) : bf16[s0,s1]
  return %y
})"},
                                         SymbolicCase{"RowsOfSequences", R"(
graph @g(%x: f32[s0,s1,40], %w: parameter f32[40,24], %b: parameter f32[24], %v: parameter f32[24,40]) {
  %0 = reshape(%x) : f32[s0*s1,40]
  %1 = dot_general(%0, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0*s1,24]
  %2 = broadcast_in_dim(%b) {dims=[1]} : f32[s0*s1,24]
  %3 = add(%1, %2) : f32[s0*s1,24]
  %4 = reshape(%3) : f32[s0,s1,24]
  %5 = tanh(%4) : f32[s0,s1,24]
  %6 = reshape(%5) : f32[s0*s1,24]
  %7 = dot_general(%6, %v) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0*s1,40]
  %8 = reshape(%7) : f32[s0,s1,40]
  %9 = add(%8, %x) : f32[s0,s1,40]
  %r = reduce(%9) {dims=[2], kind="add"} : f32[s0,s1]
  %t = transpose(%5) {dims=[1,0,2]} : f32[s1,s0,24]
  %f = reshape(%t) : f32[s0*s1,24]
  %g = dot_general(%f, %6) {lhs_batch=[], lhs_contract=[0], rhs_batch=[], rhs_contract=[0]} : f32[24,24]
  %h = dot_general(%f, %v) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0*s1,40]
  return %9, %r, %7, %g, %h
})"},
                                         SymbolicCase{"ColumnsOfSeveralDims", R"(
graph @g(%w: f32[8,5], %x: f32[5,s0,s1], %y: f32[3,5,s0,s1], %z: f32[3,8,5], %v: f32[s0,s1,5]) {
  %0 = reshape(%x) : f32[5,s0*s1]
  %1 = dot_general(%w, %0) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[8,s0*s1]
  %2 = reshape(%1) : f32[8,s0,s1]
  %3 = tanh(%2) : f32[8,s0,s1]
  %4 = reshape(%y) : f32[3,5,s0*s1]
  %5 = dot_general(%z, %4) {lhs_batch=[0], lhs_contract=[2], rhs_batch=[0], rhs_contract=[1]} : f32[3,8,s0*s1]
  %6 = reshape(%v) : f32[s0*s1,5]
  %7 = dot_general(%6, %0) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0*s1,s0*s1]
  %8 = reduce(%7) {dims=[1], kind="add"} : f32[s0*s1]
  return %3, %1, %5, %8
})"},
                                         SymbolicCase{"ReductionsOverEachDim", R"(
graph @g(%x: f32[s0,5,s1]) {
  %0 = reduce(%x) {dims=[0], kind="add"} : f32[5,s1]
  %1 = reduce(%x) {dims=[1], kind="maximum"} : f32[s0,s1]
  %2 = reduce(%x) {dims=[0,2], kind="minimum"} : f32[5]
  %3 = reduce(%x) {dims=[0,1,2], kind="add"} : f32[]
  return %0, %1, %2, %3
})"},
                                         SymbolicCase{"ArgReduce", R"(
graph @g(%x: f32[s0,s1]) {
  %0 = arg_reduce(%x) {dim=0, kind="maximum"} : i64[s1]
  %1 = arg_reduce(%x) {dim=1, kind="minimum"} : i64[s0]
  return %0, %1
})",
                                                      1},
                                         SymbolicCase{"Views", R"(
graph @g(%x: f32[s0,s1], %y: f32[s1,s0]) {
  %0 = transpose(%x) {dims=[1,0]} : f32[s1,s0]
  %1 = add(%0, %y) : f32[s1,s0]
  %2 = reshape(%1) : f32[s0*s1]
  %3 = reverse(%2) {dims=[0]} : f32[s0*s1]
  %4 = concatenate(%3, %3) {dim=0} : f32[2*s0*s1]
  %v = constant() value(7) : f32[]
  %5 = pad(%x, %v) {low=[1,0], high=[0,2], interior=[0,0]} : f32[s0+1,s1+2]
  return %1, %3, %4, %5
})",
                                                      1},
                                         SymbolicCase{"Slices", R"(
graph @g(%x: f32[s0,s1]) {
  %0 = slice(%x) {start=[1,0], limit=[s0,s1], stride=[1,1]} : f32[s0-1,s1]
  %1 = slice(%x) {start=[0,0], limit=[s0-1,s1], stride=[1,1]} : f32[s0-1,s1]
  %2 = subtract(%0, %1) : f32[s0-1,s1]
  return %2
})",
                                                      1},
                                         SymbolicCase{"IotaMask", R"(
graph @g(%x: f32[s0,s1]) {
  %0 = iota() {dim=0} : i64[s0,s1]
  %1 = iota() {dim=1} : i64[s0,s1]
  %2 = compare(%0, %1) {direction="GE"} : bool[s0,s1]
  %z = constant() value(0) : f32[s0,s1]
  %3 = select(%2, %x, %z) : f32[s0,s1]
  return %3
})"},
                                         SymbolicCase{"Embedding", R"(
graph @g(%i: i64[s0,s1], %w: parameter f32[50,24]) {
  %0 = gather(%w, %i) {collapsed_dims=[0], index_vector_dim=2, offset_dims=[2], slice_sizes=[1,24], start_index_map=[0]} : f32[s0,s1,24]
  return %0
})"},
                                         SymbolicCase{"TableOfASymbol", R"(
graph @g(%i: i64[9], %w: f32[s0,s1]) {
  %0 = gather(%w, %i) {collapsed_dims=[0], index_vector_dim=1, offset_dims=[1], slice_sizes=[1,s1], start_index_map=[0]} : f32[9,s1]
  return %0
})",
                                                      1},
                                         SymbolicCase{"CacheOfKeys", R"(
graph @g(%old: f32[2,s0,16], %new: f32[2,1,16], %q: f32[2,3,16], %at: i64[]) {
  %0 = concatenate(%old, %new) {dim=1} : f32[2,s0+1,16]
  %1 = dot_general(%q, %0) {lhs_batch=[0], lhs_contract=[2], rhs_batch=[0], rhs_contract=[2]} : f32[2,3,s0+1]
  %z = constant() value(0) : i64[]
  %2 = dynamic_update_slice(%old, %new, %z, %at, %z) : f32[2,s0,16]
  %3 = dynamic_slice(%2, %z, %at, %z) {slice_sizes=[2,1,16]} : f32[2,1,16]
  return %0, %1, %2, %3
})",
                                                      1},
                                         SymbolicCase{"OrderedAlongASymbol", R"(
graph @g(%x: f32[s0,s1], %i: i32[s0,s1]) {
  %0 = cumulative(%x) {dim=1, kind="add", reverse=false, exclusive=false} : f32[s0,s1]
  %1 = cumulative(%x) {dim=0, kind="maximum", reverse=true, exclusive=false} : f32[s0,s1]
  %2, %3 = sort(%x, %i) {dim=1, descending=false} : f32[s0,s1], i32[s0,s1]
  %4 = convert(%x) : f64[s0,s1]
  %5, %6 = sort(%4, %i) {dim=0, descending=true} : f64[s0,s1], i32[s0,s1]
  return %0, %1, %2, %3, %5, %6
})"},
                                         SymbolicCase{"TopKOfASymbol", R"(
graph @g(%x: f32[s0,s1], %y: f64[s0]) {
  %0, %1 = top_k(%x) {k=3, largest=true} : f32[s0,3], i64[s0,3]
  %2, %3 = top_k(%y) {k=2, largest=false} : f64[2], i64[2]
  return %0, %1, %2, %3
})",
                                                      3},
                                         SymbolicCase{"ScatterRowsAndWindows", R"(
graph @g(%x: f32[s0,s1], %i: i64[3,1], %u: f32[3,s1], %w: f32[3,s0,1]) {
  %0 = scatter(%x, %i, %u) {kind="add", index_vector_dim=1, update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0]} : f32[s0,s1]
  %1 = scatter(%x, %i, %w) {kind="assign", index_vector_dim=1, update_window_dims=[1,2], inserted_window_dims=[], scatter_dims=[1]} : f32[s0,s1]
  return %0, %1
})",
                                                      1},
                                         SymbolicCase{"Matmul", R"(
graph @g(%x: f32[s0,s1,40], %w: parameter f32[40,70], %b: parameter f32[70]) {
  %0 = dot_general(%x, %w) {lhs_batch=[], lhs_contract=[2], rhs_batch=[], rhs_contract=[0]} : f32[s0,s1,70]
  %1 = broadcast_in_dim(%b) {dims=[2]} : f32[s0,s1,70]
  %2 = add(%0, %1) : f32[s0,s1,70]
  return %2
})"},
                                         SymbolicCase{"MatmulOfSymbols", R"(
graph @g(%x: f32[4,s0,s1], %y: f32[4,s1,s0]) {
  %0 = dot_general(%x, %y) {lhs_batch=[0], lhs_contract=[2], rhs_batch=[0], rhs_contract=[1]} : f32[4,s0,s0]
  return %0
})"},
                                         SymbolicCase{"Attention", R"(
graph @g(%q: f32[2,3,s0,16], %k: f32[2,3,s1,16], %v: f32[2,3,s1,16]) {
  %0 = attention(%q, %k, %v) {scale=0.25, causal=false} : f32[2,3,s0,16]
  %1 = attention(%q, %k, %v) {scale=0.25, causal=true} : f32[2,3,s0,16]
  return %0, %1
})"},
                                         SymbolicCase{"ConvolutionOfABatch", R"(
graph @g(%x: f32[s0,3,9,9], %w: parameter f32[8,3,3,3], %y: f32[s1]) {
  %0 = convolution(%x, %w) {strides=[2,2], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[s0,8,5,5]
  %1 = reduce(%0) {dims=[2,3], kind="maximum"} : f32[s0,8]
  %2 = reduce(%y) {dims=[0], kind="add"} : f32[]
  return %1, %2
})"}),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

// Every way to cut rows into register tiles: whole ones, two that share the rest, one alone.
TEST(SymbolicRows, EveryNumber_AgreesWithTheInterpreter) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[s0,40], %w: parameter f32[40,70], %v: parameter f32[40,12], %y: f64[s0,9], %u: parameter f64[9,10], %z: bf16[s0,64], %t: parameter bf16[64,48], %i: i32[s0,7], %j: parameter i32[7,16]) {
  %0 = dot_general(%x, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0,70]
  %1 = dot_general(%x, %v) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0,12]
  %2 = dot_general(%y, %u) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f64[s0,10]
  %3 = dot_general(%z, %t) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : bf16[s0,48]
  %4 = dot_general(%i, %j) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : i32[s0,16]
  %5 = logistic(%0) : f32[s0,70]
  return %5, %1, %2, %3, %4
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (std::int64_t rows = 0; rows <= 46; ++rows) {
    calls.push_back(RandomInputs(*graph, calls.size(), {{0, rows}}));
  }
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

// Depth in chunks, whose sums wait in scratch; rows in batches and in lines.
TEST(SymbolicRows, OfDeepAndBatchedProducts_AgreeWithTheInterpreter) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[s0,2100], %w: parameter f32[2100,40], %y: f32[3,s0,24], %z: f32[3,24,s0]) {
  %0 = dot_general(%x, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0,40]
  %1 = dot_general(%y, %z) {lhs_batch=[0], lhs_contract=[2], rhs_batch=[0], rhs_contract=[1]} : f32[3,s0,s0]
  %2 = transpose(%x) {dims=[1,0]} : f32[2100,s0]
  %3 = dot_general(%x, %2) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[s0,s0]
  return %0, %1, %3
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t rows : {1, 5, 9, 13, 15, 17, 19, 27, 29, 40, 43, 300}) {
    calls.push_back(RandomInputs(*graph, calls.size(), {{0, rows}}));
  }
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

// Rows of a softmax that are kept, and rows that are too long for that.
TEST(SymbolicRows, OfAnyLength_AreKeptOrComputedAgain) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[2,s0]) {
  %m = reduce(%x) {dims=[1], kind="maximum"} : f32[2]
  %mb = broadcast_in_dim(%m) {dims=[0]} : f32[2,s0]
  %d = subtract(%x, %mb) : f32[2,s0]
  %e = exponential(%d) : f32[2,s0]
  %s = reduce(%e) {dims=[1], kind="add"} : f32[2]
  %sb = broadcast_in_dim(%s) {dims=[0]} : f32[2,s0]
  %y = divide(%e, %sb) : f32[2,s0]
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  constexpr std::int64_t kLimit = FusionLimits().max_kept_elements;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t length : {std::int64_t{1}, kLimit - 1, kLimit, kLimit + 1}) {
    calls.push_back(RandomInputs(*graph, calls.size(), {{0, length}}));
  }
  const Outcome outcome = CompareCallsWithInterpreter(*graph, calls);
  EXPECT_EQ(outcome.error, "");
  EXPECT_GE(std::get<Launch>(outcome.artifact.plan.steps[0]).scratch_bytes, kLimit * 4);
}

}  // namespace
}  // namespace stoker::test
