// Every rule of the interpreter against values worked out by hand. Graphs are text; tensors are
// listed as doubles, which hold every integer used here.
#include "protocol/graph/interpret/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace stoker {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

using Values = std::vector<double>;

struct Tensor {
  DType dtype;
  std::vector<std::int64_t> shape;
  Values values;
};

InterpreterTensor Make(const Tensor& tensor) {
  InterpreterTensor made = InterpreterTensor::Zeros(tensor.dtype, tensor.shape);
  EXPECT_EQ(static_cast<std::size_t>(made.NumElements()), tensor.values.size());
  std::visit(
      [&](auto& elements) {
        for (std::size_t i = 0; i < elements.size(); ++i) {
          elements[i] = static_cast<std::decay_t<decltype(elements[i])>>(tensor.values[i]);
        }
      },
      made.elements);
  return made;
}

Values ValuesOf(const InterpreterTensor& tensor) {
  return std::visit([](const auto& v) { return Values(v.begin(), v.end()); }, tensor.elements);
}

// "graph @g(<inputs>) { <nodes> return <outputs> }" of the inputs' types.
Result<std::vector<InterpreterTensor>> RunText(std::string_view text,
                                               const std::vector<Tensor>& inputs,
                                               bool round = false) {
  Result<Graph> graph = ParseGraph(text);
  if (!graph.ok()) return graph.error();
  std::vector<InterpreterTensor> made;
  for (const Tensor& input : inputs) made.push_back(Make(input));
  return Interpret(*graph, made, {.round_to_dtype = round});
}

MATCHER_P(NearlyEquals, expected, "") {
  if (arg.size() != expected.size()) return false;
  for (std::size_t i = 0; i < arg.size(); ++i) {
    const bool same = std::isnan(expected[i])
                          ? std::isnan(arg[i])
                          : arg[i] == expected[i] ||
                                std::fabs(arg[i] - expected[i]) <= 1e-14 * std::fabs(expected[i]);
    if (!same || (!std::isnan(expected[i]) && std::signbit(arg[i]) != std::signbit(expected[i]))) {
      *result_listener << "element " << i << " is " << arg[i] << ", not " << expected[i];
      return false;
    }
  }
  return true;
}

// One op on operands of one type: `x op y`.
struct PointwiseRow {
  const char* op;
  DType dtype;
  std::vector<Values> operands;
  Values expected;
};

void ExpectPointwise(const PointwiseRow& row, std::string_view result_dtype = "") {
  const std::string type = std::string(Name(row.dtype)) + "[s0]";
  std::string inputs;
  std::string operands;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    const std::string id = "%" + std::to_string(i);
    inputs += (i > 0 ? ", " : "") + id + ": " + type;
    operands += (i > 0 ? ", " : "") + id;
    tensors.push_back(
        {row.dtype, {static_cast<std::int64_t>(row.operands[i].size())}, row.operands[i]});
  }
  std::string op = row.op;
  const std::size_t space = op.find(' ');
  const std::string attributes = space == std::string::npos ? "" : op.substr(space);
  op = op.substr(0, space);
  const std::string result = result_dtype.empty() ? type : std::string(result_dtype) + "[s0]";
  const std::string text = "graph @g(" + inputs + ") {\n %r = " + op + "(" + operands + ")" +
                           attributes + " : " + result + "\n return %r }";
  const auto results = RunText(text, tensors);
  ASSERT_TRUE(results.ok()) << text << results.error().message;
  EXPECT_THAT(ValuesOf((*results)[0]), NearlyEquals(row.expected)) << text;
}

TEST(Interpreter, FloatUnary_EdgeValues) {
  const double e = std::numbers::e;
  const double pi = std::numbers::pi;
  const PointwiseRow rows[] = {
      {"abs", DType::kF32, {{-2, -0.0, -kInf, kNan}}, {2, 0, kInf, kNan}},
      {"negate", DType::kF32, {{-2, 0, kInf}}, {2, -0.0, -kInf}},
      {"sign", DType::kF32, {{-2, -0.0, 7, kNan}}, {-1, -0.0, 1, kNan}},
      {"exponential", DType::kF32, {{0, 1, -kInf, kInf}}, {1, e, 0, kInf}},
      {"exponential2", DType::kF32, {{3, -1}}, {8, 0.5}},
      {"exponential_minus_one", DType::kF32, {{0, 1, -kInf}}, {0, e - 1, -1}},
      {"log", DType::kF32, {{1, 0, -1, kInf}}, {0, -kInf, kNan, kInf}},
      {"log2", DType::kF32, {{8, 0}}, {3, -kInf}},
      {"log_plus_one", DType::kF32, {{0, -1, 1e-20}}, {0, -kInf, 1e-20}},
      {"logistic", DType::kF32, {{0, kInf, -kInf, -1000}}, {0.5, 1, 0, 0}},
      {"sqrt", DType::kF32, {{4, -1, kInf}}, {2, kNan, kInf}},
      {"rsqrt", DType::kF32, {{4, 0, kInf}}, {0.5, kInf, 0}},
      {"sine", DType::kF32, {{0, pi / 2, kInf}}, {0, 1, kNan}},
      {"cosine", DType::kF32, {{0, pi}}, {1, -1}},
      {"tan", DType::kF32, {{0, pi / 4}}, {0, std::tan(pi / 4)}},
      {"asin", DType::kF32, {{1, 2}}, {pi / 2, kNan}},
      {"acos", DType::kF32, {{1, -1}}, {0, pi}},
      {"atan", DType::kF32, {{1, kInf}}, {pi / 4, pi / 2}},
      {"sinh", DType::kF32, {{0, 1}}, {0, (e - 1 / e) / 2}},
      {"cosh", DType::kF32, {{0, 1}}, {1, (e + 1 / e) / 2}},
      {"tanh", DType::kF32, {{0, kInf, -kInf}}, {0, 1, -1}},
      {"erf", DType::kF32, {{0, kInf, 0.5}}, {0, 1, 0.5204998778130465}},
      {"erfc", DType::kF32, {{0, kInf, -kInf, 0.5}}, {1, 0, 2, 0.4795001221869535}},
      {"log_gamma",
       DType::kF32,
       {{1, 2, 5, 0, -0.0, -3, kInf, -kInf, kNan, 0.5, -0.5}},
       {0, 0, std::log(24), kInf, kInf, kInf, kInf, kInf, kNan, std::log(pi) / 2,
        std::log(4 * pi) / 2}},
      {"floor", DType::kF32, {{-1.5, 1.5, -0.0}}, {-2, 1, -0.0}},
      {"ceil", DType::kF32, {{-1.5, 1.5}}, {-1, 2}},
      {"trunc", DType::kF32, {{-1.5, 1.5}}, {-1, 1}},
      {"round_nearest_even", DType::kF32, {{0.5, 1.5, 2.5, -0.5}}, {0, 2, 2, -0.0}},
  };
  for (const PointwiseRow& row : rows) ExpectPointwise(row);
  ExpectPointwise({"is_finite", DType::kF32, {{1, kInf, -kInf, kNan}}, {1, 0, 0, 0}}, "bool");
  ExpectPointwise({"is_nan", DType::kF32, {{1, kInf, kNan}}, {0, 0, 1}}, "bool");
}

