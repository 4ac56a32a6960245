#include "daemon/housekeeping/folder_claim.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
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

TEST(FolderClaim, Take_LockIsALink_IsNotFollowed) {
  TempFolder folder;
  const std::string target = folder.Write("target", "somebody's");
  std::filesystem::create_symlink(target, folder.path() + "/stokerd.lock");
  ASSERT_FALSE(FolderClaim::Take(folder.path(), 0ms).ok());
  std::string text;
  std::getline(std::ifstream(target), text);
  EXPECT_EQ(text, "somebody's");
}

TEST(FolderClaim, IsGone_OnceItsFolderOrWhatIsStoredIsNotThere) {
  TempFolder outer;
  const std::string folder = outer.path() + "/cache";
  const std::string aside = outer.path() + "/aside";
  std::filesystem::create_directories(folder + "/store");
  const auto claim = FolderClaim::Take(folder, 0ms);
  ASSERT_TRUE(claim.ok());
  EXPECT_FALSE((*claim)->IsGone());
  std::filesystem::rename(folder, aside);
  EXPECT_TRUE((*claim)->IsGone());
  std::filesystem::create_directories(folder + "/store");
  std::ofstream(folder + "/stokerd.lock") << "another one's";
  EXPECT_TRUE((*claim)->IsGone());
  std::filesystem::remove_all(folder);
  std::filesystem::rename(aside, folder);
  EXPECT_FALSE((*claim)->IsGone());
  std::filesystem::remove_all(folder + "/store");
  EXPECT_TRUE((*claim)->IsGone());
}

TEST(FolderClaim, Take_FolderThatOthersMayWriteTo_IsRefused_ThatOfTheGroupIsClosed) {
  TempFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  const auto open = FolderClaim::Take(folder.path(), 0ms);
  ASSERT_FALSE(open.ok());
  EXPECT_THAT(open.error().message, HasSubstr("may be written to by other users"));
  ASSERT_EQ(chmod(folder.path().c_str(), 0770), 0);
  EXPECT_TRUE(FolderClaim::Take(folder.path(), 0ms).ok());
  struct stat status {};
  ASSERT_EQ(stat(folder.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0750U);
}

TEST(FolderClaim, Take_FolderOfAnotherUser_IsRefused) {
  TempFolder folder;
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(chown(folder.path().c_str(), 65534, 65534), 0);
  const auto claim = FolderClaim::Take(folder.path(), 0ms);
  ASSERT_FALSE(claim.ok());
  EXPECT_THAT(claim.error().message, HasSubstr("belongs to user 65534"));
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
