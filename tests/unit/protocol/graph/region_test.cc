// Nodes that run graphs of their own: text, bytes, canonical form, verifier, interpreter.
#include "protocol/graph/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "protocol/graph/build/graph_builder.h"
#include "protocol/graph/interpret/interpreter.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Doubles %x until its first element is no less than %limit.
constexpr std::string_view kDouble = R"(graph @double(%0: f32[s0,3], %1: f32[]) {
  %2 = while(%0, %1) {condition=graph @below(%0: f32[s0,3], %1: f32[]) {
    %2 = reduce(%0) {dims=[0,1], kind="maximum"} : f32[]
    %3 = compare(%2, %1) {direction="LT"} : bool[]
    return %3
  }, body=graph @twice(%0: f32[s0,3], %1: f32[]) {
    %2 = add(%0, %0) : f32[s0,3]
    return %2
  }} : f32[s0,3]
  return %2
}
)";

Graph Parsed(std::string_view text) {
  Result<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *std::move(graph);
}

std::string ErrorOf(std::string_view text) {
  const Result<Graph> graph = ParseGraph(text);
  return graph.ok() ? "" : graph.error().message;
}

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

std::vector<double> FirstOf(std::string_view text, std::vector<InterpreterTensor> inputs) {
  const auto outputs = Interpret(Parsed(text), inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return std::visit([](const auto& v) { return std::vector<double>(v.begin(), v.end()); },
                    outputs->front().elements);
}

InterpreterTensor Floats(std::vector<std::int64_t> shape, std::vector<double> values) {
  return {DType::kF32, std::move(shape), std::move(values)};
}

TEST(Region, Text_PrintedAndParsed_IsTheSame) {
  const Graph graph = Parsed(kDouble);
  EXPECT_EQ(PrintGraph(graph), kDouble);
  EXPECT_EQ(Parsed(PrintGraph(graph)).digest(), graph.digest());
}

TEST(Region, Bytes_EncodedAndDecoded_AreTheSame) {
  const Graph graph = Parsed(kDouble);
  const std::string bytes = EncodeGraph(graph);
  const Result<Graph> decoded = DecodeGraph(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->digest(), graph.digest());
  EXPECT_EQ(EncodeGraph(*decoded), bytes);
  // A region that is not in canonical form, or is none, is refused as a graph would be.
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    const Result<Graph> other = DecodeGraph(damaged);
    if (other.ok()) EXPECT_EQ(EncodeGraph(*other), damaged) << i;
  }
}

TEST(Region, Digest_DependsOnWhatRegionsDoAndNotOnTheirNames) {
  const Graph graph = Parsed(kDouble);
  EXPECT_EQ(Parsed(Replaced(kDouble, "@twice", "@other")).digest(), graph.digest());
  EXPECT_NE(Parsed(Replaced(kDouble, "add(%0, %0)", "multiply(%0, %0)")).digest(), graph.digest());
  EXPECT_NE(Parsed(Replaced(kDouble, "\"LT\"", "\"LE\"")).digest(), graph.digest());
}

TEST(Region, Graph_SumsUpItsRegions) {
  const Graph graph = Parsed(kDouble);
  EXPECT_EQ(graph.num_all_nodes(), 4U);
  EXPECT_EQ(graph.region_depth(), 1);
  EXPECT_FALSE(graph.calls_host());
  EXPECT_TRUE(
      Parsed(Replaced(kDouble, "add(%0, %0)", "extern_call(%0) {target=\"f\"}")).calls_host());
}

// `count` whiles of the same operands, as one sum.
std::string Sum(std::string_view body) {
  const std::string loop = R"( = while(%x) {condition=graph @c(%0: f32[]) {
    %1 = is_nan(%0) : bool[]
    return %1
  }, body=graph @b(%0: f32[]) {
    %1 = )" + std::string(body) +
                           R"( : f32[]
    return %1
  }} : f32[]
)";
  return "graph @g(%x: f32[]) {\n  %a" + loop + "  %b" + loop +
         "  %y = add(%a, %b) : f32[]\n  return %y\n}\n";
}

TEST(Region, EqualWhiles_AreMergedUnlessTheyCallTheHost) {
  EXPECT_EQ(Parsed(Sum("negate(%0)")).nodes().size(), 2U);
  EXPECT_EQ(Parsed(Sum("extern_call(%0) {target=\"draw\"}")).nodes().size(), 3U);
}

