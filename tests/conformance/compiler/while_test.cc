// Loops whose bodies and conditions are graphs, and scans: beside the interpreter, on every target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

using ::testing::SizeIs;

InterpreterTensor Int(std::int64_t value) {
  return {DType::kI64, {}, std::vector<std::int64_t>{value}};
}

// `trips` of %i, which counts up from 0 to %n: the last two inputs. `carried`: types of what else
// is carried, `stays`: of what else is not; `body` makes %r0, %r1... of %c0... and %s0...
struct Loop {
  std::vector<std::string> carried;
  std::vector<std::string> stays;
  std::string body;
  std::string before = "";  // Nodes that make %c0... of the inputs %x0...; else these are they.
  std::string roles = "";   // Of what stays: "parameter ".
  double scale = 1;         // Of the floats that stay: products of small ones forget errors.
};

std::string TextOf(const Loop& loop) {
  std::string inside;
  std::string results;
  std::string types;
  std::string next;
  std::string outer;
  std::string operands;
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    const std::string n = std::to_string(i);
    add(inside, "%c" + n + ": " + loop.carried[i]);
    add(outer, "%x" + n + ": " + loop.carried[i]);
    add(operands, (loop.before.empty() ? "%x" : "%b") + n);
    add(results, "%y" + n);
    add(types, loop.carried[i]);
    add(next, "%r" + n);
  }
  std::string stays;
  for (std::size_t i = 0; i < loop.stays.size(); ++i) {
    const std::string n = std::to_string(i);
    stays += ", %s" + n + ": " + loop.stays[i];
    add(outer, "%s" + n + ": " + loop.roles + loop.stays[i]);
  }
  std::string stay_names;
  for (std::size_t i = 0; i < loop.stays.size(); ++i) stay_names += ", %s" + std::to_string(i);
  inside += ", %i: i64[]" + stays + ", %n: i64[]";
  return "graph @g(" + outer + ", %i: i64[], %n: i64[]) {\n" + loop.before + "  " + results +
         ", %trips = while(" + operands + ", %i" + stay_names +
         ", %n) {condition=graph @condition(" + inside +
         ") {\n    %go = compare(%i, %n) {direction=\"LT\"} : bool[]\n    return %go\n  }, "
         "body=graph @body(" +
         inside + ") {\n    %one = constant() value(1) : i64[]\n    %j = add(%i, %one) : i64[]\n" +
         loop.body + "    return " + next + ", %j\n  }} : " + types + ", i64[]\n  return " +
         results + ", %trips\n}\n";
}

Outcome CheckLoop(const Loop& loop, std::vector<std::int64_t> trips = {0, 1, 2, 7},
                  const Tolerance& tolerance = {}) {
  const std::string text = TextOf(loop);
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message << "\n" << text;
  if (!graph.ok()) return {};
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t count : trips) {
    std::vector<InterpreterTensor> inputs =
        RandomInputs(*graph, static_cast<std::uint64_t>(count + 1));
    inputs[inputs.size() - 2] = Int(0);
    inputs.back() = Int(count);
    for (std::size_t i = loop.carried.size(); i + 2 < inputs.size(); ++i) {
      if (auto* floats = std::get_if<std::vector<double>>(&inputs[i].elements)) {
        for (double& x : *floats) x *= loop.scale;
      }
    }
    calls.push_back(std::move(inputs));
  }
  Outcome outcome = CompareCallsWithInterpreter(*graph, calls, tolerance);
  EXPECT_EQ(outcome.error, "");
  return outcome;
}

