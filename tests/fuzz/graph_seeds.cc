#include "tests/fuzz/graph_seeds.h"

namespace stoker::fuzz {

std::vector<std::string> GraphTexts() {
  return {
      R"(graph @mlp(%0: f32[s0,8], %1: parameter f32[8,16], %2: parameter f32[16]) {
  %3 = dot_general(%0, %1) {lhs_batch=[], rhs_batch=[], lhs_contract=[1], rhs_contract=[0]} : f32[s0,16]
  %4 = broadcast_in_dim(%2) {dims=[1]} : f32[s0,16]
  %5 = add(%3, %4) : f32[s0,16]
  %6 = constant() value(0.5) : f32[s0,16]
  %7 = multiply(%5, %6) : f32[s0,16]
  %8, %9 = top_k(%7) {k=3, largest=true} : f32[s0,3], i64[s0,3]
  return %7, %8
}
)",
      R"(graph @"two words"(%x: bf16[2,3], %w: parameter bf16[3]) {  # a comment
  %c = constant() value([1, -2, 3]) : i64[3]
  %h = constant() bytes("0000803f") : f32[1]
  %n = constant() value(nan) : f32[]
  %s = slice(%w) {start=[0], limit=[2], stride=[1]} : bf16[2]
  %t = transpose(%x) {dims=[1,0]} : bf16[3,2]
  return %t, %s, %c, %h, %n
}
)",
      R"(graph @attend(%0: f32[s0,4,s1,16], %1: f32[s0,4,s1,16], %2: f32[s0,4,s1,16]) {
  %3 = attention(%0, %1, %2) {scale=0.25, causal=true} : f32[s0,4,s1,16]
  %4 = reduce(%3) {dims=[3], kind="maximum"} : f32[s0,4,s1]
  %5 = reshape(%4) : f32[s0,4*s1]
  return %5
}
)",
      R"(graph @loops(%0: f32[s0,4], %1: f32[5,4]) {
  %2 = while(%0) {condition=graph @c(%0: f32[s0,4]) {
    %1 = reduce(%0) {dims=[0,1], kind="maximum"} : f32[]
    %2 = is_finite(%1) : bool[]
    return %2
  }, body=graph @b(%0: f32[s0,4]) {
    %1 = add(%0, %0) : f32[s0,4]
    return %1
  }} : f32[s0,4]
  %3 = reduce(%2) {dims=[0], kind="add"} : f32[4]
  %4, %5 = scan(%3, %1) {body=graph @s(%0: f32[4], %1: f32[4]) {
    %2 = add(%0, %1) : f32[4]
    return %2, %0
  }, carried=1, scanned=1} : f32[4], f32[5,4]
  return %4, %5
}
)",
      R"(graph @update(%0: f32[s0,4], %1: f32[4], %2: f32[s0,4]) {
  %3 = add(%0, %2) : f32[s0,4]
  %4 = negate(%1) : f32[4]
  return %3 updates %2, %4 updates %1, %3
}
)",
      R"(graph @draw(%0: i64[2], %1: f32[s0]) {
  %2, %3 = rng_bit_generator(%0) {algorithm="PHILOX"} : i64[2], i32[s0,4]
  %4, %5 = rng_bit_generator(%2) {algorithm="PHILOX"} : i64[2], i64[s0]
  return %3, %4, %5, %1
}
)",
  };
}

}  // namespace stoker::fuzz
