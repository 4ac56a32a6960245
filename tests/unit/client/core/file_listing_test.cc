#include "client/core/file_listing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

class FileListing : public testing::Test {
 protected:
  FileListing() {
    fs::create_directories(folder_.path() + "/inner/deep");
    fs::create_directories(folder_.path() + "/left");
    folder_.Write("b.py", "b");
    folder_.Write("a.cc", "a");
    folder_.Write("inner/deep/c.py", "ccc");
    folder_.Write("inner/left.py", "");
    folder_.Write("left/d.py", "d");
  }

  std::string List() const { return ListFiles(folder_.path(), ".py", {"left"}); }
  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (std::string rest = List(); !rest.empty(); rest.erase(0, rest.find('\n') + 1)) {
      paths.push_back(rest.substr(0, rest.find(' ')));
    }
    return paths;
  }

  TempFolder folder_;
};

TEST_F(FileListing, NamesFilesWithTheSuffix_Sorted) {
  EXPECT_EQ(Paths(), (std::vector<std::string>{"b.py", "inner/deep/c.py", "inner/left.py"}));
}

TEST_F(FileListing, ALineIsWhatTheSystemKnows) {
  struct stat status {};
  ASSERT_EQ(stat((folder_.path() + "/inner/deep/c.py").c_str(), &status), 0);
  const std::string line = "\ninner/deep/c.py 3 " + std::to_string(status.st_mtim.tv_sec);
  EXPECT_NE(List().find(line), std::string::npos) << List();
  EXPECT_NE(List().find(" " + std::to_string(status.st_ino) + "\n"), std::string::npos);
}

TEST_F(FileListing, EveryChangeIsSeen) {
  const std::string before = List();
  EXPECT_EQ(List(), before);
  folder_.Write("inner/deep/c.py", "ddd");
  EXPECT_NE(List(), before);
}

TEST_F(FileListing, FollowsLinks_AndComesBackFromLoops) {
  TempFolder other;
  other.Write("e.py", "e");
  fs::create_symlink(other.path(), folder_.path() + "/linked");
  fs::create_symlink(folder_.path() + "/b.py", folder_.path() + "/z.py");
  fs::create_symlink(folder_.path() + "/gone", folder_.path() + "/gone.py");
  EXPECT_EQ(Paths(), (std::vector<std::string>{"b.py", "inner/deep/c.py", "inner/left.py",
                                               "linked/e.py", "z.py"}));
  fs::create_symlink(folder_.path(), folder_.path() + "/inner/loop");
  EXPECT_GE(Paths().size(), 5U);
}

TEST_F(FileListing, NoFolderHasNoFiles) {
  EXPECT_EQ(ListFiles(folder_.path() + "/nowhere", ".py", {}), "");
}

}  // namespace
}  // namespace stoker