TEST(Interpreter, FloatBinaryAndTernary_EdgeValues) {
  const PointwiseRow rows[] = {
      {"add", DType::kF32, {{1, kInf}, {2, -kInf}}, {3, kNan}},
      {"subtract", DType::kF32, {{1, kInf}, {2, kInf}}, {-1, kNan}},
      {"multiply", DType::kF32, {{3, 0}, {-2, kInf}}, {-6, kNan}},
      {"divide", DType::kF32, {{1, 0, -1}, {2, 0, 0}}, {0.5, kNan, -kInf}},
      {"remainder", DType::kF32, {{5, -5, 5, 1}, {3, 3, kInf, 0}}, {2, -2, 5, kNan}},
      {"maximum", DType::kF32, {{1, kNan, 1, -0.0}, {2, 1, kNan, 0}}, {2, kNan, kNan, 0}},
      {"minimum", DType::kF32, {{1, kNan, 1, 0}, {2, 1, kNan, -0.0}}, {1, kNan, kNan, -0.0}},
      {"power", DType::kF32, {{2, 0, -8}, {-1, 0, 1.0 / 3}}, {0.5, 1, kNan}},
      {"atan2", DType::kF32, {{0, 1}, {-1, 0}}, {std::numbers::pi, std::numbers::pi / 2}},
      {"clamp", DType::kF32, {{0, 0, 0}, {-1, 7, kNan}, {5, 5, 5}}, {0, 5, kNan}},
  };
  for (const PointwiseRow& row : rows) ExpectPointwise(row);
}

TEST(Interpreter, Integers_Wrap) {
  const PointwiseRow rows[] = {
      {"abs", DType::kI8, {{-128, -5}}, {-128, 5}},
      {"abs", DType::kU8, {{200}}, {200}},
      {"negate", DType::kI32, {{5, -2147483648.0}}, {-5, -2147483648.0}},
      {"sign", DType::kI16, {{-3, 0, 3}}, {-1, 0, 1}},
      {"add", DType::kI8, {{127, 1}, {1, 2}}, {-128, 3}},
      {"add", DType::kU8, {{255}, {2}}, {1}},
      {"subtract", DType::kU8, {{1}, {2}}, {255}},
      {"multiply", DType::kI32, {{65536}, {65536}}, {0}},
      {"divide", DType::kI32, {{7, -7, 5}, {2, 2, 0}}, {3, -3, -1}},
      {"divide", DType::kU8, {{200, 5}, {3, 0}}, {66, 255}},
      {"divide", DType::kI8, {{-128}, {-1}}, {-128}},
      {"remainder", DType::kI32, {{7, -7, 5, 5}, {3, 3, 0, -1}}, {1, -1, 5, 0}},
      {"maximum", DType::kI32, {{1, -5}, {2, -7}}, {2, -5}},
      {"minimum", DType::kU8, {{1}, {200}}, {1}},
      {"power", DType::kI32, {{3, 2, -1, 1, 5, 0}, {4, -1, -3, -9, 0, -1}}, {81, 0, -1, 1, 1, 0}},
      {"and", DType::kI32, {{12, -1}, {10, 7}}, {8, 7}},
      {"or", DType::kU8, {{12}, {3}}, {15}},
      {"xor", DType::kI8, {{-1}, {1}}, {-2}},
      {"not", DType::kI8, {{0, 5}}, {-1, -6}},
      {"not", DType::kU8, {{0}}, {255}},
      {"not", DType::kBool, {{0, 1}}, {1, 0}},
      {"require {message=\"it holds\"}", DType::kBool, {{0, 1}}, {0, 1}},
      {"xor", DType::kBool, {{0, 1, 1}, {1, 1, 0}}, {1, 0, 1}},
      {"shift_left", DType::kI8, {{1, 1, 1, 1}, {3, 7, 8, -1}}, {8, -128, 0, 0}},
      {"shift_right_arithmetic", DType::kI8, {{-128, -128, 64}, {3, 9, 9}}, {-16, -1, 0}},
      {"shift_right_logical", DType::kI8, {{-128, -1}, {3, 8}}, {16, 0}},
      {"shift_right_logical", DType::kI64, {{-1}, {63}}, {1}},
      {"clamp", DType::kI32, {{0, 0}, {-4, 9}, {5, 5}}, {0, 5}},
  };
  for (const PointwiseRow& row : rows) ExpectPointwise(row);
}

