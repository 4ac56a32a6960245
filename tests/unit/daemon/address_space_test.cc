#include "daemon/limits/address_space.h"

#include <gmock/gmock.h>

namespace stoker {
namespace {

TEST(AddressSpace, TooLittle_NamesLimitAndNeed) {
  EXPECT_TRUE(CheckAddressSpace(RLIM_INFINITY).ok());
  EXPECT_TRUE(CheckAddressSpace(rlim_t{1} << 30).ok());
  EXPECT_EQ(
      CheckAddressSpace(rlim_t{200000} << 10).error().message,
      "The limit of virtual memory (ulimit -v) is 200000 KiB; at least 1048576 KiB are needed.");
}

}  // namespace
}  // namespace stoker
