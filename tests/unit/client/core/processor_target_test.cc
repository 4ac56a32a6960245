#include "client/core/settings/processor_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/cpu/device.h"

namespace stoker {
namespace {

using testing::HasSubstr;

class NamedProcessorTargetTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("STOKER_TARGET"); }

  static Result<std::optional<Target>> Named(const char* text) {
    setenv("STOKER_TARGET", text, 1);
    return NamedProcessorTarget();
  }
};

TEST_F(NamedProcessorTargetTest, Unset_NamesNone) {
  EXPECT_FALSE(NamedProcessorTarget().value().has_value());
  EXPECT_FALSE(Named("").value().has_value());
}

TEST_F(NamedProcessorTargetTest, Target_IsNamed) {
  EXPECT_EQ(Named("cpu/x86-64-v4+avx512_bf16").value()->ToString(), "cpu/x86-64-v4+avx512_bf16");
}

TEST_F(NamedProcessorTargetTest, NoProcessor_IsInvalidAndSaid) {
  for (const char* text : {"avx2", "cpu/haswell", "cpu/x86-64-v3+avx9", "cuda/sm_90a"}) {
    const auto target = Named(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(target.error().message, HasSubstr("STOKER_TARGET"));
    EXPECT_THAT(target.error().message, HasSubstr(text));
  }
}

TEST(CpuDeviceTest, ForATarget_RunsCodeForItAlone) {
  const Target least = Target::Parse("cpu/x86-64-v3").value();
  const auto device = cpu::Device::Create(least);
  ASSERT_TRUE(device.ok()) << device.error().message;
  EXPECT_EQ((*device)->target(), least);
}

TEST(CpuDeviceTest, ForMoreThanTheProcessorHas_SaysWhatIsMissing) {
  const Target all =
      Target::Parse("cpu/x86-64-v4+amx_bf16+amx_int8+avx512_bf16+avx512_fp16+avx512_vnni+avx_vnni")
          .value();
  if (all.CheckRunsOn(Target::Host().value()).ok()) GTEST_SKIP() << "This processor has all.";
  const auto device = cpu::Device::Create(all);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(device.error().message, HasSubstr(all.ToString()));
}

}  // namespace
}  // namespace stoker