TEST(Interpreter, Compare_NaN_IsFalseButForNE) {
  const std::vector<Values> operands = {{1, 2, 3, kNan}, {2, 2, 2, kNan}};
  ExpectPointwise({"compare {direction=\"EQ\"}", DType::kF32, operands, {0, 1, 0, 0}}, "bool");
  ExpectPointwise({"compare {direction=\"NE\"}", DType::kF32, operands, {1, 0, 1, 1}}, "bool");
  ExpectPointwise({"compare {direction=\"LT\"}", DType::kF32, operands, {1, 0, 0, 0}}, "bool");
  ExpectPointwise({"compare {direction=\"LE\"}", DType::kF32, operands, {1, 1, 0, 0}}, "bool");
  ExpectPointwise({"compare {direction=\"GT\"}", DType::kF32, operands, {0, 0, 1, 0}}, "bool");
  ExpectPointwise({"compare {direction=\"GE\"}", DType::kF32, operands, {0, 1, 1, 0}}, "bool");
  ExpectPointwise({"compare {direction=\"LT\"}", DType::kU8, {{200}, {100}}, {0}}, "bool");
  ExpectPointwise({"compare {direction=\"LT\"}", DType::kBool, {{0, 1}, {1, 1}}, {1, 0}}, "bool");
}

TEST(Interpreter, Convert_FloatToInteger_IsAsOnX86) {
  const Values x = {1.9, -1.9, 300, -300, kNan, kInf, -kInf};
  ExpectPointwise({"convert", DType::kF32, {x}, {1, -1, 44, -44, 0, 0, 0}}, "i8");
  ExpectPointwise({"convert", DType::kF32, {x}, {1, 255, 44, 212, 0, 0, 0}}, "u8");
  const double lowest = -0x1p31;
  ExpectPointwise({"convert", DType::kF32, {x}, {1, -1, 300, -300, lowest, lowest, lowest}}, "i32");
  ExpectPointwise({"convert", DType::kF32, {x}, {1, 1, 1, 1, 1, 1, 1}}, "bool");
  ExpectPointwise({"convert", DType::kF64, {{0, -0.0}}, {0, 0}}, "bool");
  ExpectPointwise({"convert", DType::kF64, {{1e30, -1e30}}, {-0x1p63, -0x1p63}}, "i64");
  ExpectPointwise({"convert", DType::kI32, {{300, -1}}, {44, 255}}, "u8");
  ExpectPointwise({"convert", DType::kI32, {{300, 0}}, {1, 0}}, "bool");
  ExpectPointwise({"convert", DType::kBool, {{1, 0}}, {1, 0}}, "f16");
}

TEST(Interpreter, Bitcast_KeepsBits) {
  ExpectPointwise({"bitcast_convert", DType::kF32, {{1, -0.0}}, {0x3f800000, -2147483648.0}},
                  "i32");
  ExpectPointwise({"bitcast_convert", DType::kI16, {{0x3f80}}, {1}}, "bf16");
  ExpectPointwise({"bitcast_convert", DType::kI8, {{-1}}, {255}}, "u8");
}

struct Row {
  const char* text;
  std::vector<Tensor> inputs;
  std::vector<Values> expected;
};

void ExpectRow(const Row& row) {
  const auto results = RunText(row.text, row.inputs);
  ASSERT_TRUE(results.ok()) << row.text << results.error().message;
  ASSERT_EQ(results->size(), row.expected.size());
  for (std::size_t i = 0; i < results->size(); ++i) {
    EXPECT_THAT(ValuesOf((*results)[i]), NearlyEquals(row.expected[i])) << row.text;
  }
}

