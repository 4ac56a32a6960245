// What nvJitLink says of damaged PTX.
#include "compiler/codegen/nvptx/nv_jit_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stoker::codegen {
namespace {

TEST(AssemblePtxTest, Assemble_DamagedPtx_GivesTheLog) {
  const auto cubin =
      AssemblePtx(".version 8.0\n.target sm_90a\n.address_size 64\nnonsense\n", "sm_90a");
  ASSERT_FALSE(cubin.ok());
  if (cubin.error().code == ErrorCode::kFailedPrecondition) GTEST_SKIP() << cubin.error().message;
  EXPECT_EQ(cubin.error().code, ErrorCode::kInternal);
  EXPECT_THAT(cubin.error().message, testing::StartsWith("nvJitLink, "));
  EXPECT_THAT(cubin.error().message, testing::HasSubstr("nonsense"));
}

}  // namespace
}  // namespace stoker::codegen