TEST(Region, Verifier_RefusesByName) {
  struct Row {
    const char* from;
    const char* to;
    const char* error;
  };
  const Row rows[] = {
      {"return %3", "return %3, %2",
       "(while): Attribute 'condition': It has 2 outputs; expected 1."},
      {"return %3", "return %2",
       "(while): Attribute 'condition': Its output 0 is f32[]; expected bool[]."},
      {"%2 = add(%0, %0) : f32[s0,3]\n    return %2", "return %1",
       "(while): Attribute 'body': Its output 0 is f32[]; expected f32[s0,3]."},
      {"return %2\n  }}", "return %2, %1, %1\n  }}",
       "(while): Attribute 'body': It has 3 outputs; expected at most 2."},
      {"while(%0, %1)", "while(%0)",
       "(while): Attribute 'condition': It has 2 inputs for 1 operands."},
      {"@twice(%0: f32[s0,3], %1: f32[])", "@twice(%0: f32[s0,3], %1: f64[])",
       "(while): Attribute 'body': Its input 1 is f64[]; the operand is f32[]."},
      {"@twice(%0: f32[s0,3], %1: f32[])", "@twice(%0: f32[s0,3], %1: parameter f32[])",
       "(while): Attribute 'body': Its input 1 is a parameter."},
      {"return %2\n  }}", "return %2 updates %0\n  }}",
       "(while): Attribute 'body': It updates an input."},
      {"condition=", "dims=", "needs '['"},
      {"condition=graph @below", "condition=3, body=graph @below", "needs 'graph' at its start"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ErrorOf(Replaced(kDouble, row.from, row.to)), HasSubstr(row.error)) << row.to;
  }
}

TEST(Region, Symbols_AreBoundByTheOperands) {
  // Inside, sizes have names of their own; a number outside is one value of them.
  EXPECT_EQ(ErrorOf(R"(graph @g(%x: f32[4,s0], %l: f32[]) {
    %y = while(%x, %l) {condition=graph @c(%0: f32[s0,s1], %1: f32[]) {
      %2 = reduce(%0) {dims=[0,1], kind="maximum"} : f32[]
      %3 = compare(%2, %1) {direction="LT"} : bool[]
      return %3
    }, body=graph @b(%0: f32[s0,s1], %1: f32[]) {
      %2 = add(%0, %0) : f32[s0,s1]
      return %2
    }} : f32[4,s0]
    return %y
  })"),
            "");
  EXPECT_THAT(ErrorOf(R"(graph @g(%x: f32[s0,s1]) {
    %y = while(%x) {condition=graph @c(%0: f32[s0,s0]) {
      %2 = constant() value(false) : bool[]
      return %2
    }, body=graph @b(%0: f32[s0,s1]) {
      return %0
    }} : f32[s0,s1]
    return %y
  })"),
              HasSubstr("Its input 0 is f32[s0,s0]; the operand is f32[s0,s1]."));
}

std::string Nested(int depth) {
  if (depth == 0) return "graph @g(%0: f32[]) {\n%1 = negate(%0) : f32[]\nreturn %1\n}";
  return "graph @g(%0: f32[]) {\n%1 = while(%0) {condition=graph @c(%0: f32[]) {\n"
         "%1 = is_nan(%0) : bool[]\nreturn %1\n}, body=" +
         Nested(depth - 1) + "} : f32[]\nreturn %1\n}";
}

TEST(Region, Depth_HasALimit) {
  const Graph deepest = Parsed(Nested(kMaxRegionDepth));
  EXPECT_EQ(deepest.region_depth(), kMaxRegionDepth);
  EXPECT_TRUE(DecodeGraph(EncodeGraph(deepest)).ok());
  EXPECT_THAT(ErrorOf(Nested(kMaxRegionDepth + 1)), HasSubstr("Graphs nest deeper than 8."));
  GraphBuilder builder("g");
  const ValueId x = builder.Input({DType::kF32, {}});
  const Graph condition = Parsed("graph @c(%0: f32[]) { %1 = is_nan(%0) : bool[] return %1 }");
  builder.Add(OpKind::kWhile, {&x, 1},
              {{AttrName::kCondition, Region(condition)}, {AttrName::kBody, Region(deepest)}});
  ASSERT_FALSE(builder.ok());
  EXPECT_THAT(builder.error().message, HasSubstr("Graphs nest deeper than 8."));
}

TEST(InterpretWhile, RunsUntilTheConditionIsFalse) {
  EXPECT_THAT(FirstOf(kDouble, {Floats({1, 3}, {1, 2, 3}), Floats({}, {20})}),
              ElementsAre(8, 16, 24));
  // No trip: the operands.
  EXPECT_THAT(FirstOf(kDouble, {Floats({1, 3}, {1, 2, 30}), Floats({}, {20})}),
              ElementsAre(1, 2, 30));
  // A comparison with NaN does not hold.
  EXPECT_THAT(FirstOf(kDouble, {Floats({1, 3}, {1, 2, 3}), Floats({}, {std::nan("")})}),
              ElementsAre(1, 2, 3));
}

