// golden_test [--update] [--gtest_filter=...]: checks that the stages named in golden files print
// what the files say; with --update, writes into the files what they print.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/golden/golden_file.h"
#include "tests/golden/stages.h"

namespace stoker::golden {
namespace {

class GoldenTest : public testing::Test {
 public:
  GoldenTest(std::string path, bool update) : path_(std::move(path)), update_(update) {}

  void TestBody() override {
    const auto file = ReadGoldenFile(path_);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto graph = ParseGraph(file->graph);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    GoldenFile actual = *file;
    for (Expectation& expectation : actual.expectations) {
      const auto text = PrintStage(expectation.stage, *graph);
      ASSERT_TRUE(text.ok()) << expectation.stage << ": " << text.error().message;
      if (!update_) EXPECT_EQ(expectation.text, *text) << expectation.stage << " differs.";
      expectation.text = *text;
    }
    if (update_) std::ofstream(path_) << ToString(actual);
  }

 private:
  std::string path_;
  bool update_;
};

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool update = argc == 2 && std::string_view(argv[1]) == "--update";
  // One test for each file, named folder.file.
  for (const std::string& path : AllGoldenFiles()) {
    const std::filesystem::path file(path);
    testing::RegisterTest(file.parent_path().filename().c_str(), file.stem().c_str(), nullptr,
                          nullptr, path.c_str(), 1,
                          [=]() -> testing::Test* { return new GoldenTest(path, update); });
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace stoker::golden

int main(int argc, char** argv) { return stoker::golden::Main(argc, argv); }
