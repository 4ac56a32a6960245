// Matrix products, convolutions and attention with what surrounds them in models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

TEST(Contraction, MatmulBiasGeluResidual_IsOneKernel) {
  for (const char* dtype : {"f32", "bf16"}) {
    std::string text = R"(
graph @mlp(%x: T[19,40], %w: parameter T[40,70], %b: parameter T[70], %r: T[19,70]) {
  %0 = dot_general(%x, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : T[19,70]
  %1 = broadcast_in_dim(%b) {dims=[1]} : T[19,70]
  %2 = add(%0, %1) : T[19,70]
  %3 = tanh(%2) : T[19,70]
  %4 = add(%3, %r) : T[19,70]
  return %4
})";
    for (std::size_t at; (at = text.find("T[")) != std::string::npos;) {
      text.replace(at, 1, dtype);
    }
    const Outcome outcome = CheckText(text);
    EXPECT_EQ(outcome.error, "") << dtype;
    EXPECT_EQ(LabelsOf(outcome.artifact).size(), 1U);
  }
}

TEST(Contraction, TransposedWeightOfThreeDims_ReadsInPlace) {
  const Outcome outcome = CheckText(R"(
graph @linear(%x: f32[2,19,40], %w: parameter f32[70,40], %p: f32[19,70]) {
  %t = transpose(%w) {dims=[1,0]} : f32[40,70]
  %f = reshape(%x) : f32[38,40]
  %0 = dot_general(%f, %t) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[38,70]
  %1 = reshape(%0) : f32[2,19,70]
  %2 = broadcast_in_dim(%p) {dims=[1,2]} : f32[2,19,70]
  %3 = add(%1, %2) : f32[2,19,70]
  return %3
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact).size(), 1U);
}

TEST(Contraction, BatchedHeads) {
  const Outcome outcome = CheckText(R"(
graph @scores(%q: f32[2,9,24], %k: f32[2,9,24]) {
  %q1 = reshape(%q) : f32[2,9,3,8]
  %q2 = transpose(%q1) {dims=[0,2,1,3]} : f32[2,3,9,8]
  %k1 = reshape(%k) : f32[2,9,3,8]
  %k2 = transpose(%k1) {dims=[0,2,3,1]} : f32[2,3,8,9]
  %s = dot_general(%q2, %k2) {lhs_batch=[0,1], lhs_contract=[3], rhs_batch=[0,1], rhs_contract=[2]} : f32[2,3,9,9]
  %c = constant() value(0.5) : f32[2,3,9,9]
  %m = multiply(%s, %c) : f32[2,3,9,9]
  return %m
})");
  EXPECT_EQ(outcome.error, "");
}

TEST(Contraction, SiblingsOfAttention_AreOneMatmul) {
  const Outcome outcome = CheckText(R"(
graph @qkv(%x: f32[1,9,64], %wq: parameter f32[64,64], %wk: parameter f32[64,64], %wv: parameter f32[64,64], %bq: parameter f32[64], %bv: parameter f32[64]) {
  %q = dot_general(%x, %wq) {lhs_batch=[], lhs_contract=[2], rhs_batch=[], rhs_contract=[1]} : f32[1,9,64]
  %k = dot_general(%x, %wk) {lhs_batch=[], lhs_contract=[2], rhs_batch=[], rhs_contract=[1]} : f32[1,9,64]
  %v = dot_general(%x, %wv) {lhs_batch=[], lhs_contract=[2], rhs_batch=[], rhs_contract=[1]} : f32[1,9,64]
  %bqb = broadcast_in_dim(%bq) {dims=[2]} : f32[1,9,64]
  %bvb = broadcast_in_dim(%bv) {dims=[2]} : f32[1,9,64]
  %q0 = add(%q, %bqb) : f32[1,9,64]
  %v0 = add(%v, %bvb) : f32[1,9,64]
  %q1 = reshape(%q0) : f32[1,9,4,16]
  %k1 = reshape(%k) : f32[1,9,4,16]
  %v1 = reshape(%v0) : f32[1,9,4,16]
  %q2 = transpose(%q1) {dims=[0,2,1,3]} : f32[1,4,9,16]
  %k2 = transpose(%k1) {dims=[0,2,1,3]} : f32[1,4,9,16]
  %v2 = transpose(%v1) {dims=[0,2,1,3]} : f32[1,4,9,16]
  %a = attention(%q2, %k2, %v2) {scale=0.25, causal=true} : f32[1,4,9,16]
  %t = transpose(%a) {dims=[0,2,1,3]} : f32[1,9,4,16]
  %o = reshape(%t) : f32[1,9,64]
  %y = dot_general(%o, %wq) {lhs_batch=[], lhs_contract=[2], rhs_batch=[], rhs_contract=[1]} : f32[1,9,64]
  return %y
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact).size(), 3U);
}

