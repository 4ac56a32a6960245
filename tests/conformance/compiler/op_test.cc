// Every op on every dtype it takes: random shapes and attributes, compiled against the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "protocol/graph/op_table.h"
#include "tests/conformance/compiler/graph_generator.h"
#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
                          DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};

// Several instances of one kind in one graph are one compile.
constexpr int kInstances = 3;

class OpTest : public testing::TestWithParam<OpKind> {
 protected:
  enum class Values { kOrdinary, kSpecial };

  // Instances of those dtypes that the kind takes.
  void Check(std::uint64_t seed, GraphGenerator::Scale scale, Values values,
             std::span<const DType> dtypes = kAll) {
    const OpKind kind = GetParam();
    int tried = 0;
    for (const DType dtype : dtypes) {
      const std::uint64_t mixed = seed * 1000000 + static_cast<std::uint64_t>(kind) * 1000 +
                                  static_cast<std::uint64_t>(dtype) * 10;
      GraphGenerator generator(mixed, scale);
      bool any = false;
      for (int i = 0; i < kInstances; ++i) any = generator.Add(kind, dtype) || any;
      if (!any) continue;
      ++tried;
      const auto graph = generator.Build();
      ASSERT_TRUE(graph.ok()) << graph.error().message << " seed " << seed;
      std::vector<InterpreterTensor> inputs = RandomInputs(*graph, mixed);
      if (values == Values::kSpecial) AddSpecialValues(inputs, mixed);
      EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "")
          << "seed " << seed << " " << Name(dtype);
    }
    EXPECT_GT(tried, 0);
  }
};

TEST_P(OpTest, RandomShapes_AgreeWithTheInterpreter) {
  for (const std::uint64_t seed : Seeds(0, 1))
    Check(seed, GraphGenerator::Scale::kSmall, Values::kOrdinary);
}

TEST_P(OpTest, NanInfinityAndZeros_AgreeWithTheInterpreter) {
  // Whether a zero that pads or a key that is masked meets an infinite factor is nobody's contract.
  if (GetParam() == OpKind::kConvolution || GetParam() == OpKind::kAttention) return;
  for (const std::uint64_t seed : Seeds(1, 1))
    Check(seed, GraphGenerator::Scale::kSmall, Values::kSpecial);
}

TEST_P(OpTest, EmptyAndSingleElements_AgreeWithTheInterpreter) {
  for (const std::uint64_t seed : Seeds(2, 1))
    Check(seed, GraphGenerator::Scale::kTiny, Values::kOrdinary);
}

TEST_P(OpTest, ManyTasks_AgreeWithTheInterpreter) {
  constexpr DType kSome[] = {DType::kF32, DType::kBF16, DType::kI64, DType::kBool};
  for (const std::uint64_t seed : Seeds(3, 1)) {
    Check(seed, GraphGenerator::Scale::kLarge, Values::kOrdinary, kSome);
  }
}

std::vector<OpKind> AllKinds() {
  std::vector<OpKind> kinds;
  for (int i = 0; i < kNumOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    // extern_call is the host framework's: host_call_test.cc; graphs in graphs: while_test.cc.
    const OpRole role = RowOf(kind).role;
    if (role != OpRole::kExtern && role != OpRole::kRegion) kinds.push_back(kind);
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Compiler, OpTest, testing::ValuesIn(AllKinds()),
                         [](const auto& param_info) {
                           return std::string(Name(param_info.param));
                         });

// Few indices are out of bounds above: here they are, on either side and far away.
TEST(Convolution, NanAndInfinityInInput_AgreeWithTheInterpreter) {
  const auto graph = ParseGraph(
      "graph @g(%0: f32[2,8,9,9], %1: parameter f32[16,8,3,3]) {\n"
      "  %2 = convolution(%0, %1) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], "
      "lhs_dilation=[1,1], groups=1} : f32[2,16,9,9]\n"
      "  %3 = convolution(%0, %1) {strides=[2,2], pad_low=[0,0], pad_high=[0,0], dilation=[1,1], "
      "lhs_dilation=[1,1], groups=1} : f32[2,16,4,4]\n"
      "  return %2, %3\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<InterpreterTensor> inputs = RandomInputs(*graph, 1);
  std::vector<double>& x = std::get<std::vector<double>>(inputs[0].elements);
  x[100] = std::numeric_limits<double>::quiet_NaN();
  x[500] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "");
}

TEST(Attention, NanAndInfinityUnmasked_AgreeWithTheInterpreter) {
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* sizes : {"9,13", "40,70"}) {
      const std::string queries(sizes, std::strchr(sizes, ','));
      const std::string keys(std::strchr(sizes, ',') + 1);
      const std::string type(dtype);
      const auto graph =
          ParseGraph("graph @g(%0: " + type + "[1,2," + queries + ",16], %1: " + type + "[1,2," +
                     keys + ",16], %2: " + type + "[1,2," + keys +
                     ",16]) {\n  %3 = attention(%0, %1, %2) {scale=0.25, "
                     "causal=false} : " +
                     type + "[1,2," + queries + ",16]\n  return %3\n}\n");
      ASSERT_TRUE(graph.ok()) << graph.error().message;
      std::vector<InterpreterTensor> inputs = RandomInputs(*graph, 1);
      // Of one query, one key and one value of different heads.
      std::get<std::vector<double>>(inputs[0].elements)[20] = std::nan("");
      std::get<std::vector<double>>(inputs[2].elements)[7] =
          std::numeric_limits<double>::infinity();
      EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "") << type << " " << sizes;
    }
  }
}

