// Where nvJitLink is found, and what it says of damaged PTX.
#include "compiler/codegen/nvptx/nv_jit_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace stoker::codegen {
namespace {

namespace fs = std::filesystem;

class NvJitLinkTest : public testing::Test {
 protected:
  NvJitLinkTest() {
    std::string pattern = (fs::temp_directory_path() / "nv_jit_link_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~NvJitLinkTest() override { fs::remove_all(folder_); }

  std::string Touch(const std::string& path) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << "x";
    return (folder_ / path).string();
  }

  fs::path folder_;
};

TEST_F(NvJitLinkTest, Libraries_WheelsAndToolkits_LoaderFirstThenFilesThatAreThere) {
  const std::string cu13 =
      Touch("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvJitLink.so.13");
  const std::string cu12 =
      Touch("venv/lib/python3.11/site-packages/nvidia/nvjitlink/lib/libnvJitLink.so.12");
  Touch("venv/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9");
  const std::string toolkit = Touch("cuda/lib64/libnvJitLink.so.13");
  const NvJitLinkFolders folders{"",
                                 {(folder_ / "cuda").string(), (folder_ / "absent").string()},
                                 {(folder_ / "venv").string(), (folder_ / "absent").string()}};
  EXPECT_THAT(
      NvJitLinkLibraries(folders),
      testing::ElementsAre("libnvJitLink.so.13", "libnvJitLink.so.12", cu13, cu12, toolkit));
}

TEST_F(NvJitLinkTest, Libraries_OneIsNamed_NothingElseIsTried) {
  const NvJitLinkFolders folders{"/opt/libnvJitLink.so", {"/usr/local/cuda"}, {}};
  EXPECT_THAT(NvJitLinkLibraries(folders), testing::ElementsAre("/opt/libnvJitLink.so"));
}

// A variable of the environment as long as this lives: other tests here look for nvJitLink.
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

TEST(NvJitLinkFoldersTest, OfProcess_VariablesSet_NamesThem) {
  const Variable toolkit("CUDA_HOME", "/a");
  const Variable active("VIRTUAL_ENV", "/b");
  const Variable named("STOKER_VENV", "/c");
  const NvJitLinkFolders folders = NvJitLinkFolders::OfProcess();
  EXPECT_THAT(folders.toolkits, testing::ElementsAre("/a", "/usr/local/cuda"));
  EXPECT_THAT(folders.environments, testing::ElementsAre("/b", "/c"));
}

TEST(NvJitLinkFoldersTest, OfProcess_NoneSet_NamesTheToolkitsOwnFolder) {
  const Variable toolkit("CUDA_HOME", nullptr);
  const Variable active("VIRTUAL_ENV", "");
  const Variable named("STOKER_VENV", nullptr);
  const NvJitLinkFolders folders = NvJitLinkFolders::OfProcess();
  EXPECT_THAT(folders.toolkits, testing::ElementsAre("/usr/local/cuda"));
  EXPECT_THAT(folders.environments, testing::IsEmpty());
}

TEST(AssemblePtxTest, Assemble_DamagedPtx_GivesTheLog) {
  const auto cubin =
      AssemblePtx(".version 8.0\n.target sm_90a\n.address_size 64\nnonsense\n", "sm_90a");
  ASSERT_FALSE(cubin.ok());
  if (cubin.error().code == ErrorCode::kFailedPrecondition) GTEST_SKIP() << cubin.error().message;
  EXPECT_EQ(cubin.error().code, ErrorCode::kInternal);
  EXPECT_THAT(cubin.error().message, testing::StartsWith("nvJitLink, "));
  EXPECT_THAT(cubin.error().message, testing::HasSubstr("nonsense"));
}

}  // namespace
}  // namespace stoker::codegen