TEST(While, Pointwise_IsMadeInPlace) {
  const Outcome outcome = CheckLoop({{"f32[40,33]"}, {"f32[33]"}, R"(
    %b = broadcast_in_dim(%s0) {dims=[1]} : f32[40,33]
    %m = multiply(%c0, %b) : f32[40,33]
    %r0 = tanh(%m) : f32[40,33]
)"});
  ASSERT_THAT(outcome.artifact.plan.loops, SizeIs(1));
  // Before the loop the two that are carried, then the condition, one step of the body each.
  EXPECT_EQ(outcome.artifact.plan.loops[0].begin, 2U);
  EXPECT_EQ(outcome.artifact.plan.loops[0].test, 3U);
  EXPECT_LE(outcome.artifact.plan.loops[0].end, 5U);
}

TEST(While, ValuesThatChangePlaces) {
  CheckLoop({{"f32[17]", "f32[17]", "f32[17]"}, {}, R"(
    %r0 = add(%c1, %c1) : f32[17]
    %r1 = reshape(%c2) : f32[17]
    %r2 = reshape(%c0) : f32[17]
)"});
  CheckLoop({{"f32[3,3]", "f32[3,3]"}, {}, R"(
    %r1 = transpose(%c0) {dims=[1,0]} : f32[3,3]
    %r0 = transpose(%c1) {dims=[1,0]} : f32[3,3]
)"});
}

TEST(While, BodyThatReturnsInputsConstantsAndOneValueTwice) {
  CheckLoop({{"f32[5]", "f32[5]", "f32[5]", "f32[5]", "f32[5]"}, {"f32[5]"}, R"(
    %r0 = reshape(%c0) : f32[5]
    %r1 = reshape(%s0) : f32[5]
    %r2 = add(%c2, %s0) : f32[5]
    %r3 = reshape(%r2) : f32[5]
    %r4 = constant() value([1, 2, 3, 4, 5]) : f32[5]
)"});
}

TEST(While, EveryDType) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}) {
    const std::string type = std::string(dtype) + "[19]";
    CheckLoop({{type}, {type}, "    %r0 = add(%c0, %s0) : " + type + "\n"}, {0, 1, 3});
  }
  CheckLoop({{"bool[19]"}, {"bool[19]"}, "    %r0 = xor(%c0, %s0) : bool[19]\n"}, {0, 1, 3});
}

TEST(While, InitialValuesThatAreViewsConstantsAndIotas) {
  CheckLoop({{"f32[4,6]", "f32[4,6]", "f32[4,6]", "f32[4,6]"},
             {},
             R"(
    %r0 = add(%c0, %c1) : f32[4,6]
    %r1 = subtract(%c1, %c2) : f32[4,6]
    %r2 = maximum(%c2, %c3) : f32[4,6]
    %r3 = negate(%c0) : f32[4,6]
)",
             R"(
  %t = reshape(%x0) : f32[6,4]
  %b0 = transpose(%t) {dims=[1,0]} : f32[4,6]
  %b1 = constant() value(0.5) : f32[4,6]
  %b2 = iota() {dim=1} : f32[4,6]
  %b3 = exponential(%x3) : f32[4,6]
)"});
}

TEST(While, RecurrentCell_PacksItsWeightsOnce) {
  const std::string body = R"(
    %p = dot_general(%c0, %s0) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[8,64]
    %b = broadcast_in_dim(%s1) {dims=[1]} : f32[8,64]
    %a = add(%p, %b) : f32[8,64]
    %r0 = tanh(%a) : f32[8,64]
)";
  const Loop loop{{"f32[8,64]"}, {"f32[64,64]", "f32[64]"}, body, "", "parameter ", 0.0625};
  // Where the weights are parameters outside too, when they are bound.
  EXPECT_THAT(CheckLoop(loop, {0, 1, 5}).artifact.plan.prepare, SizeIs(1));
  Loop given = loop;
  given.roles = "";
  const Outcome outcome = CheckLoop(given, {0, 1, 5});
  EXPECT_THAT(outcome.artifact.plan.prepare, SizeIs(0));
  ASSERT_THAT(outcome.artifact.plan.loops, SizeIs(1));
  std::size_t packs = 0;
  for (std::size_t i = 0; i < outcome.artifact.plan.steps.size(); ++i) {
    if (!LabelsOf(outcome.artifact)[i].starts_with("pack")) continue;
    ++packs;
    EXPECT_LT(i, outcome.artifact.plan.loops[0].begin);
  }
  EXPECT_EQ(packs, 1U);
}

TEST(While, Convolutions_KeepTheirZeros) {
  CheckLoop({{"f32[1,8,9,9]"},
             {"f32[8,8,3,3]"},
             R"(
    %k = convolution(%c0, %s0) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[1,8,9,9]
    %t = tanh(%k) : f32[1,8,9,9]
    %l = convolution(%t, %s0) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[1,8,9,9]
    %r0 = tanh(%l) : f32[1,8,9,9]
)",
             "",
             "",
             0.0625},
            {0, 1, 3});
}

