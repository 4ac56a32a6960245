// What Compile does with targets that it cannot make whole artifacts for.
#include "compiler/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/graph/graph.h"

namespace stoker {
namespace {

Error ErrorOf(const char* graph, const char* target) {
  const CompileRequest request{
      ParseGraph(graph).value(), {}, Target::Parse(target).value(), {}, CompilerEpoch()};
  const auto output = Compile(request, {});
  EXPECT_FALSE(output.ok());
  return output.ok() ? Error{} : output.error();
}

constexpr char kPointwise[] = R"(graph @g(%x: f32[8,16]) {
  %1 = tanh(%x) : f32[8,16]
  return %1
})";
constexpr char kProduct[] = R"(graph @g(%x: f32[8,16], %y: f32[16,4]) {
  %1 = dot_general(%x, %y) {lhs_batch=[], lhs_contract=[1], rhs_batch=[], rhs_contract=[0]} : f32[8,4]
  return %1
})";

TEST(CompileTest, Compile_PointwiseForCuda_LaunchPlanIsUnimplemented) {
  const Error error = ErrorOf(kPointwise, "cuda/sm_90a");
  EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_EQ(error.message,
            "A launch plan has launches of CPU kernels only; its target is cuda/sm_90a.");
}

TEST(CompileTest, Compile_ProductForCuda_ScheduleIsUnimplemented) {
  const Error error = ErrorOf(kProduct, "cuda/sm_90a");
  EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_THAT(error.message, testing::HasSubstr("There is no CUDA schedule for a "));
}

TEST(CompileTest, Compile_UnknownGpu_IsRefusedByName) {
  const Error error = ErrorOf(kPointwise, "cuda/sm_75");
  EXPECT_EQ(error.code, ErrorCode::kUnimplemented);
  EXPECT_THAT(error.message, testing::HasSubstr("GPU architecture sm_75"));
}

}  // namespace
}  // namespace stoker
