#include "runtime/cpu/memory/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/temp_folder.h"

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

class RegionOfFile : public testing::Test {
 protected:
  // A file of the bytes 0, 1, ... 250, 0, ... mapped.
  Region Map(std::int64_t bytes) const {
    std::string content(static_cast<std::size_t>(bytes), '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = ByteAt(i);
    const int file = open(folder_.Write("file", content).c_str(), O_RDONLY | O_CLOEXEC);
    Region region = Region::MapFile(file, bytes).value();
    close(file);
    return region;
  }
  static char ByteAt(std::size_t i) { return static_cast<char>(i % 251); }
  static bool HasItsBytes(const Region& region) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(region.size()); ++i) {
      if (static_cast<char>(region.data()[i]) != ByteAt(i)) return false;
    }
    return true;
  }

  TempFolder folder_;
};

TEST_F(RegionOfFile, HasTheFilesBytes_BeforeAndAfterItLeaves) {
  for (const std::int64_t bytes : {1, 5000, 2 << 20, (32 << 20) + 1, 70 << 20}) {
    const Region region = Map(bytes);
    const std::byte* const data = region.data();
    EXPECT_EQ(region.size(), bytes);
    EXPECT_TRUE(HasItsBytes(region)) << bytes;
    EXPECT_TRUE(region.LeaveFile([] { return true; }));
    EXPECT_EQ(region.data(), data);
    EXPECT_TRUE(HasItsBytes(region)) << bytes;
  }
}

TEST_F(RegionOfFile, LeaveFile_StoppedBetweenPieces_HasItsBytes) {
  const Region region = Map(70 << 20);
  int asked = 0;
  EXPECT_FALSE(region.LeaveFile([&] { return ++asked < 3; }));
  EXPECT_TRUE(HasItsBytes(region));
}

TEST_F(RegionOfFile, LeaveFile_WhileOthersRead_TheyReadTheSameBytes) {
  const Region region = Map(70 << 20);
  std::atomic<bool> has_left{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      do {
        wrong += HasItsBytes(region) ? 0 : 1;
      } while (!has_left);
    });
  }
  EXPECT_TRUE(region.LeaveFile([] { return true; }));
  has_left = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
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