TEST(While, RowsWrittenOneATrip_AreWrittenWhereTheyLie) {
  CheckLoop({{"f32[7,12]"}, {"f32[7,12]"}, R"(
    %zero = constant() value(0) : i64[]
    %row = dynamic_slice(%s0, %i, %zero) {slice_sizes=[1,12]} : f32[1,12]
    %e = exponential(%row) : f32[1,12]
    %r0 = dynamic_update_slice(%c0, %e, %i, %zero) : f32[7,12]
)"});
  CheckLoop({{"f32[7,12]"}, {"f32[7,12]"}, R"(
    %at = reshape(%i) : i64[1,1]
    %row = gather(%s0, %at) {offset_dims=[1], collapsed_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1,12]} : f32[1,12]
    %e = exponential(%row) : f32[1,12]
    %r0 = scatter(%c0, %at, %e) {kind="assign", update_window_dims=[1], inserted_window_dims=[0], scatter_dims=[0], index_vector_dim=1} : f32[7,12]
)"});
}

TEST(While, HostCalls_RunInEveryTrip) {
  const Outcome outcome = CheckLoop({{"f32[9]"}, {"f32[9]"}, R"(
    %e = add(%c0, %s0) : f32[9]
    %h = extern_call(%e) {target="op"} : f32[9]
    %r0 = tanh(%h) : f32[9]
)"});
  EXPECT_THAT(outcome.artifact.plan.loops, SizeIs(1));
}

TEST(While, EmptyTensors) {
  CheckLoop({{"f32[0,3]", "f32[4]"}, {"f32[0,4]"}, R"(
    %r0 = tanh(%c0) : f32[0,3]
    %z = reduce(%s0) {dims=[0], kind="add"} : f32[4]
    %r1 = add(%c1, %z) : f32[4]
)"});
}

TEST(While, SeveralOutputsOfOneResult) {
  const Outcome outcome = CheckText(R"(
graph @g(%x: f32[6]) {
  %y = while(%x) {condition=graph @c(%0: f32[6]) {
    %m = reduce(%0) {dims=[0], kind="maximum"} : f32[]
    %l = constant() value(100) : f32[]
    %go = compare(%m, %l) {direction="LT"} : bool[]
    %z = constant() value(0.1) : f32[]
    %positive = compare(%m, %z) {direction="GT"} : bool[]
    %r = and(%go, %positive) : bool[]
    return %r
  }, body=graph @b(%0: f32[6]) {
    %1 = add(%0, %0) : f32[6]
    return %1
  }} : f32[6]
  %t = tanh(%y) : f32[6]
  %v = reshape(%y) : f32[2,3]
  return %y, %v, %t, %y
})");
  EXPECT_EQ(outcome.error, "");
}

TEST(While, ConditionThatIsCarriedOrStays) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[3], %go: bool[], %never: bool[]) {
  %y, %k = while(%x, %go) {condition=graph @c(%0: f32[3], %1: bool[]) {
    return %1
  }, body=graph @b(%0: f32[3], %1: bool[]) {
    %2 = add(%0, %0) : f32[3]
    %3 = not(%1) : bool[]
    return %2, %3
  }} : f32[3], bool[]
  %z = while(%y, %never) {condition=graph @c(%0: f32[3], %1: bool[]) {
    return %1
  }, body=graph @b(%0: f32[3], %1: bool[]) {
    %2 = add(%0, %0) : f32[3]
    return %2
  }} : f32[3]
  return %y, %k, %z
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto flag = [](bool value) {
    return InterpreterTensor{DType::kBool, {}, std::vector<std::int64_t>{value ? 1 : 0}};
  };
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const bool go : {false, true}) {
    calls.push_back(
        {InterpreterTensor{DType::kF32, {3}, std::vector<double>{1, 2, 3}}, flag(go), flag(false)});
  }
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

TEST(While, NanInTheCondition_EndsTheLoop) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[], %l: f32[]) {
  %y = while(%x, %l) {condition=graph @c(%0: f32[], %1: f32[]) {
    %2 = compare(%0, %1) {direction="LT"} : bool[]
    return %2
  }, body=graph @b(%0: f32[], %1: f32[]) {
    %2 = add(%0, %0) : f32[]
    return %2
  }} : f32[]
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto number = [](double value) {
    return InterpreterTensor{DType::kF32, {}, std::vector<double>{value}};
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      CompareCallsWithInterpreter(
          *graph, {{number(1), number(nan)}, {number(nan), number(5)}, {number(1), number(9)}})
          .error,
      "");
}

// Sums over a triangle: the inner loop's count is the outer one's.
constexpr std::string_view kNested = R"(
graph @g(%x: f32[5], %i: i64[], %n: i64[]) {
  %y, %trips = while(%x, %i, %n) {condition=graph @c(%0: f32[5], %1: i64[], %2: i64[]) {
    %3 = compare(%1, %2) {direction="LT"} : bool[]
    return %3
  }, body=graph @b(%0: f32[5], %1: i64[], %2: i64[]) {
    %zero = constant() value(0) : i64[]
    %one = constant() value(1) : i64[]
    %t, %k = while(%0, %zero, %1, %0) {condition=graph @ic(%0: f32[5], %1: i64[], %2: i64[], %3: f32[5]) {
      %4 = compare(%1, %2) {direction="LT"} : bool[]
      return %4
    }, body=graph @ib(%0: f32[5], %1: i64[], %2: i64[], %3: f32[5]) {
      %one = constant() value(1) : i64[]
      %j = add(%1, %one) : i64[]
      %f = sine(%0) : f32[5]
      %s = add(%f, %3) : f32[5]
      return %s, %j
    }} : f32[5], i64[]
    %j = add(%1, %one) : i64[]
    return %t, %j
  }} : f32[5], i64[]
  return %y, %trips
})";

