// What is said where a piece is missing.
#include "runtime/cuda/driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/cuda/test_launches.h"

namespace stoker::cuda {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using DriverTest = FakeDriverTest;

TEST_F(DriverTest, Load_NoLibrary_Unavailable) {
  const auto driver = Driver::Load("libno_such_cuda.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(driver.error().message,
              StartsWith("There is no CUDA driver: libno_such_cuda.so.1: "));
}

TEST_F(DriverTest, Load_OldDriver_NamesBothVersions) {
  Fake().set_version(11010);
  const auto driver = Driver::Load(STOKER_FAKE_CUDA);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(driver.error().message,
            "The CUDA driver is of CUDA 11.1; kernels need one of CUDA 11.2 or newer.");
}

TEST_F(DriverTest, Load_OtherLibrary_NamesWhatItLacks) {
  const auto driver = Driver::Load("libm.so.6");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(driver.error().message, "libm.so.6 is no CUDA driver: it has no cuInit.");
}

TEST_F(DriverTest, Load_NoGpu_Unavailable) {
  Fake().set_devices(0);
  const auto driver = Driver::Load(STOKER_FAKE_CUDA);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(driver.error().message, "The CUDA driver finds no GPU.");
}

TEST_F(DriverTest, Load_InitFails_UnavailableWithTheDriversName) {
  Fake().fail("cuInit", 201);
  const auto driver = Driver::Load(STOKER_FAKE_CUDA);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(driver.error().message, "cuInit: CUDA_ERROR_INVALID_CONTEXT.");
}

TEST_F(DriverTest, Check_Errors_HaveNameAndText) {
  const auto driver = Driver::Load(STOKER_FAKE_CUDA).value();
  EXPECT_TRUE(driver->Check(0, "x").ok());
  EXPECT_EQ(driver->Check(2, "x").error().message, "x: CUDA_ERROR_OUT_OF_MEMORY (out of memory).");
  EXPECT_EQ(driver->Check(2, "x").error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(driver->Check(12345, "x").error().message, "x: CUDA error 12345.");
  EXPECT_EQ(driver->Check(12345, "x").error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace stoker::cuda
