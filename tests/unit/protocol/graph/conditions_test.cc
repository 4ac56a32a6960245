#include "protocol/graph/build/conditions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stoker {
namespace {

struct Row {
  std::string name;
  std::string graph;
  std::vector<std::string> conditions;
};

class ConditionsRow : public testing::TestWithParam<Row> {};

TEST_P(ConditionsRow, ConditionsOf_Graph_WhatVerifyingLeftOpen) {
  const auto graph = ParseGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<std::string> found;
  for (const SymDim& condition : ConditionsOf(*graph)) found.push_back(condition.ToString());
  EXPECT_EQ(found, GetParam().conditions);
}

INSTANTIATE_TEST_SUITE_P(Table, ConditionsRow,
                         testing::Values(Row{"Static",
                                             R"(graph @g(%x: f32[8]) {
              %1 = slice(%x) {start=[1], limit=[4], stride=[1]} : f32[3]
              return %1 })",
                                             {}},
                                         Row{"Decided",
                                             R"(graph @g(%x: f32[s0+4], %y: f32[s0]) {
              %1 = slice(%x) {start=[4], limit=[s0+4], stride=[1]} : f32[s0]
              %2 = add(%1, %y) : f32[s0]
              return %2 })",
                                             {}},
                                         Row{"FloorDiv",
                                             R"(graph @g(%x: f32[s0]) {
              %1 = slice(%x) {start=[0], limit=[floordiv(s0,2)], stride=[1]} : f32[floordiv(s0,2)]
              return %1 })",
                                             {"s0-floordiv(s0,2)"}},
                                         Row{"Limit",
                                             R"(graph @g(%x: f32[s0]) {
              %1 = slice(%x) {start=[0], limit=[10], stride=[1]} : f32[10]
              return %1 })",
                                             {"s0-10"}},
                                         Row{"StartAndLimit",
                                             R"(graph @g(%x: f32[s0], %y: f32[s1]) {
              %1 = slice(%x) {start=[s1-2], limit=[s0-1], stride=[1]} : f32[s0-s1+1]
              %2 = slice(%x) {start=[s1-2], limit=[s0-1], stride=[1]} : f32[s0-s1+1]
              %3 = add(%1, %2) : f32[s0-s1+1]
              return %3, %y })",
                                             {"s1-2", "s0-s1+1"}},
                                         Row{"CroppingPad",
                                             R"(graph @g(%x: f32[s0], %v: f32[]) {
              %1 = pad(%x, %v) {low=[-3], high=[0], interior=[0]} : f32[s0-3]
              return %1 })",
                                             {"s0-3"}},
                                         Row{"Window",
                                             R"(graph @g(%x: f32[s0]) {
              %1 = reduce_window(%x) {kind="add", strides=[1], pad_low=[0], pad_high=[0], dilation=[1], window=[3]} : f32[s0-2]
              return %1 })",
                                             {"s0-2"}},
                                         Row{"TopK",
                                             R"(graph @g(%x: f32[2,s0]) {
              %1, %2 = top_k(%x) {k=5, largest=true} : f32[2,5], i64[2,5]
              return %1, %2 })",
                                             {"s0-5"}},
                                         Row{"ArgReduce",
                                             R"(graph @g(%x: f32[2,s0]) {
              %1 = arg_reduce(%x) {dim=1, kind="maximum"} : i64[2]
              return %1 })",
                                             {"s0-1"}},
                                         Row{"DynamicSlice",
                                             R"(graph @g(%x: f32[s0], %at: i64[]) {
              %1 = dynamic_slice(%x, %at) {slice_sizes=[4]} : f32[4]
              return %1 })",
                                             {"s0-4"}},
                                         Row{"DynamicUpdateSlice",
                                             R"(graph @g(%x: f32[s0], %y: f32[s1], %at: i64[]) {
              %1 = dynamic_update_slice(%x, %y, %at) : f32[s0]
              return %1 })",
                                             {"s0-s1"}},
                                         Row{"Gather",
                                             R"(graph @g(%x: f32[s0,8], %i: i64[5,1]) {
              %1 = gather(%x, %i) {offset_dims=[1,2], collapsed_dims=[], start_index_map=[0], index_vector_dim=1, slice_sizes=[2,8]} : f32[5,2,8]
              return %1 })",
                                             {"s0-2"}},
                                         Row{"Scatter",
                                             R"(graph @g(%x: f32[s0], %i: i64[3,1], %u: f32[3,2]) {
              %1 = scatter(%x, %i, %u) {kind="add", index_vector_dim=1, update_window_dims=[1], inserted_window_dims=[], scatter_dims=[0]} : f32[s0]
              return %1 })",
                                             {"s0-2"}}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace stoker
