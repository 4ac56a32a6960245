#include "daemon/folder_claim.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(FolderClaim, Take_Held_NamesTheHolderAtOnce) {
  TempFolder folder;
  const auto first = FolderClaim::Take(folder.path(), 0ms);
  ASSERT_TRUE(first.ok());
  const auto second = FolderClaim::Take(folder.path(), 1h);  // Not that long: it serves.
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(getpid()) + "."));
}

TEST(FolderClaim, Take_HolderDrains_WaitsForItsEnd) {
  TempFolder folder;
  auto first = FolderClaim::Take(folder.path(), 0ms);
  ASSERT_TRUE(first.ok());
  (*first)->SayDraining();
  Result<std::unique_ptr<FolderClaim>> second = Unavailable("");
  std::thread next([&] { second = FolderClaim::Take(folder.path(), 1h); });
  first->reset();
  next.join();
  EXPECT_TRUE(second.ok());
}

TEST(FolderClaim, Take_HolderDrainsForTooLong_SaysSo) {
  TempFolder folder;
  const auto first = FolderClaim::Take(folder.path(), 0ms);
  ASSERT_TRUE(first.ok());
  (*first)->SayDraining();
  const auto second = FolderClaim::Take(folder.path(), 1ms);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("still draining"));
}

TEST(FolderClaim, Take_LeftByADeadProcess_Succeeds) {
  TempFolder folder;
  folder.Write("stokerd.lock", "1 serving\n");
  EXPECT_TRUE(FolderClaim::Take(folder.path(), 0ms).ok());
}

TEST(FolderClaim, Take_NoFolder_Fails) {
  EXPECT_EQ(FolderClaim::Take("/nonexistent", 0ms).error().code, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace stoker
