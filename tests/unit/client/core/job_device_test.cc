// On a machine that may have a GPU or none.
#include "client/core/execution/job_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stoker {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(JobDevice, Named_Cpu_IsMadeOnce) {
  const auto first = JobDevice::Named("cpu");
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ((*first)->name(), "cpu");
  EXPECT_EQ((*first)->device().target(), Target::Host().value());
  EXPECT_EQ(JobDevice::Named("cpu").value(), *first);
}

TEST(JobDevice, Named_NoDevice_IsInvalid) {
  for (const char* name : {"", "cuda", "cuda:", "cuda:-1", "cuda:01", "cuda:1x", "cuda:99999999999",
                           "cpu:0", "xpu:0"}) {
    const auto device = JobDevice::Named(name);
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_EQ(device.error().code, ErrorCode::kInvalidArgument) << name;
    EXPECT_THAT(device.error().message, HasSubstr("'" + std::string(name) + "'"));
  }
}

TEST(JobDevice, Named_GpuThatIsNotThere_SaysWhy) {
  const auto device = JobDevice::Named("cuda:4096");
  ASSERT_FALSE(device.ok());
  EXPECT_THAT(device.error().message,
              AnyOf(HasSubstr("no CUDA driver"), HasSubstr("CUDA driver finds no GPU"),
                    HasSubstr("no GPU 4096"), HasSubstr("CUDA driver is of")));
}

TEST(JobDevice, CallQueue_Cpu_CopiesAtOnce) {
  CallQueue queue(*JobDevice::Named("cpu").value(), nullptr);
  const std::string from = "weights";
  std::string to(from.size(), ' ');
  ASSERT_TRUE(queue
                  ->Copy(reinterpret_cast<std::byte*>(to.data()),
                         reinterpret_cast<const std::byte*>(from.data()), from.size())
                  .ok());
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace stoker
