#include "client/core/warm/recorder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "protocol/graph/graph.h"
#include "protocol/manifest/manifest.h"
#include "tests/unit/temp_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

wire::CompileCall CallOf(int size, Numerics numerics = Numerics::kHighest) {
  const std::string type = "f32[" + std::to_string(size) + "]";
  const Graph graph =
      ParseGraph("graph @g(%0: " + type + ") {\n  %1 = negate(%0) : " + type + "\n  return %1\n}\n")
          .value();
  wire::CompileCall call;
  call.graph = EncodeGraph(graph);
  call.target = Target::Parse("cpu/x86-64-v3").value();
  call.options.numerics = numerics;
  return call;
}

Digest KeyOfSize(int size) { return Sha256Of(std::to_string(size)); }

class RecorderTest : public testing::Test {
 protected:
  Manifest Read() const { return Manifest::Read(path_).value(); }

  const TempFolder folder_;
  const std::string path_ = folder_.path() + "/manifest";
};

TEST_F(RecorderTest, Off_WritesNothing) {
  Recorder recorder("");
  EXPECT_FALSE(recorder.is_on());
  recorder.Request(KeyOfSize(1), CallOf(1));
  recorder.Capture({});
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(RecorderTest, Request_Again_IsWrittenOnce) {
  Recorder recorder(path_);
  recorder.Request(KeyOfSize(1), CallOf(1));
  EXPECT_TRUE(recorder.HasRequest(KeyOfSize(1), Numerics::kHighest));
  EXPECT_FALSE(recorder.HasRequest(KeyOfSize(1), Numerics::kHigh));
  const auto size = std::filesystem::file_size(path_);
  recorder.Request(KeyOfSize(1), CallOf(1));
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  recorder.Request(KeyOfSize(1), CallOf(1, Numerics::kHigh));
  recorder.Capture({});
  EXPECT_EQ(Read().requests(), 2U);
  EXPECT_EQ(Read().captures(), 1U);
}

TEST_F(RecorderTest, Request_OfAnotherProcess_IsNotWrittenAgain) {
  Recorder first(path_);
  Recorder second(path_);
  first.Request(KeyOfSize(1), CallOf(1));
  const auto size = std::filesystem::file_size(path_);
  second.Request(KeyOfSize(1), CallOf(1));
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  second.Request(KeyOfSize(2), CallOf(2));
  first.Request(KeyOfSize(2), CallOf(2));
  EXPECT_EQ(Read().requests(), 2U);
}

TEST_F(RecorderTest, ProcessesAndThreads_WriteOneManifest) {
  constexpr int kProcesses = 4;
  constexpr int kThreads = 3;
  constexpr int kRequests = 8;
  const auto record = [](Recorder& recorder, int from) {
    for (int i = 0; i < kRequests; ++i) {
      recorder.Request(KeyOfSize(from + i), CallOf(from + i + 1));
    }
  };
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      Recorder recorder(path_);
      std::vector<std::thread> threads;
      for (int thread = 0; thread < kThreads; ++thread) {
        // Every other number of two neighbours is both's.
        threads.emplace_back(record, std::ref(recorder),
                             (process * kThreads + thread) * kRequests / 2);
      }
      for (std::thread& thread : threads) thread.join();
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const Manifest manifest = Read();
  EXPECT_EQ(manifest.damaged_bytes(), 0U);
  EXPECT_EQ(manifest.requests(),
            static_cast<std::size_t>((kProcesses * kThreads + 1) * kRequests / 2));
}

TEST_F(RecorderTest, TornRecord_OfAProcessThatWasKilled_CostsNothingElse) {
  {
    Recorder recorder(path_);
    recorder.Request(KeyOfSize(1), CallOf(1));
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  Recorder recorder(path_);
  recorder.Request(KeyOfSize(2), CallOf(2));
  recorder.Request(KeyOfSize(1), CallOf(1));
  EXPECT_EQ(Read().requests(), 2U);
  EXPECT_GT(Read().damaged_bytes(), 0U);
}

TEST_F(RecorderTest, Unwritable_IsOneLine) {
  for (const std::string& path : {folder_.path() + "/none/manifest", folder_.path(),
                                  folder_.Write("train.py", "import x\n")}) {
    testing::internal::CaptureStderr();
    Recorder recorder(path);
    EXPECT_TRUE(recorder.status().ok());
    recorder.Request(KeyOfSize(1), CallOf(1));
    recorder.Request(KeyOfSize(2), CallOf(2));
    recorder.Capture({});
    EXPECT_FALSE(recorder.status().ok());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("stoker: requests are not recorded in '" + path + "': "));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  }
  EXPECT_EQ(std::filesystem::file_size(folder_.path() + "/train.py"), 9U);
}

}  // namespace
}  // namespace stoker