TEST(Contraction, SumOfSmallProducts_IsOneProduct) {
  const Outcome outcome = CheckText(R"(
graph @gradient(%g0: f32[4,64], %g1: f32[4,64], %g2: f32[6,64], %x0: f32[4,40], %x1: f32[4,40], %x2: f32[6,40], %last: f32[64,40]) {
  %t0 = transpose(%g0) {dims=[1,0]} : f32[64,4]
  %t1 = transpose(%g1) {dims=[1,0]} : f32[64,4]
  %0 = dot_general(%t0, %x0) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[64,40]
  %1 = dot_general(%t1, %x1) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[64,40]
  %2 = dot_general(%g2, %x2) {lhs_batch=[], lhs_contract=[0], rhs_batch=[], rhs_contract=[0]} : f32[64,40]
  %3 = add(%0, %1) : f32[64,40]
  %4 = add(%3, %last) : f32[64,40]
  %5 = add(%4, %2) : f32[64,40]
  return %5
})");
  EXPECT_EQ(outcome.error, "");
  const std::vector<std::string> labels = LabelsOf(outcome.artifact);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "matmul+add 64x40x14"), 1);
}

// The first step of a recurrence whose state is a parameter: its product is prepared, the others
// not.
TEST(Contraction, MatrixOfAPreparedProductAndOfOthers_IsPackedOnce) {
  const Outcome outcome = CheckText(R"(
graph @steps(%x: f32[2,8,64], %h: parameter f32[8,64], %w: parameter f32[64,64]) {
  %p0 = dot_general(%h, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[1]} : f32[8,64]
  %s0 = slice(%x) {start=[0,0,0], limit=[1,8,64], stride=[1,1,1]} : f32[1,8,64]
  %x0 = reshape(%s0) : f32[8,64]
  %a0 = add(%p0, %x0) : f32[8,64]
  %h0 = tanh(%a0) : f32[8,64]
  %p1 = dot_general(%h0, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[1]} : f32[8,64]
  %s1 = slice(%x) {start=[1,0,0], limit=[2,8,64], stride=[1,1,1]} : f32[1,8,64]
  %x1 = reshape(%s1) : f32[8,64]
  %a1 = add(%p1, %x1) : f32[8,64]
  %h1 = tanh(%a1) : f32[8,64]
  return %h1
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.artifact.plan.prepare.size(), 2U);  // Packing, and the first product.
}

TEST(Contraction, WindowOfOneColumnAndChannel) {
  for (const char* dtype : {"f32", "bf16"}) {
    std::string text = R"(
graph @lines(%0: T[2,1,5,5], %1: parameter T[1,1,2,1]) {
  %2 = convolution(%0, %1) {strides=[2,1], pad_low=[1,0], pad_high=[0,2], dilation=[1,1], lhs_dilation=[1,1], groups=1} : T[2,1,3,7]
  return %2
})";
    for (std::size_t at; (at = text.find("T[")) != std::string::npos;) {
      text.replace(at, 1, dtype);
    }
    EXPECT_EQ(CheckText(text).error, "") << dtype;
  }
}

TEST(Contraction, ConvolutionBatchNormReluTwice_IsTwoKernelsAndACopy) {
  const Outcome outcome = CheckText(R"(
graph @block(%x: f32[2,8,9,9], %w1: parameter f32[16,8,3,3], %w2: parameter f32[16,16,3,3], %m: parameter f32[16], %v: parameter f32[16], %g: parameter f32[16], %b: parameter f32[16]) {
  %c1 = convolution(%x, %w1) {strides=[2,2], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[2,16,5,5]
  %v2 = multiply(%v, %v) : f32[16]
  %e = constant() value(0.01) : f32[16]
  %ve = add(%v2, %e) : f32[16]
  %s = rsqrt(%ve) : f32[16]
  %mb = broadcast_in_dim(%m) {dims=[1]} : f32[2,16,5,5]
  %sb = broadcast_in_dim(%s) {dims=[1]} : f32[2,16,5,5]
  %gb = broadcast_in_dim(%g) {dims=[1]} : f32[2,16,5,5]
  %bb = broadcast_in_dim(%b) {dims=[1]} : f32[2,16,5,5]
  %d = subtract(%c1, %mb) : f32[2,16,5,5]
  %n = multiply(%d, %sb) : f32[2,16,5,5]
  %n2 = multiply(%n, %gb) : f32[2,16,5,5]
  %n3 = add(%n2, %bb) : f32[2,16,5,5]
  %z = constant() value(0) : f32[2,16,5,5]
  %r = maximum(%n3, %z) : f32[2,16,5,5]
  %c2 = convolution(%r, %w2) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[2,16,5,5]
  %a = add(%c2, %r) : f32[2,16,5,5]
  %p = reduce(%a) {dims=[2,3], kind="add"} : f32[2,16]
  return %p
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(LabelsOf(outcome.artifact).size(), 4U);
}

}  // namespace
}  // namespace stoker::test
