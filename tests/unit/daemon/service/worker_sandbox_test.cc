#include "daemon/service/worker_sandbox.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

namespace stoker {
namespace {

using testing::Contains;
using testing::IsEmpty;

struct Probed {
  std::vector<std::string> in_force;
  std::map<std::string, int> errors;  // By attempt.
};

Probed Probe() {
  Probed probed;
  FILE* pipe = popen(STOKER_SANDBOX_PROBE, "r");
  std::string text;
  char piece[4096];
  for (std::size_t n = 0; (n = fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, n);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("in ")) {
      probed.in_force.push_back(line.substr(3));
    } else {
      const std::size_t space = line.rfind(' ');
      probed.errors[line.substr(0, space)] = std::stoi(line.substr(space + 1));
    }
  }
  return probed;
}

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
TEST(WorkerSandbox, Enter_LeavesWhatACompileNeeds_AndNothingElse) {
  const Probed probed = Probe();
  const auto needed = {"memory", "thread", "cores", "read a limit"};
  for (const std::string attempt : needed) {
    ASSERT_TRUE(probed.errors.contains(attempt)) << attempt;
    EXPECT_EQ(probed.errors.at(attempt), 0) << attempt;
  }
  int denied = 0;
  for (const auto& [attempt, error] : probed.errors) {
    if (std::find(needed.begin(), needed.end(), attempt) != needed.end()) continue;
    EXPECT_NE(error, 0) << attempt;
    ++denied;
  }
  EXPECT_EQ(denied, 21);
}

// No privilege is needed for these, and no kernel of the last decade is without.
TEST(WorkerSandbox, Enter_WithoutPrivileges_FiltersSystemCalls) {
  const Probed probed = Probe();
  for (const char* protection : {"capabilities", "limits", "syscalls", "code"}) {
    EXPECT_THAT(probed.in_force, Contains(protection));
  }
}
#endif

TEST(WorkerSandbox, MissingProtections_AreThoseNotInForce) {
  EXPECT_THAT(MissingProtections({kWorkerProtections.begin(), kWorkerProtections.end()}),
              IsEmpty());
  EXPECT_EQ(MissingProtections({}).size(), kWorkerProtections.size());
  std::vector<std::string> most(kWorkerProtections.begin() + 1, kWorkerProtections.end());
  EXPECT_THAT(MissingProtections(most), testing::ElementsAre(kWorkerProtections[0]));
}

}  // namespace
}  // namespace stoker