// As frontends write padding: a mask to add, of 0 and -inf or the lowest value.
TEST(Attention, MaskOfInfinities_AgreesWithTheInterpreter) {
  const auto graph = ParseGraph(
      "graph @g(%0: f32[2,2,9,16], %1: f32[2,2,37,16], %2: f32[2,2,37,16], %3: f32[2,1,9,37]) {\n"
      "  %4 = attention(%0, %1, %2, %3) {scale=0.25, causal=false} : f32[2,2,9,16]\n"
      "  return %4\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const double masked : {-std::numeric_limits<double>::infinity(),
                              static_cast<double>(std::numeric_limits<float>::lowest())}) {
    std::vector<InterpreterTensor> inputs = RandomInputs(*graph, 1);
    std::vector<double>& mask = std::get<std::vector<double>>(inputs[3].elements);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const std::size_t row = i / 37;
      mask[i] = row == 4 || i % 37 > 20 + row % 9 || i % 37 < row / 9 * 18 ? masked : 0;
    }
    EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "") << masked;
  }
}

TEST(Scatter, IndicesOutOfBounds_AreSkippedElementByElement) {
  for (const char* kind : {"assign", "add", "multiply", "maximum", "minimum"}) {
    const std::string attributes = std::string("{kind=\"") + kind + "\", index_vector_dim=1, ";
    const auto graph = ParseGraph(
        "graph @g(%0: f32[8], %1: i64[5,1], %2: f32[5], %3: f32[6,9], %4: f32[5,9], "
        "%5: f32[5,4], %6: f32[4,3,5]) {\n"
        "  %7 = scatter(%0, %1, %2) " +
        attributes +
        "update_window_dims=[], inserted_window_dims=[0], scatter_dims=[0]} : f32[8]\n"
        "  %8 = scatter(%3, %1, %4) " +
        attributes +
        "update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0]} : f32[6,9]\n"
        "  %9 = scatter(%0, %1, %5) " +
        attributes +
        "update_window_dims=[1], inserted_window_dims=[], scatter_dims=[0]} : f32[8]\n"
        "  %10 = scatter(%3, %1, %6) " +
        attributes +
        "update_window_dims=[0,1], inserted_window_dims=[], scatter_dims=[1]} : f32[6,9]\n"
        "  return %7, %8, %9, %10\n}\n");
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      std::vector<InterpreterTensor> inputs = RandomInputs(*graph, seed);
      std::vector<std::int64_t>& indices = std::get<std::vector<std::int64_t>>(inputs[1].elements);
      indices[seed % 5] = -2;
      indices[(seed + 1) % 5] = 7;
      indices[(seed + 2) % 5] = seed % 2 == 0 ? std::numeric_limits<std::int64_t>::min()
                                              : std::numeric_limits<std::int64_t>::max();
      EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "") << kind;
    }
  }
}

// Rounding to f32 on the way makes each of these the middle of two neighbors.
TEST(Convert, BesideTheMiddleOfTwoNeighbors_RoundsOnce) {
  struct Case {
    const char* from;
    double value;
  };
  constexpr Case kCases[] = {
      {"f64", 1 + 0x1p-11 + 0x1p-40}, {"f64", -3 - 0x1.8p-9 + 0x1p-40},  // Of f16,
      {"f64", 1 + 0x1p-8 + 0x1p-40},  {"f64", 0x1.01p100 + 0x1p60},      // of bf16,
      {"i32", 257 * 65536 + 1},       {"i64", 0x1.01p60 + 0x1p20},
      {"i64", -0x1.03p62 + 0x1p12},
  };
  for (const Case& c : kCases) {
    const auto graph = ParseGraph(std::string("graph @g(%0: ") + c.from +
                                  "[21]) {\n  %1 = convert(%0) : f16[21]\n"
                                  "  %2 = convert(%0) : bf16[21]\n  return %1, %2\n}\n");
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    std::vector<InterpreterTensor> inputs = RandomInputs(*graph, 1);
    std::visit(
        [&](auto& values) {
          for (auto& x : values) x = static_cast<std::decay_t<decltype(x)>>(c.value);
        },
        inputs[0].elements);
    const Tolerance exact = {.f64 = 0, .f32 = 0, .f16 = 0, .bf16 = 0};
    EXPECT_EQ(CompareWithInterpreter(*graph, inputs, exact).error, "") << c.from << " " << c.value;
  }
}

// Index vectors that lie across the rows of what they are a view of.
TEST(Scatter, IndicesThroughViews_AgreeWithTheInterpreter) {
  for (const char* view : {"  %4 = reshape(%1) : i64[6,2]\n",
                           "  %3 = transpose(%1) {dims=[1,0]} : i64[4,3]\n"
                           "  %4 = reshape(%3) : i64[6,2]\n"}) {
    const Outcome outcome = CheckText(
        std::string("graph @g(%0: f32[5,5], %1: i64[3,4], %2: f32[6]) {\n") + view +
        "  %5 = scatter(%0, %4, %2) {kind=\"add\", index_vector_dim=1, update_window_dims=[], "
        "inserted_window_dims=[0,1], scatter_dims=[0,1]} : f32[5,5]\n"
        "  return %5\n}\n");
    EXPECT_EQ(outcome.error, "");
  }
}

}  // namespace
}  // namespace stoker::test
