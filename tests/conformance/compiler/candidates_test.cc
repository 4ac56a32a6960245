// Every schedule that could be chosen computes the same as the default one, within the contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/compiler/harness.h"

namespace stoker::test {
namespace {

TEST(Candidates, Loops_EverySchedule_ComputesTheSame) {
  const Outcome pointwise = CheckCandidates(R"(
graph @gelu(%x: f32[33,700], %b: f32[700]) {
  %1 = broadcast_in_dim(%b) {dims=[1]} : f32[33,700]
  %2 = add(%x, %1) : f32[33,700]
  %3 = tanh(%2) : f32[33,700]
  return %3
})");
  EXPECT_EQ(pointwise.error, "");
  EXPECT_GE(pointwise.schedules, 2U);
  const Outcome softmax = CheckCandidates(R"(
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
  EXPECT_EQ(softmax.error, "");
  EXPECT_GE(softmax.schedules, 1U);
  const Outcome columns = CheckCandidates(R"(
graph @sum(%x: f32[100,300]) {
  %0 = reduce(%x) {dims=[0], kind="add"} : f32[300]
  return %0
})");
  EXPECT_EQ(columns.error, "");
  EXPECT_GE(columns.schedules, 2U);
}

TEST(Candidates, MatrixProducts_EverySchedule_ComputesTheSame) {
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* sizes : {"70 1100 97", "9 64 33"}) {
      std::string text = R"(
graph @product(%x: T[M,K], %w: parameter T[K,N]) {
  %0 = dot_general(%x, %w) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : T[M,N]
  return %0
})";
      const std::string list = sizes;
      const std::size_t first = list.find(' ');
      const std::size_t second = list.rfind(' ');
      const std::pair<char, std::string> replacements[] = {
          {'T', dtype},
          {'M', list.substr(0, first)},
          {'K', list.substr(first + 1, second - first - 1)},
          {'N', list.substr(second + 1)}};
      for (const auto& [letter, value] : replacements) {
        for (std::size_t at; (at = text.find(letter)) != std::string::npos;) {
          text.replace(at, 1, value);
        }
      }
      const Outcome outcome = CheckCandidates(text);
      EXPECT_EQ(outcome.error, "");
      EXPECT_GE(outcome.schedules, 2U);
    }
  }
}

TEST(Candidates, Convolution_EverySchedule_ComputesTheSame) {
  const Outcome outcome = CheckCandidates(R"(
graph @convolution(%x: f32[2,32,9,9], %w: parameter f32[48,32,3,3]) {
  %0 = convolution(%x, %w) {strides=[1,1], pad_low=[1,1], pad_high=[1,1], dilation=[1,1], lhs_dilation=[1,1], groups=1} : f32[2,48,9,9]
  return %0
})");
  EXPECT_EQ(outcome.error, "");
  EXPECT_GE(outcome.schedules, 2U);
}

TEST(Candidates, Attention_EverySchedule_ComputesTheSame) {
  for (const std::string dtype : {"f32", "bf16"}) {
    std::string text = R"(
graph @attention(%q: T[1,2,40,32], %k: T[1,2,300,32], %v: T[1,2,300,32]) {
  %0 = attention(%q, %k, %v) {causal=false, scale=0.25} : T[1,2,40,32]
  return %0
})";
    for (std::size_t at; (at = text.find('T')) != std::string::npos;) text.replace(at, 1, dtype);
    const Outcome outcome = CheckCandidates(text);
    EXPECT_EQ(outcome.error, "");
    EXPECT_GE(outcome.schedules, 1U);
  }
}

}  // namespace
}  // namespace stoker::test