TEST(While, InAWhile) {
  const auto graph = ParseGraph(kNested);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t count : {0, 1, 2, 5}) {
    std::vector<InterpreterTensor> inputs = RandomInputs(*graph, 1);
    inputs[1] = Int(0);
    inputs[2] = Int(count);
    calls.push_back(std::move(inputs));
  }
  const Outcome outcome = CompareCallsWithInterpreter(*graph, calls);
  EXPECT_EQ(outcome.error, "");
  EXPECT_THAT(outcome.artifact.plan.loops, SizeIs(2));
}

TEST(While, SymbolicSizes_AreThoseOfTheCall) {
  const auto graph = ParseGraph(R"(
graph @g(%w: f32[s0,8], %x: f32[2,s0], %i: i64[], %n: i64[]) {
  %c = concatenate(%x, %x) {dim=1} : f32[2,2*s0]
  %y, %trips = while(%c, %i, %w, %n) {condition=graph @c(%0: f32[s0,s1], %1: i64[], %2: f32[s2,8], %3: i64[]) {
    %4 = compare(%1, %3) {direction="LT"} : bool[]
    return %4
  }, body=graph @b(%0: f32[s0,s1], %1: i64[], %2: f32[s2,8], %3: i64[]) {
    %one = constant() value(1) : i64[]
    %j = add(%1, %one) : i64[]
    %f = tanh(%2) : f32[s2,8]
    %s = reduce(%f) {dims=[0,1], kind="add"} : f32[]
    %m = reduce(%0) {dims=[1], kind="maximum"} : f32[s0]
    %mb = broadcast_in_dim(%m) {dims=[0]} : f32[s0,s1]
    %b = broadcast_in_dim(%s) {dims=[]} : f32[s0,s1]
    %d = subtract(%0, %mb) : f32[s0,s1]
    %e = add(%d, %b) : f32[s0,s1]
    return %e, %j
  }} : f32[2,2*s0], i64[]
  %z = tanh(%y) : f32[2,2*s0]
  return %z, %y, %trips
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t size : {1, 17, 300}) {
    std::vector<InterpreterTensor> inputs = RandomInputs(*graph, 1, {{0, size}});
    inputs[2] = Int(0);
    inputs[3] = Int(size % 4);
    calls.push_back(std::move(inputs));
  }
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

TEST(While, ThatUpdatesAnInput_LeavesTheResultThere) {
  const auto check = [](std::string_view returned) {
    const auto graph = ParseGraph(R"(
graph @g(%x: f32[24], %w: f32[24], %i: i64[], %n: i64[]) {
  %y, %trips = while(%x, %i, %w, %n, %x) {condition=graph @c(%0: f32[24], %1: i64[], %2: f32[24], %3: i64[], %4: f32[24]) {
    %5 = compare(%1, %3) {direction="LT"} : bool[]
    return %5
  }, body=graph @b(%0: f32[24], %1: i64[], %2: f32[24], %3: i64[], %4: f32[24]) {
    %one = constant() value(1) : i64[]
    %j = add(%1, %one) : i64[]
    %e = add(%0, %2) : f32[24]
    %f = )" + std::string(returned) +
                                  R"( : f32[24]
    return %f, %j
  }} : f32[24], i64[]
  return %y updates %x, %trips
})");
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    std::vector<InterpreterTensor> inputs = RandomInputs(*graph, 1);
    inputs[2] = Int(0);
    inputs[3] = Int(3);
    EXPECT_EQ(CompareWithInterpreter(*graph, inputs).error, "");
  };
  check("negate(%e)");
  // The loop reads what the input held in every trip.
  check("subtract(%e, %4)");
}

TEST(Scan, CarriesAndStacks) {
  for (const int rows : {0, 1, 2, 9}) {
    std::string text = R"(
graph @g(%h: f32[8,32], %x: f32[R,8,16], %m: i64[R], %u: f32[32,32], %w: f32[16,32], %b: f32[32]) {
  %last, %all, %counts = scan(%h, %x, %m, %u, %w, %b) {body=graph @step(%0: f32[8,32], %1: f32[8,16], %2: i64[], %3: f32[32,32], %4: f32[16,32], %5: f32[32]) {
    %hu = dot_general(%0, %3) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[8,32]
    %xw = dot_general(%1, %4) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[8,32]
    %s = add(%hu, %xw) : f32[8,32]
    %bb = broadcast_in_dim(%5) {dims=[1]} : f32[8,32]
    %t = add(%s, %bb) : f32[8,32]
    %y = tanh(%t) : f32[8,32]
    %n = add(%2, %2) : i64[]
    return %y, %0, %n
  }, carried=1, scanned=2} : f32[8,32], f32[R,8,32], i64[R]
  return %last, %all, %counts
})";
    for (std::size_t at = 0; (at = text.find('R', at)) != std::string::npos;) {
      text.replace(at, 1, std::to_string(rows));
    }
    const Outcome outcome = CheckText(text);
    EXPECT_EQ(outcome.error, "");
    EXPECT_THAT(outcome.artifact.plan.loops, SizeIs(rows == 0 ? 0 : 1));
  }
}

