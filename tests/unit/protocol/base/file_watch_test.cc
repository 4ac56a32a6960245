#include "protocol/base/host/file_watch.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

TEST(FileWatch, Changed_OncePerVersionOfAnyFile) {
  const TempFolder folder;
  FileWatch watch({folder.Write("a", "1"), folder.path() + "/b"});
  EXPECT_TRUE(watch.Changed());
  EXPECT_FALSE(watch.Changed());
  folder.Write("b", "22");
  EXPECT_TRUE(watch.Changed());
  EXPECT_FALSE(watch.Changed());
  std::filesystem::remove(folder.path() + "/b");
  EXPECT_TRUE(watch.Changed());
}

TEST(FileWatch, ChangedAndSettled_WaitsForTheSameTwice) {
  const TempFolder folder;
  const std::string path = folder.Write("a", "1");
  FileWatch watch({path});
  EXPECT_TRUE(watch.Changed());
  EXPECT_FALSE(watch.ChangedAndSettled());
  folder.Write("a", "");
  EXPECT_FALSE(watch.ChangedAndSettled());
  folder.Write("a", "22");
  EXPECT_FALSE(watch.ChangedAndSettled());
  EXPECT_TRUE(watch.ChangedAndSettled());
  EXPECT_FALSE(watch.ChangedAndSettled());
}

}  // namespace
}  // namespace stoker
