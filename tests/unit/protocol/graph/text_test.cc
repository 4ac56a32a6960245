// The text form: printing, parsing, and every way a text can be wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "protocol/graph/graph.h"

namespace stoker {
namespace {

// Parses and prints again: what the printer writes is its own fixed point.
std::string Reprinted(std::string_view text) {
  const Result<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << text << graph.error().message;
  if (!graph.ok()) return "";
  const std::string printed = PrintGraph(*graph);
  const Result<Graph> again = ParseGraph(printed);
  EXPECT_TRUE(again.ok()) << printed << again.error().message;
  if (!again.ok()) return "";
  EXPECT_EQ(again->digest(), graph->digest());
  EXPECT_EQ(PrintGraph(*again), printed);
  return printed;
}

constexpr const char* kMlp =
    R"(graph @gelu_mlp(%0: f32[s0,768], %1: parameter f32[768,3072], %2: parameter f32[3072]) {
  %3 = dot_general(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]} : f32[s0,3072]
  %4 = broadcast_in_dim(%2) {dims=[1]} : f32[s0,3072]
  %5 = add(%3, %4) : f32[s0,3072]
  %6 = constant() value(0.5) : f32[s0,3072]
  %7 = multiply(%5, %6) : f32[s0,3072]
  %8, %9 = top_k(%7) {k=3, largest=true} : f32[s0,3], i64[s0,3]
  return %7, %8
}
)";

TEST(GraphText, Print_OwnOutput_IsFixedPoint) { EXPECT_EQ(Reprinted(kMlp), kMlp); }

TEST(GraphText, Parse_NamesCommentsBlanks_PrintCanonically) {
  EXPECT_EQ(Reprinted(R"(
# A comment.
graph @"two words"( %x : f32[2] , %weight_1: parameter f32[2]) {  # Another.
  %dead = negate(%x) : f32[2]
  %t.0 = slice(%weight_1) { stride=[1], start=[ 0 ] , limit=[1]}
      : f32[1]
  %y = add(%x,%x):f32[2] return %y,
  %t.0, %x }
)"),
            R"(graph @"two words"(%0: f32[2], %1: parameter f32[2]) {
  %2 = add(%0, %0) : f32[2]
  %3 = slice(%1) {start=[0], limit=[1], stride=[1]} : f32[1]
  return %2, %3, %0
}
)");
}

TEST(GraphText, Constants_EveryForm_RoundTrip) {
  const struct {
    const char* node;
    const char* printed;  // nullptr: as given.
  } rows[] = {
      {"constant() value(0.1) : f32[]", nullptr},
      {"constant() value(0.1) : f64[]", nullptr},
      {"constant() value(0.1) : bf16[3]", "constant() value(0.100097656) : bf16[3]"},
      {"constant() value(0.1) : f16[3]", "constant() value(0.099975586) : f16[3]"},
      {"constant() value(-0) : f32[]", nullptr},
      {"constant() value(inf) : f32[2]", nullptr},
      {"constant() value([nan, -inf, 1e-45]) : f32[3]", nullptr},
      {"constant() value(5e-324) : f64[]", nullptr},
      {"constant() value(70000) : f16[]", "constant() value(inf) : f16[]"},
      {"constant() value([1, 2, 3]) : i64[3]", nullptr},
      {"constant() value(-9223372036854775808) : i64[]", nullptr},
      {"constant() value([-128, 127]) : i8[2]", nullptr},
      {"constant() value([true, false]) : bool[2]", nullptr},
      {"constant() value([ 7,7 , 7 ]) : i32[3]", "constant() value(7) : i32[3]"},
      {"constant() value([]) : i32[0]", "constant() value(0) : i32[0]"},
      {"constant() bytes(\"0000803f\") : f32[2]", "constant() value(1) : f32[2]"},
      {"constant() bytes(\"0100c07f\") : f32[2]", nullptr},
      {"constant() bytes(\"0000c0ff0000c07f\") : f32[2]", nullptr},
      {"constant() bytes(\"000102030405060708090a0b0c0d0e0f10\") : u8[17]", nullptr},
  };
  for (const auto& row : rows) {
    const auto graph = [](std::string_view node) {
      return "graph @c() {\n  %0 = " + std::string(node) + "\n  return %0\n}\n";
    };
    EXPECT_EQ(Reprinted(graph(row.node)), graph(row.printed ? row.printed : row.node));
  }
}

