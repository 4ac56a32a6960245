// Where NVIDIA's libraries are found.
#include "protocol/base/host/nvidia_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace stoker {
namespace {

namespace fs = std::filesystem;

class NvidiaLibrariesTest : public testing::Test {
 protected:
  NvidiaLibrariesTest() {
    std::string pattern = (fs::temp_directory_path() / "nvidia_libraries_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~NvidiaLibrariesTest() override { fs::remove_all(folder_); }

  std::string Touch(const std::string& path) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << "x";
    return (folder_ / path).string();
  }

  fs::path folder_;
};

TEST_F(NvidiaLibrariesTest, Libraries_WheelsAndToolkits_LoaderFirstThenFilesThatAreThere) {
  const std::string cu13 =
      Touch("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvJitLink.so.13");
  const std::string cu12 =
      Touch("venv/lib/python3.11/site-packages/nvidia/nvjitlink/lib/libnvJitLink.so.12");
  Touch("venv/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9");
  const std::string toolkit = Touch("cuda/lib64/libnvJitLink.so.13");
  const NvidiaFolders folders{{(folder_ / "cuda").string(), (folder_ / "absent").string()},
                              {(folder_ / "venv").string(), (folder_ / "absent").string()}};
  const char* const names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
  EXPECT_THAT(
      NvidiaLibraryPaths(folders, names),
      testing::ElementsAre("libnvJitLink.so.13", "libnvJitLink.so.12", cu13, cu12, toolkit));
}

// A variable of the environment as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
  }
  ~Variable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(NvidiaFoldersTest, OfProcess_VariablesSet_NamesThem) {
  const Variable toolkit("CUDA_HOME", "/a");
  const Variable active("VIRTUAL_ENV", "/b");
  const Variable named("STOKER_VENV", "/c");
  const NvidiaFolders folders = NvidiaFolders::OfProcess();
  EXPECT_THAT(folders.toolkits, testing::ElementsAre("/a", "/usr/local/cuda"));
  EXPECT_THAT(folders.environments, testing::ElementsAre("/b", "/c"));
}

TEST(NvidiaFoldersTest, OfProcess_NoneSet_NamesTheToolkitsOwnFolder) {
  const Variable toolkit("CUDA_HOME", nullptr);
  const Variable active("VIRTUAL_ENV", "");
  const Variable named("STOKER_VENV", nullptr);
  const NvidiaFolders folders = NvidiaFolders::OfProcess();
  EXPECT_THAT(folders.toolkits, testing::ElementsAre("/usr/local/cuda"));
  EXPECT_THAT(folders.environments, testing::IsEmpty());
}

TEST(NvidiaLibrary, LoadFirst_AbsentOrOfAnotherKind_IsPassedOver) {
  const std::vector<std::string> paths = {"/nowhere/libx.so", "libc.so.6", "libm.so.6"};
  double (*cosine)(double) = nullptr;
  const auto found = NvidiaLibrary::LoadFirst(
      paths, [&](const NvidiaLibrary& library) { return library.Find("cos", cosine); });
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(cosine(0), 1);
}

TEST(NvidiaLibrary, LoadFirst_NoneHasAll_SaysWhyOfEach) {
  const std::vector<std::string> paths = {"/nowhere/libx.so", "libm.so.6"};
  void (*function)() = nullptr;
  const auto found = NvidiaLibrary::LoadFirst(
      paths, [&](const NvidiaLibrary& library) { return library.Find("no_such", function); });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message,
              testing::MatchesRegex("\n  /nowhere/libx.so: .*\n  .*no_such.*"));
}

}  // namespace
}  // namespace stoker
