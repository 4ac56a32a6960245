#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "protocol/graph/build/graph_builder.h"

namespace stoker {
namespace {

const TensorType kVector{DType::kF32, {4}};

using Ids = std::vector<ValueId>;

Result<Graph> AddAndNegate(GraphBuilder& builder, bool swapped) {
  const ValueId x = builder.Input(kVector);
  const ValueId y = builder.Input(kVector);
  ValueId sum = 0;
  ValueId negated = 0;
  if (swapped) negated = builder.Add(OpKind::kNegate, Ids{y});
  sum = builder.Add(OpKind::kAdd, Ids{x, y});
  if (!swapped) negated = builder.Add(OpKind::kNegate, Ids{y});
  const ValueId product = builder.Add(OpKind::kMultiply, Ids{sum, negated});
  return builder.Build(Ids{product});
}

TEST(GraphBuilder, Build_OperandsLeftToRight_IsPostorder) {
  GraphBuilder builder("g");
  const Result<Graph> graph = AddAndNegate(builder, true);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_EQ(graph->nodes().size(), 3U);
  EXPECT_EQ(graph->node(0).kind, OpKind::kAdd);
  EXPECT_EQ(graph->node(1).kind, OpKind::kNegate);
  EXPECT_EQ(graph->node(2).kind, OpKind::kMultiply);
  EXPECT_EQ(graph->node(2).operands, (Ids{2, 3}));
  EXPECT_EQ(graph->value(3).producer, 1U);
  EXPECT_EQ(graph->outputs(), Ids{4});
}

TEST(GraphBuilder, FirstError_IsKept_AndNamesTheNode) {
  GraphBuilder builder("g");
  const ValueId x = builder.Input(kVector);
  const ValueId y = builder.Input({DType::kF32, {5}});
  const ValueId bad = builder.Add(OpKind::kAdd, Ids{x, y});
  EXPECT_EQ(bad, kNoValue);
  EXPECT_FALSE(builder.ok());
  EXPECT_EQ(builder.Add(OpKind::kNegate, Ids{bad}), kNoValue);
  EXPECT_EQ(builder.AddMulti(OpKind::kTopK, Ids{bad}), (Ids{kNoValue, kNoValue}));
  EXPECT_EQ(builder.type(bad).shape.rank(), 0);
  const Result<Graph> graph = builder.Build(Ids{bad});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(graph.error().message,
            "Node 0 (add): Operand 1 is f32[5]; expected f32[4] as operand 0.");
}

TEST(GraphBuilder, Misuse_IsRefused) {
  const TensorType bytes3{DType::kF32, {3}};
  const struct {
    const char* message;
    void (*make)(GraphBuilder&, Ids&);
  } rows[] = {
      {"The graph has no outputs.", [](GraphBuilder&, Ids&) {}},
      {"Output 0 is value 7 of 0.", [](GraphBuilder&, Ids& outputs) { outputs = {7}; }},
      {"Node 0 (negate): Operand 0 is value 3 of 1.",
       [](GraphBuilder& b, Ids& outputs) {
         b.Input(kVector);
         outputs = {b.Add(OpKind::kNegate, Ids{3})};
       }},
      {"Node 0 (constant): It is given 0 result types; expected 1.",
       [](GraphBuilder& b, Ids& outputs) { outputs = {b.Add(OpKind::kConstant, {})}; }},
      {"Node 0 (constant): A constant of type f32[3] has 8 bytes; expected one element of 4 bytes, "
       "or 3 elements.",
       [](GraphBuilder& b, Ids& outputs) {
         outputs = {b.Constant({DType::kF32, {3}}, std::string(8, 'x'))};
       }},
      {"Node 0 (constant): A bool constant has an element that is neither 0 nor 1.",
       [](GraphBuilder& b, Ids& outputs) {
         outputs = {b.Constant({DType::kBool, {2}}, std::string("\1\2", 2))};
       }},
      {"Node 0 (top_k): It has 2 results; AddMulti adds such a node.",
       [](GraphBuilder& b, Ids& outputs) {
         outputs = {b.Add(OpKind::kTopK, Ids{b.Input(kVector)},
                          {{AttrName::kK, std::int64_t{1}}, {AttrName::kLargest, true}})};
       }},
      {"Input 0: Type f32[-1] has a negative dimension.",
       [](GraphBuilder& b, Ids& outputs) {
         outputs = {b.Input({DType::kF32, {-1}})};
       }},
      {"Input 0: Type f32[overflow] has a dimension that overflows.",
       [](GraphBuilder& b, Ids& outputs) {
         outputs = {b.Input({DType::kF32, {SymDim(INT64_MAX) + 1}})};
       }},
      {"Input 0: Type f32[1048576,1048576,1048576] has more than 281474976710656 elements.",
       [](GraphBuilder& b, Ids& outputs) {
         outputs = {b.Input({DType::kF32, {1 << 20, 1 << 20, 1 << 20}})};
       }},
      {"Input 0: Type f32[1,1,1,1,1,1,1,1,1] has more than 8 dimensions.",
       [](GraphBuilder& b, Ids& outputs) {
         outputs = {b.Input({DType::kF32, {1, 1, 1, 1, 1, 1, 1, 1, 1}})};
       }},
      {"Symbol s3 is not the size of any input dimension.",
       [](GraphBuilder& b, Ids& outputs) {
         b.Input({DType::kF32, {SymDim::Symbol(1), 2 * SymDim::Symbol(3)}});
         outputs = {b.Scalar({DType::kF32, {SymDim::Symbol(3)}}, 1)};
       }},
  };
  for (const auto& row : rows) {
    GraphBuilder builder("g");
    Ids outputs;
    row.make(builder, outputs);
    const Result<Graph> graph = builder.Build(outputs);
    ASSERT_FALSE(graph.ok()) << row.message;
    EXPECT_EQ(graph.error().message, row.message);
  }
}

TEST(GraphBuilder, Constant_AllElementsEqual_IsSplat) {
  const std::string one("\0\0\x80\x3f", 4);
  const std::string two("\0\0\0\x40", 4);
  GraphBuilder builder("g");
  const Ids outputs = {
      builder.Constant({DType::kF32, {3}}, one + one + one),
      builder.Constant({DType::kF32, {3}}, one + two + one),
      builder.Constant({DType::kF32, {0}}, ""),
      builder.Constant({DType::kF32, {0}}, two),
      builder.Scalar({DType::kF32, {3}}, 1),
      builder.Scalar({DType::kU8, {}}, 300),
      builder.Scalar({DType::kBF16, {}}, 1.00390625),
  };
  const Result<Graph> graph = builder.Build(outputs);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::string> constants;
  for (const ValueId id : graph->outputs()) {
    constants.push_back(graph->node(graph->value(id).producer).constant);
  }
  EXPECT_THAT(constants,
              testing::ElementsAre(one, one + two + one, std::string(4, '\0'), std::string(4, '\0'),
                                   one, "\xff", std::string("\x80\x3f")));
  EXPECT_EQ(graph->nodes().size(), 5U);
}

TEST(GraphBuilder, Build_SymbolsInUse_AreNumberedByInputs) {
  GraphBuilder builder("g");
  const SymDim s7 = SymDim::Symbol(7);
  const SymDim s2 = SymDim::Symbol(2);
  const ValueId x = builder.Input({DType::kF32, {s7 * s2, s7, s2}});
  const ValueId y =
      builder.Add(OpKind::kReshape, Ids{x}, {}, TensorType{DType::kF32, {s7 * s2, s7 * s2}});
  const ValueId z = builder.Add(OpKind::kSlice, Ids{y},
                                {{AttrName::kStart, std::vector<SymDim>{0, s7}},
                                 {AttrName::kLimit, std::vector<SymDim>{1, s7 * s2}},
                                 {AttrName::kStride, std::vector<std::int64_t>{1, 1}}});
  const Result<Graph> graph = builder.Build(Ids{z});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->num_symbols(), 2U);
  EXPECT_EQ(graph->type(0).ToString(), "f32[s0*s1,s0,s1]");
  EXPECT_EQ(graph->type(graph->outputs()[0]).ToString(), "f32[1,s0*s1-s0]");
  EXPECT_EQ(graph->node(1).attributes.Dims(AttrName::kStart)[1].ToString(), "s0");
}

TEST(GraphBuilder, Build_ExternCalls_AreNotMerged) {
  GraphBuilder builder("g");
  const Attributes attributes = {{AttrName::kTarget, std::string("aten.rand")}};
  const ValueId a = builder.Add(OpKind::kExternCall, {}, attributes, kVector);
  const ValueId b = builder.Add(OpKind::kExternCall, {}, attributes, kVector);
  const Result<Graph> graph = builder.Build(Ids{builder.Add(OpKind::kAdd, Ids{a, b})});
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->nodes().size(), 3U);
}

}  // namespace
}  // namespace stoker