TEST(GraphText, Attributes_EveryType_RoundTrip) {
  const std::string text = R"(graph @a(%0: f32[1,2,s0,4], %1: f32[s0]) {
  %2 = attention(%0, %0, %0) {scale=0.125, causal=false} : f32[1,2,s0,4]
  %3 = slice(%1) {start=[floordiv(s0,2)], limit=[s0], stride=[1]} : f32[s0-floordiv(s0,2)]
  %4 = compare(%1, %1) {direction="LT"} : bool[s0]
  %5, %6 = extern_call(%0) {target="aten.x\"\\\x00\xff"} : f32[3], i64[]
  return %2, %3, %4, %5
}
)";
  EXPECT_EQ(Reprinted(text), text);
}

TEST(GraphText, Updates_RoundTrip) {
  const std::string text = R"(graph @a(%0: f32[4], %1: f32[4], %2: f32[4]) {
  %3 = add(%0, %1) : f32[4]
  return %3 updates %1, %3, %0 updates %2
}
)";
  EXPECT_EQ(Reprinted(text), text);
}

TEST(GraphText, UpdateOfAnInputWithItself_IsGone) {
  EXPECT_EQ(Reprinted("graph @a(%0: f32[4]) {\n  return %0 updates %0\n}\n"),
            "graph @a(%0: f32[4]) {\n  return %0\n}\n");
}

TEST(GraphText, Parse_BadText_NamesTheLine) {
  const struct {
    const char* body;  // Between "graph @g(%x: f32[2]) {\n" and "\n}\n".
    const char* message;
  } rows[] = {
      {"%y = add(%x, %x) : f32[2]", "Line 3 needs a node or 'return', not '}'."},
      {"return", "Line 3 needs '%', not '}'."},
      {"return %", "Line 3 needs the name of a value, not '}'."},
      {"return %z", "Line 2: Value %z is not defined."},
      {"return %x updates", "Line 3 needs '%', not '}'."},
      {"return %x up %x", "Line 2 needs 'updates', not '%x'."},
      {"%y = negate(%x) : f32[2]\nreturn %x updates %y",
       "Line 3: What an output updates is no input."},
      {"return %x %x", "Line 2 needs '}', not '%x'."},
      {"%x = negate(%x) : f32[2]", "Line 2: Value %x is defined twice."},
      {"%y = negat(%x) : f32[2]", "Line 2: Op 'negat' does not exist."},
      {"%y = (%x) : f32[2]", "Line 2: Op '' does not exist."},
      {"%y = negate %x : f32[2]", "Line 2 needs '(', not '%x : f32[2]'."},
      {"%y = negate() : f32[2]", "Line 2: Node 0 (negate): It has 0 operands; expected 1."},
      {"%y = negate(%x)\nreturn %x", "Line 3 needs ':', not 'return %x'."},
      {"%y = negate(%x) : f33[2]", "Line 2: Type 'f33[2]' has no known dtype."},
      {"%y = negate(%x) : f32[2", "Line 2: Type 'f32[2' is not of the form dtype[dim,...]."},
      {"%y = negate(%x) : f32[3]",
       "Line 2: Node 0 (negate): Result 0 is given as f32[3]; expected f32[2]."},
      {"%y, %z = negate(%x) : f32[2]", "Line 2: 2 results have 1 types."},
      {"%y = reduce(%x) {axis=[0]} : f32[]", "Line 2: Attribute 'axis' does not exist."},
      {"%y = reduce(%x) {dims=[0], dims=[0]} : f32[]", "Line 2: Attribute 'dims' is given twice."},
      {"%y = reduce(%x) {dims=[0]} : f32[]",
       "Line 2: Node 0 (reduce): Attribute 'kind' is missing."},
      {"%y = reduce(%x) {dims=[0.5]} : f32[]", "Line 2: '0.5' is not an integer."},
      {"%y = reduce(%x) {dims=[0} : f32[]", "Line 2 needs ']', not '} : f32[]'."},
      {"%y = reduce(%x) {dims=0} : f32[]", "Line 2 needs '[', not '0} : f32[]'."},
      {"%y = reduce(%x) {kind=add} : f32[]", "Line 2 needs a quoted string, not 'add} : f32[]'."},
      {"%y = reduce(%x) {kind=\"add", "Line 2 needs a string that ends, not '\"add'."},
      {"%y = reduce(%x) {kind=\"\\n\"",
       "Line 2 needs a string with the escapes \\\", \\\\ and \\xHH, not '\"\\n\"'."},
      {"%y = top_k(%x) {largest=1} : f32[]", "Line 2: '1' is not true or false."},
      {"%y = slice(%x) {start=[s]} : f32[]",
       "Line 2: Dimension 's' needs a number or a symbol at position 0."},
      {"%y = constant(%x) value(1) : f32[]", "Line 2: A constant has operands or attributes."},
      {"%y = constant() : f32[]", "Line 2 needs 'value' or 'bytes', not ': f32[]'."},
      {"%y = constant() value() : f32[]", "Line 2: A constant has no value."},
      {"%y = constant() value(1x) : f32[]", "Line 2: Constant element '1x' is not a value of f32."},
      {"%y = constant() value(256) : u8[]", "Line 2: Constant element '256' is not a value of u8."},
      {"%y = constant() value(1) : bool[]", "Line 2: Constant element '1' is not a value of bool."},
      {"%y = constant() value([1,]) : i8[1]", "Line 2: Constant element '' is not a value of i8."},
      {"%y = constant() value([1,2]) : i8[3]",
       "Line 2: A constant of type i8[3] lists 2 elements."},
      {"%y = constant() value(1 : f32[]", "Line 2 needs a later ')', not '1 : f32[]'."},
      {"%y = constant() bytes(\"0\") : f32[]",
       "Line 2: Constant bytes have an odd number of digits."},
      {"%y = constant() bytes(\"0G\") : u8[]",
       "Line 2: Constant bytes have a character that is no lowercase hex digit."},
      {"%y = constant() bytes(\"00\") : f32[]",
       "Line 2: Node 0 (constant): A constant of type f32[] has 1 bytes; expected one element of 4 "
       "bytes, or 1 elements."},
  };
  for (const auto& row : rows) {
    const Result<Graph> graph =
        ParseGraph("graph @g(%x: f32[2]) {\n" + std::string(row.body) + "\n}\n");
    ASSERT_FALSE(graph.ok()) << row.body;
    EXPECT_EQ(graph.error().message, row.message) << row.body;
  }
}

