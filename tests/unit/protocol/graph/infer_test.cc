// The verifier and shape function of every op, as a table: "operand types | op {attributes} |
// result types", and what the error says where the node is wrong. A right row states the result
// types; they are compared with the inferred ones.
#include <gtest/gtest.h>

#include "protocol/graph/build/graph_builder.h"

namespace stoker {
namespace {

struct Row {
  const char* node;
  const char* error = nullptr;
};

struct NodeText {
  std::string operands;
  std::string op;
  std::string attributes;
  std::string results;
};

std::string Trim(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

NodeText Split(std::string_view row) {
  const std::size_t first = row.find('|');
  const std::size_t last = row.rfind('|');
  NodeText node;
  node.operands = Trim(std::string(row.substr(0, first)));
  const std::string middle = Trim(std::string(row.substr(first + 1, last - first - 1)));
  node.op = middle.substr(0, middle.find(' '));
  if (node.op.size() < middle.size()) node.attributes = middle.substr(node.op.size());
  node.results = Trim(std::string(row.substr(last + 1)));
  return node;
}

// Positions of types in a list: commas outside brackets separate them.
std::vector<std::string> SplitTypes(const std::string& text) {
  std::vector<std::string> types;
  int depth = 0;
  std::string type;
  for (const char c : text + ",") {
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0) {
      if (!Trim(type).empty()) types.push_back(Trim(type));
      type.clear();
    } else {
      type += c;
    }
  }
  return types;
}

// A graph of the one node. The inputs of size s0, s1, s2 are there to bind the symbols.
std::string GraphText(const NodeText& node) {
  std::string inputs = "%x: f32[s0], %y: f32[s1], %z: f32[s2]";
  std::string operands;
  std::size_t i = 0;
  for (const std::string& type : SplitTypes(node.operands)) {
    const std::string id = "%" + std::to_string(i);
    inputs += ", " + id + ": " + type;
    operands += (i++ > 0 ? ", " : "") + id;
  }
  std::string results;
  for (std::size_t r = 0; r < SplitTypes(node.results).size(); ++r) {
    results += (r > 0 ? ", %r" : "%r") + std::to_string(r);
  }
  return "graph @g(" + inputs + ") {\n" + results + " = " + node.op + "(" + operands + ")" +
         node.attributes + " : " + node.results + "\nreturn %r0 }";
}

void Expect(const Row& row) {
  const NodeText node = Split(row.node);
  const Result<Graph> graph = ParseGraph(GraphText(node));
  if (row.error == nullptr) {
    EXPECT_TRUE(graph.ok()) << row.node << "\n" << graph.error().message;
    return;
  }
  ASSERT_FALSE(graph.ok()) << row.node;
  EXPECT_EQ(graph.error().message, "Line 2: Node 0 (" + node.op + "): " + row.error) << row.node;
}

TEST(InferTypes, Nullary) {
  const Row rows[] = {
      {"| iota {dim=1} | f32[2,s0]"},
      {"| iota {dim=0} | u8[3]"},
      {"| iota {dim=2} | f32[2,3]",
       "Attribute 'dim' is 2; expected a dimension of a tensor of rank 2."},
      {"| iota {dim=-1} | f32[2]",
       "Attribute 'dim' is -1; expected a dimension of a tensor of rank 1."},
      {"| iota {dim=0} | bool[2]", "The result is bool; expected float or integer."},
      {"| iota | f32[2]", "Attribute 'dim' is missing."},
      {"| iota {dim=0, k=1} | f32[2]", "Attribute 'k' is 1; expected no such attribute."},
      {"f32[2] | iota {dim=0} | f32[2]", "It has 1 operands; expected 0."},
      {"| iota {dim=0} | f32[2], f32[2]", "It is given 2 result types; expected 1."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, Pointwise) {
  const Row rows[] = {
      {"f32[2,s0] | exponential | f32[2,s0]"},
      {"i32[2] | exponential | i32[2]", "Operand 0 is i32[2]; expected float."},
      {"f16[2] | abs | f16[2]"},
      {"u8[2] | abs | u8[2]"},
      {"bool[2] | abs | bool[2]", "Operand 0 is bool[2]; expected float or integer."},
      {"i8[2] | negate | i8[2]"},
      {"u8[2] | negate | u8[2]", "Operand 0 is u8[2]; expected float or signed integer."},
      {"u8[2] | sign | u8[2]"},
      {"f32[2] | floor | f32[2]"},
      {"i32[2] | floor | i32[2]", "Operand 0 is i32[2]; expected float."},
      {"bf16[2] | is_nan | bool[2]"},
      {"bf16[2] | is_finite | bf16[2]", "Result 0 is given as bf16[2]; expected bool[2]."},
      {"i32[2] | is_nan | bool[2]", "Operand 0 is i32[2]; expected float."},
      {"bool[2] | not | bool[2]"},
      {"f32[2] | not | f32[2]", "Operand 0 is f32[2]; expected integer or bool."},
      {"bool[s0] | convert | bf16[s0]"},
      {"f32[s0] | convert | bf16[s1]", "Result 0 is given as bf16[s1]; expected bf16[s0]."},
      {"f32[2] | bitcast_convert | i32[2]"},
      {"f16[2] | bitcast_convert | f32[2]",
       "Result 0 is given as f32[2]; expected a dtype of 2 bytes as operand 0."},
      {"f32[2], f32[2] | add | f32[2]"},
      {"i8[2], i8[2] | multiply | i8[2]"},
      {"bool[2], bool[2] | add | bool[2]", "Operand 0 is bool[2]; expected float or integer."},
      {"f32[2], f32[3] | add | f32[2]", "Operand 1 is f32[3]; expected f32[2] as operand 0."},
      {"f32[2], f64[2] | add | f32[2]", "Operand 1 is f64[2]; expected f32[2] as operand 0."},
      {"f32[s0], f32[s1] | add | f32[s0]", "Operand 1 is f32[s1]; expected f32[s0] as operand 0."},
      {"f32[s0+s1], f32[s1+s0] | divide | f32[s0+s1]"},
      {"f32[1], f32[2] | add | f32[2]", "Operand 1 is f32[2]; expected f32[1] as operand 0."},
      {"f32[2] | add | f32[2]", "It has 1 operands; expected 2."},
      {"i32[2], i32[2] | remainder | i32[2]"},
      {"u8[2], u8[2] | maximum | u8[2]"},
      {"bool[], bool[] | minimum | bool[]", "Operand 0 is bool[]; expected float or integer."},
      {"i32[2], i32[2] | power | i32[2]"},
      {"i32[2], i32[2] | atan2 | i32[2]", "Operand 0 is i32[2]; expected float."},
      {"bool[2], bool[2] | xor | bool[2]"},
      {"f32[2], f32[2] | and | f32[2]", "Operand 0 is f32[2]; expected integer or bool."},
      {"i16[2], i16[2] | shift_left | i16[2]"},
      {"bool[2], bool[2] | shift_right_logical | bool[2]",
       "Operand 0 is bool[2]; expected integer."},
      {"f32[2], f32[2] | compare {direction=\"LT\"} | bool[2]"},
      {"bool[2], bool[2] | compare {direction=\"EQ\"} | bool[2]"},
      {"f32[2], f32[2] | compare {direction=\"lt\"} | bool[2]",
       "Attribute 'direction' is \"lt\"; expected one of EQ NE LT LE GT GE."},
      {"f32[2], f32[2] | compare | bool[2]", "Attribute 'direction' is missing."},
      {"bool[2], i8[2], i8[2] | select | i8[2]"},
      {"i8[2], i8[2], i8[2] | select | i8[2]", "Operand 0 is i8[2]; expected bool[2]."},
      {"bool[], i8[2], i8[2] | select | i8[2]", "Operand 0 is bool[]; expected bool[2]."},
      {"bool[2], i8[2], i16[2] | select | i8[2]",
       "Operand 2 is i16[2]; expected i8[2] as operand 1."},
      {"f32[2], f32[2], f32[2] | clamp | f32[2]"},
      {"f32[], f32[2], f32[] | clamp | f32[2]",
       "Operand 1 is f32[2]; expected f32[] as operand 0."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, ShapeOps) {
  const Row rows[] = {
      {"f32[768] | broadcast_in_dim {dims=[2]} | f32[s0,s1,768]"},
      {"f32[s0,1] | broadcast_in_dim {dims=[0,1]} | f32[s0,s1]"},
      {"f32[] | broadcast_in_dim {dims=[]} | f32[s0]"},
      {"f32[2] | broadcast_in_dim {dims=[0]} | f16[2]",
       "Operand 0 is f32[2]; expected the dtype of the result, f16[2]."},
      {"f32[2] | broadcast_in_dim {dims=[]} | f32[2]",
       "Attribute 'dims' is []; expected one per dimension of operand 0, f32[2]."},
      {"f32[2] | broadcast_in_dim {dims=[1]} | f32[2]",
       "Attribute 'dims' is [1]; expected distinct dimensions of a tensor of rank 1."},
      {"f32[2,3] | broadcast_in_dim {dims=[1,0]} | f32[3,2]",
       "Attribute 'dims' is [1,0]; expected increasing dimensions."},
      {"f32[s0] | broadcast_in_dim {dims=[0]} | f32[s1]",
       "Operand 0 is f32[s0]; expected dimension 0 to be 1 or s1."},
      {"f32[s0,6] | reshape | f32[2,s0,3]"},
      {"f32[s0,s1] | reshape | f32[s0*s1]"},
      {"f32[4*s0] | reshape | f32[s0,2,2]"},
      {"f32[0] | reshape | f32[5,0]"},
      {"f32[s0] | reshape | f32[s1]",
       "Operand 0 is f32[s0]; expected f32 with the s1 elements of the result, not s0."},
      {"f32[6] | reshape | f32[4]",
       "Operand 0 is f32[6]; expected f32 with the 4 elements of the result, not 6."},
      // Too many terms to compare.
      {"f32[s0,s0,s1,s2,s0+s1+s2,s0+s1+2*s2,s0+s1+3*s2,s0+s1+4*s2] | reshape | "
       "f32[s1,s0,s1,s2,s0+s1+s2,s0+s1+2*s2,s0+s1+3*s2,s0+s1+4*s2]",
       "Operand 0 is f32[s0,s0,s1,s2,s0+s1+s2,s0+s1+2*s2,s0+s1+3*s2,s0+s1+4*s2]; expected f32 with "
       "the overflow elements of the result, not overflow."},
      {"f32[6] | reshape | i32[6]",
       "Operand 0 is f32[6]; expected i32 with the 6 elements of the result, not 6."},
      {"f32[2,s0,4] | transpose {dims=[2,0,1]} | f32[4,2,s0]"},
      {"f32[2,3] | transpose {dims=[0,0]} | f32[2,3]",
       "Attribute 'dims' is [0,0]; expected distinct dimensions of a tensor of rank 2."},
      {"f32[2,3] | transpose {dims=[1]} | f32[3]",
       "Attribute 'dims' is [1]; expected 2 integers, each at least 0."},
      {"f32[8,s0] | slice {start=[1,0], limit=[8,s0], stride=[3,2]} | f32[3,floordiv(s0+1,2)]"},
      {"f32[s0] | slice {start=[1], limit=[s0], stride=[1]} | f32[s0-1]"},
      {"f32[8] | slice {start=[8], limit=[8], stride=[1]} | f32[0]"},
      {"f32[8] | slice {start=[1], limit=[9], stride=[1]} | f32[8]",
       "Attribute 'limit' is [9]; expected at most the size 8 of dimension 0."},
      {"f32[s0] | slice {start=[0], limit=[s0+1], stride=[1]} | f32[s0+1]",
       "Attribute 'limit' is [s0+1]; expected at most the size s0 of dimension 0."},
      {"f32[8] | slice {start=[5], limit=[4], stride=[1]} | f32[0]",
       "Attribute 'start' is [5]; expected 0 <= start <= limit 4 in dimension 0."},
      {"f32[8] | slice {start=[-1], limit=[4], stride=[1]} | f32[5]",
       "Attribute 'start' is [-1]; expected 0 <= start <= limit 4 in dimension 0."},
      {"f32[8] | slice {start=[0], limit=[4], stride=[0]} | f32[4]",
       "Attribute 'stride' is [0]; expected 1 integers, each at least 1."},
      {"f32[8] | slice {start=[], limit=[4], stride=[1]} | f32[4]",
       "Attribute 'start' is []; expected 1 dims."},
      {"f32[2,3] | reverse {dims=[1,0]} | f32[2,3]"},
      {"f32[2,3] | reverse {dims=[2]} | f32[2,3]",
       "Attribute 'dims' is [2]; expected distinct dimensions of a tensor of rank 2."},
      {"f32[3,s0], f32[] | pad {low=[1,-2], high=[0,3], interior=[2,0]} | f32[8,s0+1]"},
      {"f32[0], f32[] | pad {low=[1], high=[0], interior=[2]} | f32[1]"},
      {"f32[s0], f32[] | pad {low=[0], high=[0], interior=[1]} | f32[s0+max(0,s0-1)]"},
      {"f32[3], f16[] | pad {low=[0], high=[0], interior=[0]} | f32[3]",
       "Operand 1 is f16[]; expected f32[]."},
      {"f32[3], f32[1] | pad {low=[0], high=[0], interior=[0]} | f32[3]",
       "Operand 1 is f32[1]; expected f32[]."},
      {"f32[3], f32[] | pad {low=[0], high=[0], interior=[-1]} | f32[3]",
       "Attribute 'interior' is [-1]; expected 1 integers, each at least 0."},
      {"f32[3], f32[] | pad {low=[0,0], high=[0], interior=[0]} | f32[3]",
       "Attribute 'low' is [0,0]; expected 1 integers."},
      {"f32[3], f32[] | pad {low=[-2], high=[-2], interior=[0]} | f32[-1]",
       "Result 0: Type f32[-1] has a negative dimension."},
      {"f32[3], f32[] | pad {low=[9223372036854775807], high=[0], interior=[0]} | f32[overflow]",
       "Result 0: Type f32[overflow] has a dimension that overflows."},
      {"f32[2,s0], f32[2,3], f32[2,s0] | concatenate {dim=1} | f32[2,2*s0+3]"},
      {"| concatenate {dim=0} | f32[2]", "It has no operands; expected at least 1."},
      {"f32[] | concatenate {dim=0} | f32[]",
       "Attribute 'dim' is 0; expected a dimension of a tensor of rank 0."},
      {"f32[2,s0], f32[3,s0] | concatenate {dim=1} | f32[2,2*s0]",
       "Operand 1 is f32[3,s0]; expected f32[2,s0] as operand 0 in all but dimension 1."},
      {"f32[2], i32[2] | concatenate {dim=0} | f32[4]",
       "Operand 1 is i32[2]; expected f32[2] as operand 0 in all but dimension 0."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, Reductions) {
  const Row rows[] = {
      {"f32[2,s0,4] | reduce {dims=[2,0], kind=\"add\"} | f32[s0]"},
      {"i8[2] | reduce {dims=[], kind=\"minimum\"} | i8[2]"},
      {"bool[2] | reduce {dims=[0], kind=\"or\"} | bool[]"},
      {"bool[2] | reduce {dims=[0], kind=\"add\"} | bool[]",
       "Operand 0 is bool[2]; expected float or integer."},
      {"f32[2] | reduce {dims=[0], kind=\"and\"} | f32[]", "Operand 0 is f32[2]; expected bool."},
      {"f32[2] | reduce {dims=[0], kind=\"mean\"} | f32[]",
       "Attribute 'kind' is \"mean\"; expected one of add multiply maximum minimum and or."},
      {"f32[2] | reduce {dims=[1], kind=\"add\"} | f32[2]",
       "Attribute 'dims' is [1]; expected distinct dimensions of a tensor of rank 1."},
      {"f32[2,s0] | arg_reduce {dim=1, kind=\"maximum\"} | i64[2]"},
      {"f32[2,s0] | arg_reduce {dim=1, kind=\"maximum\"} | i32[2]",
       "Result 0 is given as i32[2]; expected i64[2]."},
      {"f32[2,0] | arg_reduce {dim=1, kind=\"minimum\"} | i64[2]",
       "Operand 0 is f32[2,0]; expected dimension 1 not to be empty."},
      {"bool[2] | arg_reduce {dim=0, kind=\"minimum\"} | i64[]",
       "Operand 0 is bool[2]; expected float or integer."},
      {"f32[2] | arg_reduce {dim=0, kind=\"add\"} | i64[]",
       "Attribute 'kind' is \"add\"; expected one of maximum minimum."},
      {"f32[1,8,s0] | reduce_window {kind=\"add\", strides=[1,2,2], pad_low=[0,1,1], "
       "pad_high=[0,1,1], dilation=[1,1,1], window=[1,3,3]} | f32[1,4,floordiv(s0+1,2)]"},
      {"f32[8] | reduce_window {kind=\"maximum\", strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[3], window=[3]} | f32[2]"},
      {"f32[2] | reduce_window {kind=\"add\", strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], window=[3]} | f32[0]"},
      {"f32[1] | reduce_window {kind=\"add\", strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], window=[3]} | f32[-1]",
       "Result 0: Type f32[-1] has a negative dimension."},
      {"f32[8] | reduce_window {kind=\"multiply\", strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], window=[3]} | f32[6]",
       "Attribute 'kind' is \"multiply\"; expected one of add maximum minimum."},
      {"f32[8] | reduce_window {kind=\"add\", strides=[1], pad_low=[-1], pad_high=[0], "
       "dilation=[1], window=[3]} | f32[6]",
       "Attribute 'pad_low' is [-1]; expected 1 integers, each at least 0."},
      {"f32[8] | reduce_window {kind=\"add\", strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], window=[0]} | f32[6]",
       "Attribute 'window' is [0]; expected 1 integers, each at least 1."},
      {"f32[2,s0] | cumulative {dim=1, kind=\"add\", reverse=false, exclusive=true} | f32[2,s0]"},
      {"f32[2] | cumulative {dim=1, kind=\"add\", reverse=false, exclusive=true} | f32[2]",
       "Attribute 'dim' is 1; expected a dimension of a tensor of rank 1."},
      {"f32[2] | cumulative {dim=0, kind=\"or\", reverse=false, exclusive=true} | f32[2]",
       "Attribute 'kind' is \"or\"; expected one of add multiply maximum minimum log_add_exp."},
      {"i32[2] | cumulative {dim=0, kind=\"log_add_exp\", reverse=false, exclusive=true} | i32[2]",
       "Operand 0 is i32[2]; expected float."},
      {"bool[2] | cumulative {dim=0, kind=\"add\", reverse=false, exclusive=true} | bool[2]",
       "Operand 0 is bool[2]; expected float or integer."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, Contractions) {
  const Row rows[] = {
      {"f32[s0,768], f32[768,9] | dot_general {lhs_batch=[], rhs_batch=[], lhs_contract=[1], "
       "rhs_contract=[0]} | f32[s0,9]"},
      {"i8[2,s0,5,3], i8[s0,3,7,2] | dot_general {lhs_batch=[1,0], rhs_batch=[0,3], "
       "lhs_contract=[3], rhs_contract=[1]} | i8[s0,2,5,7]"},
      {"f32[3], f32[4] | dot_general {lhs_batch=[], rhs_batch=[], lhs_contract=[], "
       "rhs_contract=[]} | f32[3,4]"},
      {"bool[3], bool[3] | dot_general {lhs_batch=[], rhs_batch=[], lhs_contract=[0], "
       "rhs_contract=[0]} | bool[]",
       "Operand 0 is bool[3]; expected float or integer."},
      {"f32[3], f16[3] | dot_general {lhs_batch=[], rhs_batch=[], lhs_contract=[0], "
       "rhs_contract=[0]} | f32[]",
       "Operand 1 is f16[3]; expected f32 as operand 0."},
      {"f32[2,3], f32[4,2] | dot_general {lhs_batch=[], rhs_batch=[], lhs_contract=[1], "
       "rhs_contract=[0]} | f32[2,2]",
       "Operand 1 is f32[4,2]; expected dimension 0 to be 3 as dimension 1 of operand 0, "
       "f32[2,3]."},
      {"f32[2,3], f32[2,3] | dot_general {lhs_batch=[0], rhs_batch=[], lhs_contract=[1], "
       "rhs_contract=[1]} | f32[2]",
       "Attribute 'rhs_batch' is []; expected as many dimensions as 'lhs_batch', 1."},
      {"f32[2,3], f32[2,3] | dot_general {lhs_batch=[0], rhs_batch=[0], lhs_contract=[0], "
       "rhs_contract=[0]} | f32[2]",
       "Attribute 'lhs_contract' is [0]; expected none of the dimensions in 'lhs_batch'."},
      {"f32[2,3], f32[2,3] | dot_general {lhs_batch=[2], rhs_batch=[0], lhs_contract=[], "
       "rhs_contract=[]} | f32[2]",
       "Attribute 'lhs_batch' is [2]; expected distinct dimensions of a tensor of rank 2."},
      {"f32[s0,3,224,s1], f32[64,3,7,7] | convolution {strides=[2,2], pad_low=[3,3], "
       "pad_high=[3,3], dilation=[1,1], lhs_dilation=[1,1], groups=1} | "
       "f32[s0,64,112,floordiv(s1+1,2)]"},
      {"f32[1,4,10], f32[6,2,3] | convolution {strides=[1], pad_low=[-1], pad_high=[0], "
       "dilation=[2], lhs_dilation=[3], groups=2} | f32[1,6,23]"},
      {"f32[1,2,3,4,5], f32[2,2,1,1,1] | convolution {strides=[1,1,1], pad_low=[0,0,0], "
       "pad_high=[0,0,0], dilation=[1,1,1], lhs_dilation=[1,1,1], groups=1} | f32[1,2,3,4,5]"},
      {"i32[1,1,4], i32[1,1,2] | convolution {strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], lhs_dilation=[1], groups=1} | i32[1,1,3]",
       "Operand 0 is i32[1,1,4]; expected float."},
      {"f32[1,1], f32[1,1] | convolution {strides=[], pad_low=[], pad_high=[], dilation=[], "
       "lhs_dilation=[], groups=1} | f32[1,1]",
       "Operand 0 is f32[1,1]; expected a rank of 3 to 5."},
      {"f32[1,1,4], f32[1,1,2,2] | convolution {strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], lhs_dilation=[1], groups=1} | f32[1,1,3]",
       "Operand 1 is f32[1,1,2,2]; expected the dtype and rank of operand 0, f32[1,1,4]."},
      {"f32[1,4,4], f32[2,4,2] | convolution {strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], lhs_dilation=[1], groups=2} | f32[1,2,3]",
       "Operand 1 is f32[2,4,2]; expected dimension 1 times 2 groups to be dimension 1 of operand "
       "0, f32[1,4,4]."},
      {"f32[1,4,4], f32[3,2,2] | convolution {strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], lhs_dilation=[1], groups=2} | f32[1,3,3]",
       "Operand 1 is f32[3,2,2]; expected dimension 0 to be a multiple of the 2 groups."},
      {"f32[1,4,4], f32[3,2,2] | convolution {strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], lhs_dilation=[1], groups=0} | f32[1,3,3]",
       "Attribute 'groups' is 0; expected at least 1."},
      {"f32[1,1,4], f32[1,1,0] | convolution {strides=[1], pad_low=[0], pad_high=[0], "
       "dilation=[1], lhs_dilation=[1], groups=1} | f32[1,1,5]",
       "Operand 1 is f32[1,1,0]; expected a window that is not empty."},
      {"f32[1,1,4], f32[1,1,2] | convolution {strides=[0], pad_low=[0], pad_high=[0], "
       "dilation=[1], lhs_dilation=[1], groups=1} | f32[1,1,3]",
       "Attribute 'strides' is [0]; expected 1 integers, each at least 1."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, Attention) {
  const Row rows[] = {
      {"f32[s0,12,s1,64], f32[s0,12,s1,64], f32[s0,12,s1,64] | attention {scale=0.125, "
       "causal=true} | f32[s0,12,s1,64]"},
      {"bf16[1,8,5,4], bf16[1,2,7,4], bf16[1,2,7,3], bool[1,1,5,7] | attention {scale=1, "
       "causal=false} | bf16[1,8,5,3]"},
      {"f32[2,8,5,4], f32[2,8,s0,4], f32[2,8,s0,4], f32[2,8,1,s0] | attention {scale=1, "
       "causal=false} | f32[2,8,5,4]"},
      {"f32[1,1,1,1], f32[1,1,1,1] | attention {scale=1, causal=false} | f32[1,1,1,1]",
       "It has 2 operands; expected 3 or 4."},
      {"i32[1,1,1,1], i32[1,1,1,1], i32[1,1,1,1] | attention {scale=1, causal=false} | "
       "i32[1,1,1,1]",
       "Operand 0 is i32[1,1,1,1]; expected float."},
      {"f32[1,1,1,1], f32[1,1,1], f32[1,1,1,1] | attention {scale=1, causal=false} | f32[1,1,1,1]",
       "Operand 1 is f32[1,1,1]; expected f32 of rank 4."},
      {"f32[1,1,1,1], f32[1,1,1,2], f32[1,1,1,1] | attention {scale=1, causal=false} | "
       "f32[1,1,1,1]",
       "Operand 1 is f32[1,1,1,2]; expected dimensions 0 and 3 of operand 0, f32[1,1,1,1]."},
      {"f32[1,1,1,1], f32[1,1,3,1], f32[1,1,2,1] | attention {scale=1, causal=false} | "
       "f32[1,1,1,1]",
       "Operand 2 is f32[1,1,2,1]; expected dimensions 0 to 2 of operand 1, f32[1,1,3,1]."},
      {"f32[1,3,1,1], f32[1,2,1,1], f32[1,2,1,1] | attention {scale=1, causal=false} | "
       "f32[1,3,1,1]",
       "Operand 1 is f32[1,2,1,1]; expected dimension 1 to divide the 3 heads of operand 0."},
      {"f32[1,1,2,1], f32[1,1,2,1], f32[1,1,2,1], f32[1,1,2,3] | attention {scale=1, "
       "causal=false} | f32[1,1,2,1]",
       "Operand 3 is f32[1,1,2,3]; expected bool or f32[1,1,2,2], where any dimension may be 1."},
      {"f32[1,1,2,1], f32[1,1,2,1], f32[1,1,2,1], f16[1,1,2,2] | attention {scale=1, "
       "causal=false} | f32[1,1,2,1]",
       "Operand 3 is f16[1,1,2,2]; expected bool or f32[1,1,2,2], where any dimension may be 1."},
      {"f32[1,1,1,1], f32[1,1,1,1], f32[1,1,1,1] | attention {scale=nan, causal=false} | "
       "f32[1,1,1,1]",
       "Attribute 'scale' is nan; expected a finite number."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, GatherAndScatter) {
  const Row rows[] = {
      {"f32[50257,768], i64[s0,s1] | gather {offset_dims=[2], collapsed_dims=[0], "
       "start_index_map=[0], index_vector_dim=2, slice_sizes=[1,768]} | f32[s0,s1,768]"},
      {"f32[5,6], i32[2,s0] | gather {offset_dims=[0,2], collapsed_dims=[], "
       "start_index_map=[1,0], index_vector_dim=0, slice_sizes=[3,2]} | f32[3,s0,2]"},
      {"f32[5,6], f32[2] | gather {offset_dims=[1], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=1, slice_sizes=[1,6]} | f32[2,6]",
       "Operand 1 is f32[2]; expected integer."},
      {"f32[5,6], i64[2] | gather {offset_dims=[1], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=2, slice_sizes=[1,6]} | f32[2,6]",
       "Attribute 'index_vector_dim' is 2; expected a dimension of a tensor of rank 2."},
      {"f32[5,6], i64[2] | gather {offset_dims=[1], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=0, slice_sizes=[1,6]} | f32[6]",
       "Attribute 'start_index_map' is [0]; expected one entry for each of the 2 elements of an "
       "index vector."},
      {"f32[5,6], i64[2] | gather {offset_dims=[1], collapsed_dims=[0], start_index_map=[2], "
       "index_vector_dim=1, slice_sizes=[1,6]} | f32[2,6]",
       "Attribute 'start_index_map' is [2]; expected distinct dimensions of a tensor of rank 2."},
      {"f32[5,6], i64[2] | gather {offset_dims=[1], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=1, slice_sizes=[1,7]} | f32[2,7]",
       "Attribute 'slice_sizes' is [1,7]; expected 0 to 6 in dimension 1."},
      {"f32[5,6], i64[2] | gather {offset_dims=[1], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=1, slice_sizes=[1]} | f32[2,6]",
       "Attribute 'slice_sizes' is [1]; expected 2 dims."},
      {"f32[5,6], i64[2] | gather {offset_dims=[1], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=1, slice_sizes=[2,6]} | f32[2,6]",
       "Attribute 'slice_sizes' is [2,6]; expected 1 in the collapsed dimension 0."},
      {"f32[5,6], i64[2] | gather {offset_dims=[], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=1, slice_sizes=[1,6]} | f32[2]",
       "Attribute 'offset_dims' is []; expected one for each dimension of operand 0 that is not "
       "collapsed, 1."},
      {"f32[5,6], i64[2] | gather {offset_dims=[2], collapsed_dims=[0], start_index_map=[0], "
       "index_vector_dim=1, slice_sizes=[1,6]} | f32[2,6]",
       "Attribute 'offset_dims' is [2]; expected distinct dimensions of a tensor of rank 2."},
      {"f32[5], i64[1,1,1,1,1,1,1,1] | gather {offset_dims=[0], collapsed_dims=[], "
       "start_index_map=[0], index_vector_dim=8, slice_sizes=[5]} | f32[1]",
       "Attribute 'offset_dims' is [0]; expected a result of rank at most 8."},
      {"f32[s0,4], i64[s1,1], f32[s1,4] | scatter {kind=\"add\", index_vector_dim=1, "
       "update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0]} | f32[s0,4]"},
      {"bool[3], i64[1], bool[] | scatter {kind=\"assign\", index_vector_dim=0, "
       "update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0]} | bool[3]"},
      {"bool[3], i64[1], bool[] | scatter {kind=\"add\", index_vector_dim=0, "
       "update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0]} | bool[3]",
       "Operand 0 is bool[3]; expected float or integer."},
      {"f32[3], i64[1], f16[] | scatter {kind=\"add\", index_vector_dim=0, "
       "update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0]} | f32[3]",
       "Operand 2 is f16[]; expected f32 as operand 0."},
      {"f32[3], i64[1], f32[] | scatter {kind=\"and\", index_vector_dim=0, "
       "update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0]} | f32[3]",
       "Attribute 'kind' is \"and\"; expected one of assign add multiply maximum minimum."},
      {"f32[3], i64[2,1], f32[3] | scatter {kind=\"add\", index_vector_dim=1, "
       "update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0]} | f32[3]",
       "Operand 2 is f32[3]; expected the dimensions outside 'update_window_dims' to be [2] as the "
       "indices."},
      {"f32[3,4], i64[2,1], f32[2,5] | scatter {kind=\"add\", index_vector_dim=1, "
       "update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0]} | f32[3,4]",
       "Operand 2 is f32[2,5]; expected dimension 1 to be at most 4, dimension 1 of operand 0."},
      {"f32[3,4], i64[2,1], f32[2,4] | scatter {kind=\"add\", index_vector_dim=1, "
       "update_window_dims=[1], inserted_window_dims=[], scatter_dims=[0]} | f32[3,4]",
       "Attribute 'update_window_dims' is [1]; expected one for each dimension of operand 0 that "
       "is not inserted, 2."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, SlicesSortsAndExtern) {
  const Row rows[] = {
      {"f32[s0,4], i64[], i64[] | dynamic_slice {slice_sizes=[1,4]} | f32[1,4]"},
      {"f32[], | dynamic_slice {slice_sizes=[]} | f32[]"},
      {"| dynamic_slice {slice_sizes=[]} | f32[]", "It has no operands; expected at least 1."},
      {"f32[4] | dynamic_slice {slice_sizes=[2]} | f32[2]", "It has 1 operands; expected 2."},
      {"f32[4], i32[] | dynamic_slice {slice_sizes=[2]} | f32[2]",
       "Operand 1 is i32[]; expected i64[]."},
      {"f32[4], i64[] | dynamic_slice {slice_sizes=[5]} | f32[5]",
       "Attribute 'slice_sizes' is [5]; expected 0 to 4 in dimension 0."},
      {"f32[s0,4], f32[1,4], i64[], i64[] | dynamic_update_slice | f32[s0,4]"},
      {"f32[4] | dynamic_update_slice | f32[4]", "It needs at least 2 operands."},
      {"f32[4], f32[5], i64[] | dynamic_update_slice | f32[4]",
       "Operand 1 is f32[5]; expected at most f32[4] as operand 0."},
      {"f32[4], f16[4], i64[] | dynamic_update_slice | f32[4]",
       "Operand 1 is f16[4]; expected at most f32[4] as operand 0."},
      {"f32[4], f32[2], f32[] | dynamic_update_slice | f32[4]",
       "Operand 2 is f32[]; expected i64[]."},
      {"f32[2,s0], i64[2,s0] | sort {dim=1, descending=true} | f32[2,s0], i64[2,s0]"},
      {"bool[3] | sort {dim=0, descending=false} | bool[3]"},
      {"| sort {dim=0, descending=false} | f32[]", "It has no operands; expected at least 1."},
      {"f32[3], f32[4] | sort {dim=0, descending=false} | f32[3], f32[4]",
       "Operand 1 is f32[4]; expected the shape of operand 0, f32[3]."},
      {"f32[3] | sort {dim=1, descending=false} | f32[3]",
       "Attribute 'dim' is 1; expected a dimension of a tensor of rank 1."},
      {"f32[3], f32[3] | sort {dim=0, descending=false} | f32[3]",
       "It is given 1 result types; expected 2."},
      {"i64[2] | rng_bit_generator {algorithm=\"PHILOX\"} | i64[2], i32[2,s0]"},
      {"i64[3] | rng_bit_generator {algorithm=\"PHILOX\"} | i64[3], i64[]"},
      {"i64[3] | rng_bit_generator {algorithm=\"THREE_FRY\"} | i64[3], i64[]",
       "Attribute 'algorithm' is \"THREE_FRY\"; expected one of PHILOX."},
      {"i64[4] | rng_bit_generator {algorithm=\"PHILOX\"} | i64[4], i64[]",
       "Operand 0 is i64[4]; expected i64[2] or i64[3]."},
      {"i32[2] | rng_bit_generator {algorithm=\"PHILOX\"} | i32[2], i32[]",
       "Operand 0 is i32[2]; expected i64[2] or i64[3]."},
      {"f32[2] | rng_bit_generator {algorithm=\"PHILOX\"} | f32[2], i32[]",
       "Operand 0 is f32[2]; expected signed integer."},
      {"i64[2] | rng_bit_generator {algorithm=\"PHILOX\"} | i64[2]",
       "It is given 1 result types; expected 2."},
      {"i64[2] | rng_bit_generator {algorithm=\"PHILOX\"} | i64[2], u8[3]",
       "Result 1 is given as u8[3]; expected elements of i32 or i64."},
      {"i64[2] | rng_bit_generator {algorithm=\"PHILOX\"} | i64[3], i32[3]",
       "Result 0 is given as i64[3]; expected i64[2]."},
      {"f32[2,s0] | top_k {k=3, largest=false} | f32[2,3], i64[2,3]"},
      {"f32[2,4] | top_k {k=5, largest=false} | f32[2,5], i64[2,5]",
       "Attribute 'k' is 5; expected 0 to the size of the last dimension, 4."},
      {"f32[2,4] | top_k {k=-1, largest=false} | f32[2,5], i64[2,5]",
       "Attribute 'k' is -1; expected 0 to the size of the last dimension, 4."},
      {"f32[] | top_k {k=1, largest=false} | f32[1], i64[1]",
       "Operand 0 is f32[]; expected a rank of at least 1."},
      {"bool[2] | top_k {k=1, largest=false} | bool[1], i64[1]",
       "Operand 0 is bool[2]; expected float or integer."},
      {"f32[2] | extern_call {target=\"aten.rand\"} | f32[s0], i64[]"},
      {"f32[2] | extern_call {target=\"\"} | f32[2]",
       "Attribute 'target' has 0 bytes; expected 1 to 4096."},
  };
  for (const Row& row : rows) Expect(row);
}

TEST(InferTypes, NoHint_IsEnoughUnlessTheOpNeedsOne) {
  const std::vector<TensorType> x = {{DType::kF32, {2, 3}}};
  EXPECT_EQ((*InferTypes(OpKind::kNegate, x, {}, {}))[0], x[0]);
  EXPECT_EQ((*InferTypes(OpKind::kTranspose, x,
                         {{AttrName::kDims, std::vector<std::int64_t>{1, 0}}}, {}))[0]
                .ToString(),
            "f32[3,2]");
  for (const OpKind kind : {OpKind::kReshape, OpKind::kConvert, OpKind::kBitcastConvert}) {
    EXPECT_EQ(InferTypes(kind, x, {}, {}).error().message,
              "It is given 0 result types; expected 1.");
  }
  EXPECT_EQ(InferTypes(OpKind::kExternCall, x, {{AttrName::kTarget, std::string("f")}}, {})
                .error()
                .message,
            "It needs the types of its results.");
}

TEST(InferTypes, AttributeOfWrongType_IsRefused) {
  const std::vector<TensorType> x = {{DType::kF32, {2, 3}}};
  EXPECT_EQ(
      InferTypes(OpKind::kTranspose, x, {{AttrName::kDims, std::int64_t{1}}}, {}).error().message,
      "Attribute 'dims' is 1; expected a list of integers.");
}

}  // namespace
}  // namespace stoker