TEST(InterpretWhile, CarriedValuesThatChangePlaces_AreReadBeforeTheyAreWritten) {
  EXPECT_THAT(FirstOf(R"(graph @g(%a: f32[], %b: f32[], %n: i64[]) {
    %x, %y, %i = while(%a, %b, %n) {condition=graph @c(%0: f32[], %1: f32[], %2: i64[]) {
      %3 = constant() value(0) : i64[]
      %4 = compare(%2, %3) {direction="GT"} : bool[]
      return %4
    }, body=graph @b(%0: f32[], %1: f32[], %2: i64[]) {
      %3 = constant() value(1) : i64[]
      %4 = subtract(%2, %3) : i64[]
      return %1, %0, %4
    }} : f32[], f32[], i64[]
    return %x
  })",
                      {Floats({}, {1}), Floats({}, {2}),
                       InterpreterTensor{DType::kI64, {}, std::vector<std::int64_t>{3}}}),
              ElementsAre(2));
}

TEST(InterpretWhile, Trips_HaveALimit) {
  const Graph graph = Parsed(kDouble);
  const std::vector<InterpreterTensor> inputs = {Floats({1, 3}, {0, 0, 0}), Floats({}, {1})};
  const auto outputs = Interpret(graph, inputs, {.max_trips = 10});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(outputs.error().message,
            "Node 0 (while): Its body has run 10 times, which is the limit.");
}

// Running sums of the rows of %1, times %2, with what comes before each.
constexpr std::string_view kSums = R"(graph @sums(%0: f32[2], %1: f32[s0,2], %2: f32[]) {
  %3, %4 = scan(%0, %1, %2) {body=graph @add(%0: f32[2], %1: f32[2], %2: f32[]) {
    %3 = broadcast_in_dim(%2) {dims=[]} : f32[2]
    %4 = multiply(%1, %3) : f32[2]
    %5 = add(%0, %4) : f32[2]
    return %5, %0
  }, carried=1, scanned=1} : f32[2], f32[s0,2]
  return %4, %3
}
)";

TEST(InterpretScan, GivesWhatIsCarriedAndStacksTheRest) {
  EXPECT_EQ(PrintGraph(Parsed(kSums)), kSums);
  EXPECT_THAT(
      FirstOf(kSums, {Floats({2}, {1, 2}), Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Floats({}, {10})}),
      ElementsAre(1, 2, 11, 22, 41, 62));
  const std::string carried = Replaced(kSums, "return %4, %3\n}\n", "return %3\n}\n");
  EXPECT_THAT(
      FirstOf(carried, {Floats({2}, {1, 2}), Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Floats({}, {10})}),
      ElementsAre(91, 122));
  // No rows.
  EXPECT_THAT(FirstOf(carried, {Floats({2}, {1, 2}), Floats({0, 2}, {}), Floats({}, {10})}),
              ElementsAre(1, 2));
}

TEST(Region, VerifierOfScan_RefusesByName) {
  struct Row {
    const char* from;
    const char* to;
    const char* error;
  };
  const Row rows[] = {
      {"carried=1", "carried=4",
       "(scan): Attribute 'carried' is 4; expected from 0 to the 3 operands."},
      {"carried=1", "carried=-1",
       "(scan): Attribute 'carried' is -1; expected from 0 to the 3 operands."},
      {"scanned=1", "scanned=0",
       "(scan): Attribute 'scanned' is 0; expected from 1 to the 2 operands that are not carried."},
      {"scanned=1", "scanned=3",
       "(scan): Attribute 'scanned' is 3; expected from 1 to the 2 operands that are not carried."},
      {"scanned=1", "scanned=2", "(scan): Operand 2 is f32[]; expected rows to scan."},
      {"%2: f32[]) {\n  %3, ", "%2: f32[3]) {\n  %3, ",
       "(scan): Attribute 'body': Its input 2 is f32[]; the operand is f32[3]."},
      {"return %5, %0", "return %2, %0",
       "(scan): Attribute 'body': Its output 0 is f32[]; expected f32[2]."},
      {": f32[2], f32[s0,2]\n  return", ": f32[2], f32[2]\n  return",
       "(scan): Result 1 is given as f32[2]; expected f32[s0,2]."},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(ErrorOf(Replaced(kSums, row.from, row.to)), HasSubstr(row.error)) << row.to;
  }
  EXPECT_THAT(ErrorOf(Replaced(Replaced(kSums, "scanned=1", "scanned=2"), "%2: f32[]) {\n  %3, ",
                               "%2: f32[3,2]) {\n  %3, ")),
              HasSubstr("(scan): Operand 2 is f32[3,2]; expected s0 rows as operand 1."));
}

}  // namespace
}  // namespace stoker
