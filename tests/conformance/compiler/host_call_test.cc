// Ops of the host framework in the middle of graphs: kernels around them, on the same memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

std::size_t HostCallsOf(const Artifact& artifact) {
  std::size_t calls = 0;
  for (const PlanStep& step : artifact.plan.steps) {
    calls += std::holds_alternative<HostCall>(step) ? 1 : 0;
  }
  return calls;
}

void Check(std::string_view text, std::size_t host_calls) {
  const Outcome outcome = CheckText(text);
  EXPECT_EQ(outcome.error, "") << text;
  EXPECT_EQ(HostCallsOf(outcome.artifact), host_calls) << text;
}

TEST(HostCall, BetweenKernels_ReadsWhatTheyMadeAndIsRead) {
  Check(R"(
graph @g(%x: f32[33,70], %w: parameter f32[40,70]) {
  %wt = transpose(%w) {dims=[1,0]} : f32[70,40]
  %p = dot_general(%x, %wt) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[33,40]
  %t = tanh(%p) : f32[33,40]
  %h = extern_call(%t) {target="op"} : f32[33,40]
  %y = add(%h, %t) : f32[33,40]
  return %y
})",
        1);
}

TEST(HostCall, OfViewsConstantsAndParameters_SeesThemRowMajor) {
  Check(R"(
graph @g(%x: f32[6,10], %w: parameter f32[10,6], %b: parameter bf16[8]) {
  %e = exponential(%x) : f32[6,10]
  %t = transpose(%e) {dims=[1,0]} : f32[10,6]
  %s = slice(%x) {start=[1,2], limit=[5,9], stride=[2,3]} : f32[2,3]
  %f = reshape(%e) : f32[60]
  %c = constant() value(3) : f32[4,5]
  %d = constant() value([1, 2, 3]) : i64[3]
  %i = iota() {dim=0} : i32[7]
  %ww = add(%w, %w) : f32[10,6]
  %h, %k = extern_call(%t, %s, %f, %c, %d, %i, %ww, %w, %b) {target="op"} : f32[9,4], i32[11]
  %n = negate(%h) : f32[9,4]
  %m = add(%k, %k) : i32[11]
  return %n, %m
})",
        1);
}

TEST(HostCall, OfParts_ReadsThemWhereTheyAre) {
  Check(R"(
graph @g(%x: f32[3,16,4], %y: f32[16,12], %z: f32[5,8]) {
  %r = reshape(%y) : f32[16,3,4]
  %t = transpose(%r) {dims=[1,0,2]} : f32[3,16,4]
  %a = slice(%x) {start=[2,0,0], limit=[3,16,4], stride=[1,1,1]} : f32[1,16,4]
  %b = slice(%t) {start=[1,0,0], limit=[2,16,4], stride=[1,1,1]} : f32[1,16,4]
  %c = reshape(%b) : f32[16,2,2]
  %d = slice(%z) {start=[1,0], limit=[3,8], stride=[1,1]} : f32[2,8]
  %e = slice(%z) {start=[2,0], limit=[4,8], stride=[1,1]} : f32[2,8]
  %h, %k = extern_call(%a, %c, %d, %e) {target="op"} : f32[9,4], i32[11]
  %n = negate(%h) : f32[9,4]
  return %n, %t, %k
})",
        1);
}

TEST(HostCall, ResultsThatAreOutputs_AreWrittenThere) {
  Check(R"(
graph @g(%x: f32[5,8]) {
  %a, %b, %c = extern_call(%x) {target="op"} : f32[5,8], bool[3], i64[2,2]
  %r = reshape(%a) : f32[40]
  %y = tanh(%a) : f32[5,8]
  return %a, %b, %c, %r, %y, %a
})",
        1);
}

TEST(HostCall, ChainsAndUnusedResults) {
  Check(R"(
graph @g(%x: f32[64]) {
  %a, %unused = extern_call(%x) {target="first"} : f32[64], f32[3]
  %b = extern_call(%a) {target="second"} : f32[64]
  %s = sine(%b) : f32[64]
  %c = extern_call(%s, %a) {target="second"} : f32[128]
  %d = extern_call(%s, %a) {target="second"} : f32[128]
  %y = add(%c, %d) : f32[128]
  return %y
})",
        4);
}

TEST(HostCall, AroundConvolutions_HaloStaysZero) {
  Check(R"(
graph @g(%x: f32[2,8,12,12], %w: parameter f32[8,8,3,3]) {
  %a = convolution(%x, %w) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[2,8,12,12]
  %h = extern_call(%a) {target="op"} : f32[2,8,12,12]
  %b = convolution(%h, %w) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[2,8,12,12]
  %k = extern_call(%h, %b) {target="op"} : f32[2,8,12,12]
  %y = add(%k, %a) : f32[2,8,12,12]
  return %y, %h
})",
        2);
}

TEST(HostCall, OfParametersAlone_RunsInEveryCall) {
  const std::string_view text = R"(
graph @g(%x: f32[16], %w: parameter f32[16]) {
  %v = multiply(%w, %w) : f32[16]
  %h = extern_call(%v) {target="op"} : f32[16]
  %k = extern_call() {target="op"} : f32[16]
  %a = add(%h, %x) : f32[16]
  %y = add(%a, %k) : f32[16]
  return %y
})";
  Check(text, 2);
}

TEST(HostCall, NothingInTensors_IsAllowed) {
  Check(R"(
graph @g(%x: f32[4,0], %z: f32[5]) {
  %a = tanh(%x) : f32[4,0]
  %h, %k = extern_call(%a, %z) {target="op"} : f32[3], f32[0,2]
  %y = tanh(%h) : f32[3]
  %e = tanh(%k) : f32[0,2]
  return %y, %e
})",
        1);
}

TEST(HostCall, SymbolicSizes_AreThoseOfTheCall) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[s0,6]) {
  %a = tanh(%x) : f32[s0,6]
  %h = extern_call(%a) {target="op"} : f32[s0,6]
  %y = add(%h, %a) : f32[s0,6]
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::vector<InterpreterTensor>> calls;
  for (const std::int64_t size : {1, 17, 300}) {
    calls.push_back(RandomInputs(*graph, 1, {{0, size}}));
  }
  EXPECT_EQ(CompareCallsWithInterpreter(*graph, calls).error, "");
}

}  // namespace
}  // namespace stoker::test