TEST(GraphText, Parse_BadFrame_IsRefused) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"", "Line 1 needs 'graph' at its start before the end."},
      {"module", "Line 1 needs 'graph' at its start before the end."},
      {"graph g() {}", "Line 1 needs '@', not 'g() {}'."},
      {"graph @() {}", "Line 1 needs the name of the graph, not '() {}'."},
      {"graph @g(%x) {}", "Line 1 needs ':', not ') {}'."},
      {"graph @g(%x: f32[2] %y: f32[2]) {}", "Line 1 needs ',', not '%y: f32[2]) {}'."},
      {"graph @g(%x: f32[2], %x: f32[2]) {}", "Line 1: Value %x is defined twice."},
      {"graph @g(%x: const f32[2]) {}", "Line 1: Type 'const' is not of the form dtype[dim,...]."},
      {"graph @g(%x: f32[-2]) {}", "Line 1: Input 0: Type f32[-2] has a negative dimension."},
      {"graph @g(%x: f32[2]) { return %x } graph",
       "Line 1 needs nothing after the graph, not 'graph'."},
  };
  for (const auto& row : rows) {
    const Result<Graph> graph = ParseGraph(row.text);
    ASSERT_FALSE(graph.ok()) << row.text;
    EXPECT_EQ(graph.error().message, row.message) << row.text;
  }
}

// Damaged text: an error or a graph, never a crash.
TEST(GraphText, Parse_MutatedText_Survives) {
  std::mt19937 random(11);
  const std::string alphabet = "%=()[]{}:,\"\\ \n#0123456789sfab-*.x";
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = kMlp;
    for (int edit = 0; edit < 3; ++edit) {
      const std::size_t at = random() % text.size();
      const std::size_t choice = random() % 3;
      if (choice == 0) text[at] = alphabet[random() % alphabet.size()];
      if (choice == 1) text.erase(at, 1 + random() % 5);
      if (choice == 2) text.insert(at, text.substr(random() % text.size(), random() % 20));
    }
    const Result<Graph> graph = ParseGraph(text);
    refused += graph.ok() ? 0 : 1;
    if (graph.ok()) Reprinted(text);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace stoker
