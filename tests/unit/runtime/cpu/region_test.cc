#include "runtime/cpu/region.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace stoker::cpu {
namespace {

TEST(Region_Allocate, AlignsAndGivesWritableMemory) {
  for (const std::int64_t bytes : {0, 1, 100, 1 << 20, (2 << 20) + 1, 5 << 20}) {
    const Region region = Region::Allocate(bytes).value();
    EXPECT_EQ(region.size(), bytes);
    const std::uintptr_t alignment = bytes >= 2 << 20 ? 2U << 20 : 64U;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % alignment, 0U) << bytes;
    std::memset(region.data(), 0x5a, static_cast<std::size_t>(bytes));
  }
}

TEST(Region_Allocate, MoreThanTheSystemHas_ResourceExhausted) {
  const auto region = Region::Allocate(std::int64_t{1} << 50);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(region.error().message, "The system has no 1125899906842624 bytes of memory.");
}

TEST(Region_Move, LeavesNothingBehind) {
  Region first = Region::Allocate(64).value();
  std::byte* const data = first.data();
  const Region second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT: the moved-from state is the subject.
}

}  // namespace
}  // namespace stoker::cpu