TEST(Interpreter, SelectIotaConstant) {
  const Row rows[] = {
      {"graph @g(%p: bool[3], %a: f32[3], %b: f32[3]) {"
       " %r = select(%p, %a, %b) : f32[3] return %r }",
       {{DType::kBool, {3}, {1, 0, 1}},
        {DType::kF32, {3}, {1, 2, kNan}},
        {DType::kF32, {3}, {4, 5, 6}}},
       {{1, 5, kNan}}},
      {"graph @g() { %r = iota() {dim=1} : f32[2,3] %s = iota() {dim=0} : i8[3,1]"
       " %t = iota() {dim=0} : i64[0] return %r, %s, %t }",
       {},
       {{0, 1, 2, 0, 1, 2}, {0, 1, 2}, {}}},
      {"graph @g() { %r = constant() value(0.1) : bf16[2] %s = constant() value([1,2]) : i32[2]"
       " %t = constant() value(true) : bool[2] return %r, %s, %t }",
       {},
       {{0.10009765625, 0.10009765625}, {1, 2}, {1, 1}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, ShapeOps) {
  const Tensor x{DType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}};
  const Tensor nine{DType::kF32, {}, {9}};
  const Row rows[] = {
      {"graph @g(%x: f32[2,3]) { %r = broadcast_in_dim(%x) {dims=[1,2]} : f32[2,2,3] return %r }",
       {x},
       {{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}}},
      {"graph @g(%x: f32[s0,1]) { %r = broadcast_in_dim(%x) {dims=[0,1]} : f32[s0,3] return %r }",
       {{DType::kF32, {2, 1}, {7, 8}}},
       {{7, 7, 7, 8, 8, 8}}},
      {"graph @g(%x: f32[2,3]) { %r = reshape(%x) : f32[3,2] return %r }",
       {x},
       {{1, 2, 3, 4, 5, 6}}},
      {"graph @g(%x: f32[2,3]) { %r = transpose(%x) {dims=[1,0]} : f32[3,2] return %r }",
       {x},
       {{1, 4, 2, 5, 3, 6}}},
      {"graph @g(%x: f32[2,3]) {"
       " %r = slice(%x) {start=[1,0], limit=[2,3], stride=[1,2]} : f32[1,2] return %r }",
       {x},
       {{4, 6}}},
      {"graph @g(%x: f32[2,3]) {"
       " %r = slice(%x) {start=[1,0], limit=[1,3], stride=[1,1]} : f32[0,3] return %r }",
       {x},
       {{}}},
      {"graph @g(%x: f32[2,3]) { %r = reverse(%x) {dims=[0,1]} : f32[2,3] return %r }",
       {x},
       {{6, 5, 4, 3, 2, 1}}},
      {"graph @g(%x: f32[2,3], %v: f32[]) {"
       " %r = pad(%x, %v) {low=[0,-1], high=[1,0], interior=[0,1]} : f32[3,4] return %r }",
       {x, nine},
       {{9, 2, 9, 3, 9, 5, 9, 6, 9, 9, 9, 9}}},
      {"graph @g(%x: f32[0], %v: f32[]) {"
       " %r = pad(%x, %v) {low=[1], high=[1], interior=[3]} : f32[2] return %r }",
       {{DType::kF32, {0}, {}}, nine},
       {{9, 9}}},
      {"graph @g(%x: f32[2,3], %y: f32[2,1]) {"
       " %r = concatenate(%y, %x, %y) {dim=1} : f32[2,5] return %r }",
       {x, {DType::kF32, {2, 1}, {7, 8}}},
       {{7, 1, 2, 3, 7, 8, 4, 5, 6, 8}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, Reductions) {
  const Tensor x{DType::kF32, {2, 3}, {1, 5, 3, 4, kNan, 6}};
  const Tensor i8{DType::kI8, {2, 2}, {100, 100, -3, 2}};
  const Row rows[] = {
      {"graph @g(%x: f32[2,3]) { %r = reduce(%x) {dims=[1], kind=\"add\"} : f32[2]"
       " %s = reduce(%x) {dims=[1,0], kind=\"maximum\"} : f32[]"
       " %t = reduce(%x) {dims=[0], kind=\"minimum\"} : f32[3]"
       " %u = reduce(%x) {dims=[], kind=\"multiply\"} : f32[2,3] return %r, %s, %t, %u }",
       {x},
       {{9, kNan}, {kNan}, {1, kNan, 3}, {1, 5, 3, 4, kNan, 6}}},
      {"graph @g(%x: i8[2,2]) { %r = reduce(%x) {dims=[1], kind=\"add\"} : i8[2]"
       " %s = reduce(%x) {dims=[1], kind=\"multiply\"} : i8[2] return %r, %s }",
       {i8},
       {{-56, -1}, {16, -6}}},
      {"graph @g(%x: f32[0]) { %a = reduce(%x) {dims=[0], kind=\"add\"} : f32[]"
       " %b = reduce(%x) {dims=[0], kind=\"multiply\"} : f32[]"
       " %c = reduce(%x) {dims=[0], kind=\"maximum\"} : f32[]"
       " %d = reduce(%x) {dims=[0], kind=\"minimum\"} : f32[] return %a, %b, %c, %d }",
       {{DType::kF32, {0}, {}}},
       {{0}, {1}, {-kInf}, {kInf}}},
      {"graph @g(%x: i16[0], %y: u8[0]) { %a = reduce(%x) {dims=[0], kind=\"maximum\"} : i16[]"
       " %b = reduce(%x) {dims=[0], kind=\"minimum\"} : i16[]"
       " %c = reduce(%y) {dims=[0], kind=\"maximum\"} : u8[]"
       " %d = reduce(%y) {dims=[0], kind=\"minimum\"} : u8[] return %a, %b, %c, %d }",
       {{DType::kI16, {0}, {}}, {DType::kU8, {0}, {}}},
       {{-32768}, {32767}, {0}, {255}}},
      {"graph @g(%x: bool[2,2]) { %r = reduce(%x) {dims=[1], kind=\"and\"} : bool[2]"
       " %s = reduce(%x) {dims=[1], kind=\"or\"} : bool[2] return %r, %s }",
       {{DType::kBool, {2, 2}, {1, 0, 0, 0}}},
       {{0, 0}, {1, 0}}},
      {"graph @g(%x: f32[2,3]) { %r = arg_reduce(%x) {dim=1, kind=\"maximum\"} : i64[2]"
       " %s = arg_reduce(%x) {dim=0, kind=\"minimum\"} : i64[3] return %r, %s }",
       {x},
       {{1, 1}, {0, 1, 0}}},
      {"graph @g(%x: i32[4]) { %r = arg_reduce(%x) {dim=0, kind=\"maximum\"} : i64[]"
       " %s = arg_reduce(%x) {dim=0, kind=\"minimum\"} : i64[] return %r, %s }",
       {{DType::kI32, {4}, {1, 7, 7, 1}}},
       {{1}, {0}}},
      {"graph @g(%x: f32[5]) {"
       " %r = reduce_window(%x) {kind=\"add\", strides=[2], pad_low=[1], pad_high=[0],"
       " dilation=[1], window=[3]} : f32[2]"
       " %s = reduce_window(%x) {kind=\"maximum\", strides=[1], pad_low=[0], pad_high=[0],"
       " dilation=[2], window=[2]} : f32[3]"
       " %t = reduce_window(%x) {kind=\"minimum\", strides=[3], pad_low=[3], pad_high=[0],"
       " dilation=[1], window=[3]} : f32[2] return %r, %s, %t }",
       {{DType::kF32, {5}, {1, 2, 3, 4, 5}}},
       {{3, 9}, {3, 4, 5}, {kInf, 1}}},
      {"graph @g(%x: f32[2,3]) {"
       " %r = cumulative(%x) {dim=1, kind=\"add\", reverse=false, exclusive=false} : f32[2,3]"
       " %s = cumulative(%x) {dim=1, kind=\"multiply\", reverse=true, exclusive=false} : f32[2,3]"
       " %t = cumulative(%x) {dim=1, kind=\"maximum\", reverse=false, exclusive=true} : f32[2,3]"
       " %u = cumulative(%x) {dim=0, kind=\"minimum\", reverse=false, exclusive=false} : f32[2,3]"
       " return %r, %s, %t, %u }",
       {x},
       {{1, 6, 9, 4, kNan, kNan},
        {15, 15, 3, kNan, kNan, 6},
        {-kInf, 1, 5, -kInf, 4, kNan},
        {1, 5, 3, 1, kNan, 3}}},
      {"graph @g(%x: f32[4,2]) {"
       " %r = cumulative(%x) {dim=0, kind=\"log_add_exp\", reverse=false, exclusive=false} : "
       "f32[4,2]"
       " %s = cumulative(%x) {dim=0, kind=\"log_add_exp\", reverse=true, exclusive=true} : f32[4,2]"
       " return %r, %s }",
       {{DType::kF32, {4, 2}, {-kInf, 1000, -kInf, 1000, 0, kInf, 0, -kInf}}},
       {{-kInf, 1000, -kInf, 1000 + std::log(2), 0, kInf, std::log(2), kInf},
        {std::log(2), kInf, std::log(2), kInf, 0, -kInf, -kInf, -kInf}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, DotGeneral) {
  const Row rows[] = {
      {"graph @g(%a: f32[2,3], %b: f32[3,2]) { %r = dot_general(%a, %b)"
       " {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]} : f32[2,2] return %r }",
       {{DType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}}, {DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}}},
       {{22, 28, 49, 64}}},
      // Batch is dim 2 of a and dim 0 of b: result [batch, a free, b free].
      {"graph @g(%a: i32[1,2,2], %b: i32[2,3,2]) { %r = dot_general(%a, %b)"
       " {lhs_batch=[2], rhs_batch=[0], lhs_contract=[1], rhs_contract=[2]} : i32[2,1,3] return %r "
       "}",
       {{DType::kI32, {1, 2, 2}, {1, 2, 3, 4}},
        {DType::kI32, {2, 3, 2}, {1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 2, 2}}},
       {{1, 3, 4, 4, 8, 12}}},
      {"graph @g(%a: f32[2,0], %b: f32[0,1]) { %r = dot_general(%a, %b)"
       " {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]} : f32[2,1] return %r }",
       {{DType::kF32, {2, 0}, {}}, {DType::kF32, {0, 1}, {}}},
       {{0, 0}}},
      {"graph @g(%a: i8[2], %b: i8[2]) { %r = dot_general(%a, %b)"
       " {lhs_batch=[], rhs_batch=[], lhs_contract=[0], rhs_contract=[0]} : i8[] return %r }",
       {{DType::kI8, {2}, {100, 100}}, {DType::kI8, {2}, {1, 1}}},
       {{-56}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, Convolution) {
  const Tensor x{DType::kF32, {1, 1, 4}, {1, 2, 3, 4}};
  const Tensor w{DType::kF32, {1, 1, 2}, {10, 1}};
  const Row rows[] = {
      {"graph @g(%x: f32[1,1,4], %w: f32[1,1,2]) { %r = convolution(%x, %w) {strides=[1],"
       " pad_low=[0], pad_high=[1], dilation=[1], lhs_dilation=[1], groups=1} : f32[1,1,4] return "
       "%r }",
       {x, w},
       {{12, 23, 34, 40}}},
      {"graph @g(%x: f32[1,1,4], %w: f32[1,1,2]) { %r = convolution(%x, %w) {strides=[2],"
       " pad_low=[0], pad_high=[0], dilation=[2], lhs_dilation=[1], groups=1} : f32[1,1,1] return "
       "%r }",
       {x, w},
       {{13}}},
      {"graph @g(%x: f32[1,1,4], %w: f32[1,1,2]) { %r = convolution(%x, %w) {strides=[1],"
       " pad_low=[1], pad_high=[-1], dilation=[1], lhs_dilation=[2], groups=1} : f32[1,1,6] return "
       "%r }",
       {x, w},
       {{1, 10, 2, 20, 3, 30}}},
      // Two groups of one channel, two filters each.
      {"graph @g(%x: f32[1,2,1,2], %w: f32[4,1,1,1]) { %r = convolution(%x, %w) {strides=[1,1],"
       " pad_low=[0,0], pad_high=[0,0], dilation=[1,1], lhs_dilation=[1,1], groups=2}"
       " : f32[1,4,1,2] return %r }",
       {{DType::kF32, {1, 2, 1, 2}, {1, 2, 3, 4}}, {DType::kF32, {4, 1, 1, 1}, {1, 2, 3, 4}}},
       {{1, 2, 2, 4, 9, 12, 12, 16}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, Attention) {
  const Tensor q{DType::kF32, {1, 1, 2, 1}, {0, 1}};
  const Tensor k{DType::kF32, {1, 1, 2, 1}, {0, std::log(3.0)}};
  const Tensor v{DType::kF32, {1, 1, 2, 1}, {4, 8}};
  const Row rows[] = {
      {"graph @g(%q: f32[1,1,2,1], %k: f32[1,1,2,1], %v: f32[1,1,2,1]) {"
       " %r = attention(%q, %k, %v) {scale=1, causal=false} : f32[1,1,2,1]"
       " %s = attention(%q, %k, %v) {scale=1, causal=true} : f32[1,1,2,1] return %r, %s }",
       {q, k, v},
       {{6, 7}, {4, 7}}},
      {"graph @g(%q: f32[1,1,2,1], %k: f32[1,1,2,1], %v: f32[1,1,2,1], %m: bool[1,1,2,2],"
       " %n: f32[1,1,1,2], %o: f32[1,1,1,1]) {"
       " %r = attention(%q, %k, %v, %m) {scale=1, causal=false} : f32[1,1,2,1]"
       " %s = attention(%q, %k, %v, %n) {scale=0, causal=false} : f32[1,1,2,1]"
       " %t = attention(%q, %k, %v, %o) {scale=1, causal=false} : f32[1,1,2,1] return %r, %s, %t }",
       {q,
        k,
        v,
        {DType::kBool, {1, 1, 2, 2}, {0, 0, 0, 1}},
        {DType::kF32, {1, 1, 1, 2}, {std::log(3.0), 0}},
        {DType::kF32, {1, 1, 1, 1}, {-kInf}}},
       {{0, 8}, {5, 5}, {0, 0}}},
      // Two query heads share one key head.
      {"graph @g(%q: f32[1,2,1,1], %k: f32[1,1,1,1], %v: f32[1,1,1,2]) {"
       " %r = attention(%q, %k, %v) {scale=1, causal=false} : f32[1,2,1,2] return %r }",
       {{DType::kF32, {1, 2, 1, 1}, {1, 2}},
        {DType::kF32, {1, 1, 1, 1}, {1}},
        {DType::kF32, {1, 1, 1, 2}, {5, 6}}},
       {{5, 6, 5, 6}}},
      {"graph @g(%q: f32[1,1,1,1], %k: f32[1,1,s0,1], %v: f32[1,1,s0,1]) {"
       " %r = attention(%q, %k, %v) {scale=1, causal=false} : f32[1,1,1,1] return %r }",
       {{DType::kF32, {1, 1, 1, 1}, {1}},
        {DType::kF32, {1, 1, 0, 1}, {}},
        {DType::kF32, {1, 1, 0, 1}, {}}},
       {{0}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, GatherAndScatter) {
  const Tensor x{DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}};
  const Row rows[] = {
      // Rows by index; beyond the end is the last row.
      {"graph @g(%x: f32[3,2], %i: i64[4]) { %r = gather(%x, %i) {offset_dims=[1],"
       " collapsed_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,2]}"
       " : f32[4,2] return %r }",
       {x, {DType::kI64, {4}, {2, 0, 9, -5}}},
       {{5, 6, 1, 2, 5, 6, 1, 2}}},
      // Index vectors (column, row) along dim 0; the window comes first in the result.
      {"graph @g(%x: f32[3,2], %i: i32[2,2]) { %r = gather(%x, %i) {offset_dims=[0],"
       " collapsed_dims=[1], start_index_map=[1,0], index_vector_dim=0, slice_sizes=[2,1]}"
       " : f32[2,2] return %r }",
       {x, {DType::kI32, {2, 2}, {0, 1, 1, 2}}},
       {{3, 4, 5, 6}}},
      {"graph @g(%x: f32[3], %i: i64[3,1], %u: f32[3]) {"
       " %a = scatter(%x, %i, %u) {kind=\"add\", index_vector_dim=1, update_window_dims=[],"
       " inserted_window_dims=[0], scatter_dims=[0]} : f32[3]"
       " %b = scatter(%x, %i, %u) {kind=\"assign\", index_vector_dim=1, update_window_dims=[],"
       " inserted_window_dims=[0], scatter_dims=[0]} : f32[3]"
       " %c = scatter(%x, %i, %u) {kind=\"multiply\", index_vector_dim=1, update_window_dims=[],"
       " inserted_window_dims=[0], scatter_dims=[0]} : f32[3]"
       " %d = scatter(%x, %i, %u) {kind=\"maximum\", index_vector_dim=1, update_window_dims=[],"
       " inserted_window_dims=[0], scatter_dims=[0]} : f32[3]"
       " %e = scatter(%x, %i, %u) {kind=\"minimum\", index_vector_dim=1, update_window_dims=[],"
       " inserted_window_dims=[0], scatter_dims=[0]} : f32[3] return %a, %b, %c, %d, %e }",
       {{DType::kF32, {3}, {1, 2, 3}},
        {DType::kI64, {3, 1}, {1, 1, 3}},
        {DType::kF32, {3}, {10, 20, 30}}},
       {{1, 32, 3}, {1, 20, 3}, {1, 400, 3}, {1, 20, 3}, {1, 2, 3}}},
      // A window that sticks out: the elements inside are updated.
      {"graph @g(%x: f32[3,2], %i: i64[1,1], %u: f32[1,2,2]) {"
       " %r = scatter(%x, %i, %u) {kind=\"assign\", index_vector_dim=1, update_window_dims=[1,2],"
       " inserted_window_dims=[], scatter_dims=[0]} : f32[3,2] return %r }",
       {x, {DType::kI64, {1, 1}, {2}}, {DType::kF32, {1, 2, 2}, {7, 8, 9, 10}}},
       {{1, 2, 3, 4, 7, 8}}},
      {"graph @g(%x: f32[3,2], %i: i64[], %j: i64[]) {"
       " %r = dynamic_slice(%x, %i, %j) {slice_sizes=[2,1]} : f32[2,1] return %r }",
       {x, {DType::kI64, {}, {9}}, {DType::kI64, {}, {-1}}},
       {{3, 5}}},
      {"graph @g(%x: f32[3,2], %u: f32[1,2], %i: i64[], %j: i64[]) {"
       " %r = dynamic_update_slice(%x, %u, %i, %j) : f32[3,2] return %r }",
       {x, {DType::kF32, {1, 2}, {8, 9}}, {DType::kI64, {}, {1}}, {DType::kI64, {}, {5}}},
       {{1, 2, 8, 9, 5, 6}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, SortAndTopK) {
  const Tensor x{DType::kF32, {5}, {2, kNan, 1, 2, -kInf}};
  const Row rows[] = {
      {"graph @g(%x: f32[5]) { %i = iota() {dim=0} : i64[5]"
       " %a, %b = sort(%x, %i) {dim=0, descending=false} : f32[5], i64[5]"
       " %c, %d = sort(%x, %i) {dim=0, descending=true} : f32[5], i64[5] return %a, %b, %c, %d }",
       {x},
       {{-kInf, 1, 2, 2, kNan}, {4, 2, 0, 3, 1}, {kNan, 2, 2, 1, -kInf}, {1, 0, 3, 2, 4}}},
      {"graph @g(%x: i32[2,2]) { %a = sort(%x) {dim=0, descending=false} : i32[2,2] return %a }",
       {{DType::kI32, {2, 2}, {4, 1, 3, 2}}},
       {{3, 1, 4, 2}}},
      {"graph @g(%x: f32[5]) { %a, %b = top_k(%x) {k=3, largest=true} : f32[3], i64[3]"
       " %c, %d = top_k(%x) {k=2, largest=false} : f32[2], i64[2]"
       " %e, %f = top_k(%x) {k=0, largest=false} : f32[0], i64[0] return %a, %b, %c, %d, %e }",
       {x},
       {{kNan, 2, 2}, {1, 0, 3}, {-kInf, 1}, {4, 2}, {}}},
  };
  for (const Row& row : rows) ExpectRow(row);
}

TEST(Interpreter, RoundToDType_EachResult_IsRounded) {
  const char* text =
      "graph @g(%x: bf16[1]) { %c = constant() value(1) : bf16[1] %y = add(%x, %c) : bf16[1]"
      " %z = subtract(%y, %c) : bf16[1] %w = convert(%y) : f16[1] return %z, %w }";
  const Tensor x{DType::kBF16, {1}, {0.00390625}};  // Half a unit in the last place of 1.
  EXPECT_EQ(ValuesOf((*RunText(text, {x}))[0]), Values{0.00390625});
  EXPECT_EQ(ValuesOf((*RunText(text, {x}, true))[0]), Values{0});
  EXPECT_EQ(ValuesOf((*RunText(text, {x}, true))[1]), Values{1});
}

TEST(Interpreter, Bytes_EveryDType_RoundTrip) {
  for (const auto& [dtype, values] :
       std::vector<std::pair<DType, Values>>{{DType::kF64, {0.1, -kInf}},
                                             {DType::kF32, {0.5, 3}},
                                             {DType::kF16, {65504, 5.9604644775390625e-08}},
                                             {DType::kBF16, {-1.0078125, 3}},
                                             {DType::kI64, {-5, 1e15}},
                                             {DType::kI32, {-5, 7}},
                                             {DType::kI16, {-5, 7}},
                                             {DType::kI8, {-5, 7}},
                                             {DType::kU8, {5, 255}},
                                             {DType::kBool, {0, 1}}}) {
    const std::string bytes = Make({dtype, {2}, values}).ToBytes();
    EXPECT_EQ(bytes.size(), 2U * static_cast<unsigned>(SizeInBytes(dtype)));
    EXPECT_EQ(ValuesOf(InterpreterTensor::FromBytes(dtype, {2}, bytes)), values);
  }
}

TEST(Interpreter, ExternCall_RunsWhatIsGivenForIt) {
  const Graph graph = ParseGraph(
                          "graph @g(%x: i32[s0]) {"
                          " %a, %b = extern_call(%x) {target=\"f\"} : i32[s0], f32[2]"
                          " %c = add(%a, %x) : i32[s0] return %c, %b }")
                          .value();
  InterpretOptions options;
  options.extern_call = [](const Node& node, std::span<const InterpreterTensor* const> operands,
                           std::span<InterpreterTensor> results) -> Status {
    EXPECT_EQ(node.attributes.String(AttrName::kTarget), "f");
    EXPECT_EQ(results[0].shape, operands[0]->shape);
    for (auto& v : std::get<std::vector<std::int64_t>>(results[0].elements)) v = 7;
    std::get<std::vector<double>>(results[1].elements) = {0.5, 1.5};
    return Ok();
  };
  InterpreterTensor x = InterpreterTensor::Zeros(DType::kI32, {3});
  const auto results = Interpret(graph, std::array{x}, options).value();
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(results[0].elements),
            (std::vector<std::int64_t>{7, 7, 7}));
  EXPECT_EQ(std::get<std::vector<double>>(results[1].elements), (std::vector<double>{0.5, 1.5}));
}

TEST(Interpreter, BadInputs_AreNamed) {
  const char* text =
      "graph @g(%x: f32[s0,2], %y: f32[2*s0]) { %r = negate(%x) : f32[s0,2] return %r, %y }";
  const Tensor x{DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6}};
  const Tensor y{DType::kF32, {6}, {1, 2, 3, 4, 5, 6}};
  const struct {
    std::vector<Tensor> inputs;
    const char* message;
  } rows[] = {
      {{x}, "1 inputs are given; expected 2."},
      {{y, y}, "Input 0: It is f32[6]; expected f32[s0,2]."},
      {{x, {DType::kF64, {6}, {1, 2, 3, 4, 5, 6}}}, "Input 1: It is f64[6]; expected f32[2*s0]."},
      {{x, {DType::kF32, {1}, {1}}}, "Input 1: It is f32[1]; expected f32[2*s0] with 2*s0 = 6."},
      {{{DType::kF32, {2, 1}, {1, 2}}, y}, "Input 0: It is f32[2,1]; expected f32[s0,2]."},
  };
  EXPECT_TRUE(RunText(text, {x, y}).ok());
  for (const auto& row : rows) {
    const auto results = RunText(text, row.inputs);
    ASSERT_FALSE(results.ok());
    EXPECT_EQ(results.error().message, row.message);
  }
  const auto twice = RunText("graph @g(%x: f32[s0], %y: f32[s0]) { return %x }",
                             {{DType::kF32, {1}, {1}}, {DType::kF32, {2}, {1, 2}}});
  EXPECT_EQ(twice.error().message, "Input 1: It is f32[2]; expected f32[s0] with s0 = 1.");
  InterpreterTensor wrong{DType::kF32, {2}, std::vector<std::int64_t>{1, 2}};
  const Result<Graph> graph = ParseGraph("graph @g(%x: f32[2]) { return %x }");
  EXPECT_EQ(Interpret(*graph, std::span(&wrong, 1)).error().message,
            "Input 0: It is f32[2]; expected f32[2], but holds other elements.");
}

TEST(Interpreter, SizesWithoutMeaning_AreNamed) {
  const Tensor x{DType::kF32, {3}, {1, 2, 3}};
  const Tensor empty{DType::kF32, {0}, {}};
  const struct {
    const char* text;
    Tensor input;
    const char* message;
  } rows[] = {
      {"graph @g(%x: f32[s0]) { %r = slice(%x) {start=[4], limit=[s0], stride=[1]} : f32[s0-4]"
       " return %r }",
       x, "Node 0 (slice): A result of type f32[s0-4] has dimension s0-4 = -1."},
      {"graph @g(%x: f32[s0]) { %r = slice(%x) {start=[0], limit=[5], stride=[1]} : f32[5]"
       " return %r }",
       x, "Node 0 (slice): Dimension 0 of size 3 is cut from 0 to 5."},
      {"graph @g(%x: f32[s0]) { %r, %s = top_k(%x) {k=4, largest=true} : f32[4], i64[4]"
       " return %r }",
       x, "Node 0 (top_k): k is 4; the last dimension has 3 elements."},
      {"graph @g(%x: f32[s0]) { %r = arg_reduce(%x) {dim=0, kind=\"maximum\"} : i64[] return %r }",
       empty, "Node 0 (arg_reduce): The reduced dimension is empty."},
      {"graph @g(%x: f32[s0]) { %i = constant() value(0) : i64[]"
       " %r = dynamic_slice(%x, %i) {slice_sizes=[4]} : f32[4] return %r }",
       x, "Node 1 (dynamic_slice): Slice size 4 in dimension 0 of size 3."},
      {"graph @g(%x: f32[s0]) { %r = extern_call(%x) {target=\"aten.foo\"} : f32[1] return %r }", x,
       "Node 0 (extern_call): 'aten.foo' runs in the host framework, not in the interpreter."},
      {"graph @g(%x: f32[s0]) { %r = constant() value(1) : f32[1000000,1000000,s0] return %r }", x,
       "Node 0 (constant): A result of type f32[1000000,1000000,s0] has more than 1073741824 "
       "elements."},
  };
  for (const auto& row : rows) {
    const auto results = RunText(row.text, {row.input});
    ASSERT_FALSE(results.ok()) << row.text;
    EXPECT_EQ(results.error().message, row.message);
  }
}

}  // namespace
}  // namespace stoker