TEST(Scan, OfNothingCarriedOrWithoutRowsOfResults) {
  EXPECT_EQ(CheckText(R"(
graph @g(%x: f32[6,5], %y: f32[6]) {
  %a = scan(%x, %y) {body=graph @b(%0: f32[5], %1: f32[]) {
    %2 = broadcast_in_dim(%1) {dims=[]} : f32[5]
    %3 = multiply(%0, %2) : f32[5]
    return %3
  }, carried=0, scanned=2} : f32[6,5]
  %s = reduce(%x) {dims=[0], kind="add"} : f32[5]
  %c = scan(%s, %x) {body=graph @b(%0: f32[5], %1: f32[5]) {
    %2 = maximum(%0, %1) : f32[5]
    return %2
  }, carried=1, scanned=1} : f32[5]
  return %a, %c
})")
                .error,
            "");
}

TEST(Scan, OfSizesOfTheCall) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[4,s0], %c: f32[s0]) {
  %a, %b = scan(%c, %x) {body=graph @b(%0: f32[s0], %1: f32[s0]) {
    %2 = add(%0, %1) : f32[s0]
    return %2, %2
  }, carried=1, scanned=1} : f32[s0], f32[4,s0]
  return %a, %b
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t size : {1, 40}) calls.push_back(RandomInputs(*graph, 1, {{0, size}}));
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

TEST(Scan, OfRowsThatTheCallCounts_IsRefusedByName) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[s0,4]) {
  %a = scan(%x) {body=graph @b(%0: f32[4]) {
    %1 = tanh(%0) : f32[4]
    return %1
  }, carried=0, scanned=1} : f32[s0,4]
  return %a
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto output =
      Compile({*graph, Target::Parse("cpu/x86-64-v3").value(), {}, CompilerEpoch()});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(output.error().message, "scan: Its number of rows is s0, which has to be known.");
}

TEST(While, OnAGpu_IsRefusedByName) {
  const auto graph = ParseGraph(kNested);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto output = Compile({*graph, Target::Parse("cuda/sm_90a").value(), {}, CompilerEpoch()});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(output.error().message, "node 0 (while): The target's plans have no loops.");
}

TEST(While, ThatDoesNothing_IsRefusedByName) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[], %go: bool[]) {
  %y = while(%x, %go) {condition=graph @c(%0: f32[], %1: bool[]) {
    return %1
  }, body=graph @b(%0: f32[], %1: bool[]) {
    return %0
  }} : f32[]
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto output =
      Compile({*graph, Target::Parse("cpu/x86-64-v3").value(), {}, CompilerEpoch()});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(output.error().message,
            "node 0 (while): Neither its condition nor its body does anything.");
}

}  // namespace
}  // namespace stoker::test
