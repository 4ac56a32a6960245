// Graphs as they occur in models: compiled code against the interpreter, and how many kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

TEST(Fusion, PointwiseChain_IsOneKernel) {
  const Outcome outcome = CheckText(R"(
graph @gelu(%x: f32[33,70], %b: f32[70]) {
  %1 = broadcast_in_dim(%b) {dims=[1]} : f32[33,70]
  %2 = add(%x, %1) : f32[33,70]
  %3 = tanh(%2) : f32[33,70]
  %4 = multiply(%3, %2) : f32[33,70]
  return %4, %3
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact).size(), 1U);
}

TEST(Fusion, Softmax_IsOneKernel) {
  const Outcome outcome = CheckText(R"(
graph @softmax(%x: f32[7,65]) {
  %m = reduce(%x) {dims=[1], kind="maximum"} : f32[7]
  %mb = broadcast_in_dim(%m) {dims=[0]} : f32[7,65]
  %d = subtract(%x, %mb) : f32[7,65]
  %e = exponential(%d) : f32[7,65]
  %s = reduce(%e) {dims=[1], kind="add"} : f32[7]
  %sb = broadcast_in_dim(%s) {dims=[0]} : f32[7,65]
  %y = divide(%e, %sb) : f32[7,65]
  return %y
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact).size(), 1U);
}

TEST(Fusion, LayerNormOfSum_IsOneKernelWithTwoResults) {
  const Outcome outcome = CheckText(R"(
graph @norm(%a: f32[2,9,96], %b: f32[2,9,96], %g: parameter f32[96], %h: parameter f32[96]) {
  %x = add(%a, %b) : f32[2,9,96]
  %s = reduce(%x) {dims=[2], kind="add"} : f32[2,9]
  %n = constant() value(96) : f32[2,9]
  %m = divide(%s, %n) : f32[2,9]
  %m1 = reshape(%m) : f32[2,9,1]
  %mb = broadcast_in_dim(%m1) {dims=[0,1,2]} : f32[2,9,96]
  %d = subtract(%x, %mb) : f32[2,9,96]
  %q = multiply(%d, %d) : f32[2,9,96]
  %v = reduce(%q) {dims=[2], kind="add"} : f32[2,9]
  %w = divide(%v, %n) : f32[2,9]
  %e = constant() value(0.00001) : f32[2,9]
  %we = add(%w, %e) : f32[2,9]
  %r = rsqrt(%we) : f32[2,9]
  %rb = broadcast_in_dim(%r) {dims=[0,1]} : f32[2,9,96]
  %y = multiply(%d, %rb) : f32[2,9,96]
  %gb = broadcast_in_dim(%g) {dims=[2]} : f32[2,9,96]
  %hb = broadcast_in_dim(%h) {dims=[2]} : f32[2,9,96]
  %z = multiply(%y, %gb) : f32[2,9,96]
  %o = add(%z, %hb) : f32[2,9,96]
  return %o, %x
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact).size(), 1U);
}

// Neither a window of one element nor a depthwise convolution of one place adds anything up.
TEST(Fusion, ReductionsOfOneTermBesideRows_AgreeWithTheInterpreter) {
  const std::string window =
      "{kind=\"add\", window=[1,1,1], strides=[1,1,1], pad_low=[0,0,1], pad_high=[0,0,0], "
      "dilation=[1,1,1]} : f32[2,8,4]\n";
  const std::string convolution =
      "{strides=[1], pad_low=[1], pad_high=[0], dilation=[1], lhs_dilation=[1], groups=8} : "
      "f32[2,8,4]\n";
  const std::string inputs = "(%x: f32[2,8,3], %w: f32[8,1,1]) {\n";
  const std::string sum = "  %s = reduce(%a) {dims=[2], kind=\"add\"} : f32[2,8]\n";
  const std::string minus =
      "  %b = broadcast_in_dim(%s) {dims=[0,1]} : f32[2,8,4]\n"
      "  %d = subtract(%a, %b) : f32[2,8,4]\n";
  for (const std::string& first :
       {"  %a = reduce_window(%x) " + window, "  %a = convolution(%x, %w) " + convolution}) {
    const std::string begin = "graph @one" + inputs + first + sum;
    EXPECT_EQ(CheckText(begin + "  return %s\n}").error, "");
    EXPECT_EQ(CheckText(begin + minus + "  return %d\n}").error, "");
    EXPECT_EQ(CheckText(begin + minus + "  return %a, %d, %s\n}").error, "");
  }
  // The window after the rows.
  EXPECT_EQ(
      CheckText("graph @after(%a: f32[2,8,4]) {\n" + sum + minus +
                "  %w = reduce_window(%d) {kind=\"maximum\", window=[1,1,1], strides=[1,1,2], "
                "pad_low=[0,0,0], pad_high=[0,0,0], dilation=[1,1,1]} : f32[2,8,2]\n"
                "  return %w\n}")
          .error,
      "");
}

TEST(Fusion, Embedding_IsOneKernel) {
  const Outcome outcome = CheckText(R"(
graph @embed(%ids: i64[2,9], %wte: parameter f32[50,64], %wpe: parameter f32[16,64]) {
  %t = gather(%wte, %ids) {collapsed_dims=[0], index_vector_dim=2, offset_dims=[2], slice_sizes=[1,64], start_index_map=[0]} : f32[2,9,64]
  %p = slice(%wpe) {limit=[9,64], start=[0,0], stride=[1,1]} : f32[9,64]
  %pb = broadcast_in_dim(%p) {dims=[1,2]} : f32[2,9,64]
  %x = add(%t, %pb) : f32[2,9,64]
  %s = reduce(%x) {dims=[2], kind="add"} : f32[2,9]
  %sb = broadcast_in_dim(%s) {dims=[0,1]} : f32[2,9,64]
  %y = subtract(%x, %sb) : f32[2,9,64]
  return %x, %y
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact).size(), 1U);
}

TEST(Fusion, ScaledRowsOfAReductionAsARightOperand_AreInMemory) {
  const Outcome outcome = CheckText(R"(
graph @scaled(%a: f32[32,4], %x: f32[4,64], %y: f32[4,64]) {
  %s = reduce(%x) {dims=[1], kind="add"} : f32[4]
  %sb = broadcast_in_dim(%s) {dims=[0]} : f32[4,64]
  %p = multiply(%x, %sb) : f32[4,64]
  %q = add(%p, %y) : f32[4,64]
  %e = erf(%q) : f32[4,64]
  %f = add(%e, %y) : f32[4,64]
  %z = multiply(%y, %f) : f32[4,64]
  %o = dot_general(%a, %z) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[32,64]
  return %o
})");
  EXPECT_EQ(outcome.error, "");
}

}  // namespace
}  // namespace stoker::test
